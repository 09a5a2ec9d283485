import { chmod, stat, unlink } from 'node:fs/promises';
import { z } from 'zod';
import { AgentosError, systemCode } from '../core/errors.ts';
import { addUse, type ModelUse, NO_USAGE, type Usage } from '../core/money.ts';
import { type Provider, promptText } from '../models/port.ts';
import type { VendorPrompt } from '../models/vendors.ts';
import { writeFileAtomic } from '../process/files.ts';
import { tracedProvider } from '../telemetry/traced.ts';
import { type Answer, answerIn, type Conversation, converse, userTurn } from './loop.ts';
import type { WriteRequest, Writer } from './port.ts';
import { createToolSet, list, NotDone, read, search, type Tool, type ToolSet, toolOf } from './tools.ts';
import { openTranscript } from './transcript.ts';
import {
  LARGEST_BYTES,
  locate,
  namedPath,
  openWorktree,
  type Place,
  readableWorktree,
  readText,
  type Worktree,
} from './worktree.ts';

interface BuiltInOptions {
  /** Calls in one conversation, replayed ones included. */
  maxRounds: number;
  costOf: (spec: string, usage: Usage) => number | null;
  mask: (text: string) => string;
  transcripts?: string | undefined;
}

const WAY_OF_WORKING = `You work on the files of one repository with the tools you are given; paths are relative to its root.
Make every change with a tool; a file that you only describe is not written.
When the task is done, answer with a short sentence and without a tool call.`;
const CANNOT_RUN =
  "There is no shell: you can't run, install or test anything, and others run the tests when you are done.";
const CAN_TEST = `There is no shell, and nothing can be installed. The tool run_tests runs the tests, a few times in all: use it before
you end. It proves nothing to others, who run the tests themselves when you are done.`;

/** A plain model with tools for files. The cost of replayed rounds was counted before. */
export function createBuiltInWriter(
  untraced: Provider,
  { maxRounds, costOf, mask, transcripts }: BuiltInOptions,
): Writer {
  const provider = tracedProvider(untraced, costOf);
  const { spec: agent } = provider;
  return {
    spec: agent,
    isModel: true,
    writesByItself: false,
    async write({ step, system: about, task, runTests, worktree, journal, signal, onProgress, onLine }) {
      signal.throwIfAborted();
      const tools = worktreeTools(await openWorktree(worktree), runTests);
      const { definitions } = tools;
      const way = `${WAY_OF_WORKING}\n${runTests === undefined ? CANNOT_RUN : CAN_TEST}`;
      const system = promptText([{ text: about }, { text: way }]);
      const opening = [{ role: 'system', content: system }, userTurn(task)];
      let uses: ModelUse[] = [{ model: agent, calls: 0, usage: NO_USAGE, costUsd: 0 }];
      let metered = true;
      const call = async (round: number, turns: VendorPrompt, stepId: string): Promise<Answer> => {
        const reply = await provider.complete({
          role: 'implementer',
          system,
          parts: [{ text: task, repeats: true }],
          conversation: { tools: definitions, mayCall: true, isWork: true, turns },
          stepId,
          signal,
          onProgress,
          inFolder: (work) => work(worktree),
        });
        if (round === 1 && reply.parts === undefined && reply.text.trim() === '')
          throw new AgentosError({ code: 'reply-empty', provider: agent }, { retry: 'transient' });
        return { ...answerIn(reply), answered: reply.answered };
      };
      const ask: Conversation['ask'] = async (round, turns) => {
        signal.throwIfAborted();
        const { value: answer, replayed } = await journal.step(
          { name: `${step}.${round}`, inputs: { model: agent, tools: definitions, turns: [...opening, ...turns] } },
          ({ id }) => call(round, turns, id),
        );
        if (replayed) return { answer, replayed };
        // Each call by itself: some vendors charge a long one more.
        const { usage, metered: isMetered } = answer;
        uses = addUse(uses, { model: agent, calls: 1, usage, costUsd: isMetered ? costOf(agent, usage) : null });
        metered &&= isMetered;
        return { answer, replayed };
      };
      const transcript = transcripts === undefined ? undefined : openTranscript(transcripts, mask, { step, agent });
      try {
        const end = await converse({ agent, tools, maxRounds, ask, signal, onLine, transcript, mask });
        const [{ usage, costUsd } = { usage: NO_USAGE, costUsd: 0 }] = uses;
        return { ...end, usage, costUsd, metered, models: uses };
      } finally {
        transcript?.close();
      }
    },
  };
}

export function worktreeTools(worktree: Worktree, run?: WriteRequest['runTests']): ToolSet {
  const files = readableWorktree(worktree);
  const tools: Tool[] = [list(files), read(files), search(files), write(worktree), edit(worktree), remove(worktree)];
  return createToolSet(run === undefined ? tools : [...tools, runTests(worktree, run)], worktree.given);
}

const path = z.string().describe('The file, relative to the root of the repository.');

const write = (worktree: Worktree) =>
  toolOf({
    name: 'write',
    description: 'Writes a whole file, new or in place of the old one. Folders that are missing are made.',
    schema: z.object({ path, content: z.string().describe('The whole new content of the file.') }),
    changes: true,
    async run({ path: asked, content }) {
      const place = await locate(worktree, asked, 'write');
      const { path, kind } = place;
      if (kind !== 'file' && kind !== 'missing')
        throw new NotDone(`${path} is ${kind === 'folder' ? 'a folder' : 'not a regular file'}`);
      const lines = content === '' ? 0 : content.replace(/\n$/, '').split('\n').length;
      await saveText(place, content);
      // The same text for new and old files: after a restart an ignored file may exist, and the result must not differ.
      return { text: `Wrote ${path}.`, note: `(${lines} ${lines === 1 ? 'line' : 'lines'})` };
    },
  });

const edit = (worktree: Worktree) =>
  toolOf({
    name: 'edit',
    description: 'Replaces a piece of a file. The text to replace has to be exact, with its spaces and line breaks.',
    schema: z.object({
      path,
      search: z.string().describe('The exact text to replace, without line numbers. It has to occur exactly once.'),
      replace: z.string().describe('What stands there instead.'),
      all: z.boolean().optional().describe('Replace every occurrence.'),
    }),
    changes: true,
    async run({ path: asked, search, replace, all = false }) {
      const place = await locate(worktree, asked, 'write');
      await saveText(place, replaced(await readText(place), search, replace, all));
      return { text: `Edited ${place.path}.` };
    },
  });

function replaced(text: string, search: string, replace: string, all: boolean): string {
  if (search === '') throw new NotDone('the text to search for is empty: write the whole file instead');
  if (search === replace) throw new NotDone('the replacement is the same text');
  // Models see and write plain line feeds.
  if (!text.includes(search) && text.includes('\r\n') && !search.includes('\r') && search.includes('\n')) {
    return replaced(text, search.replaceAll('\n', '\r\n'), replace.replaceAll(/\r?\n/g, '\r\n'), all);
  }
  const first = text.indexOf(search);
  if (first === -1) throw new NotDone('the text to search for is not there: read the file again');
  if (all) return text.split(search).join(replace);
  if (text.includes(search, first + 1))
    throw new NotDone('the text to search for occurs more than once: give more of what is around it, or all');
  return text.slice(0, first) + replace + text.slice(first + search.length);
}

const remove = (worktree: Worktree) =>
  toolOf({
    name: 'remove',
    description: 'Removes one file. A link is removed, not what it leads to.',
    schema: z.object({ path }),
    changes: true,
    async run({ path: asked }) {
      const place = await locate(worktree, asked, 'remove');
      const { path, absolute, kind } = place;
      if (kind === 'missing') throw new NotDone(`there is no ${path}`);
      if (kind === 'folder') throw new NotDone(`${path} is a folder: remove its files one by one`);
      await unlink(absolute).catch((error: unknown) => {
        throw notWritten(error, place);
      });
      return { text: `Removed ${path}.` };
    },
  });

const MOST_FILES = 50;
/** Its result does not follow from the files alone: `run` stores it. */
const runTests = (worktree: Worktree, run: NonNullable<WriteRequest['runTests']>) =>
  toolOf({
    name: 'run_tests',
    description:
      'Runs the tests of the repository on the files as they are now. Gives the counts, and what failed and why.',
    schema: z.object({
      files: z
        .array(z.string())
        .max(MOST_FILES)
        .optional()
        .describe('Test files, relative to the root of the repository; without them, all tests run.'),
    }),
    // Not aborted before its processes have ended.
    changes: true,
    about: ({ files = [] }) => (files.length === 0 ? 'all' : files.join(', ')),
    async run({ files = [] }) {
      const paths = [...new Set(files.map((file) => namedPath(worktree, file, 'read')))];
      const tried = await run(paths.length === 0 ? null : paths);
      if ('refused' in tried) throw new NotDone(tried.refused);
      return { text: tried.text, note: `(${tried.summary})` };
    },
  });

/** Replaces a file by renaming, with the same permissions: a hard link elsewhere keeps the old text. */
async function saveText(place: Place, text: string): Promise<void> {
  const bytes = Buffer.byteLength(text);
  if (bytes > LARGEST_BYTES) throw new NotDone(`${bytes} bytes are too much for one file`);
  try {
    const mode = place.kind === 'file' ? (await stat(place.absolute)).mode & 0o777 : null;
    await writeFileAtomic(place.absolute, text);
    if (mode !== null) await chmod(place.absolute, mode);
  } catch (error) {
    throw notWritten(error, place);
  }
}

/** The disk is full or gone: another path would not help. */
const HOPELESS = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE']);

/** The error of a failed write: for the model, unless another path would not help. */
function notWritten(error: unknown, { path, absolute }: Place): unknown {
  const unwritable = error instanceof AgentosError && error.problem.code === 'output-unwritable';
  const code = systemCode(unwritable ? error.cause : error);
  if (code === null) return error;
  return HOPELESS.has(code)
    ? new AgentosError({ code: 'output-unwritable', path: absolute, reason: code }, { cause: error })
    : new NotDone(`${path} can't be written: ${code}`);
}
