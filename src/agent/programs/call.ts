import { PassThrough, type Readable } from 'node:stream';
import { LONGEST_MS } from '../../core/duration.ts';
import { AgentosError } from '../../core/errors.ts';
import { fieldsOf, parseJson } from '../../core/json.ts';
import { VENDORS } from '../../core/keys.ts';
import { MASK } from '../../core/mask.ts';
import type { AgentSpec } from '../../core/model-spec.ts';
import { detailOf, reasonIn } from '../../core/reason.ts';
import { type Provider, promptText, UNMETERED, withinBounds } from '../../models/port.ts';
import { makeFolder, makeOwnFolder, removeFolder } from '../../process/files.ts';
import {
  findProgram,
  interpreted,
  type ProgramEnd,
  type ProgramOptions,
  runTaggedProgram,
} from '../../process/program.ts';
import { AGENT_PROGRAMS, type AgentOptions } from '../create.ts';
import type { WriteReply, WriteRequest, Writer } from '../port.ts';
import { NotDone } from '../tools.ts';
import { createActionLines, logLinesOf, openTranscript, type Transcript } from '../transcript.ts';
import { openWorktree, readableWorktree } from '../worktree.ts';
import { metered, placesOfLogin, withLogin, withOwnHome } from './account.ts';
import {
  AGENTS,
  type AgentAction,
  type AgentStart,
  type AgentTask,
  CONVENTIONS,
  type Dialogue,
  type EventReader,
} from './agent.ts';

const TRY_OUT_MS = 30_000;
const KEPT_LINES = 20;
/** An event may hold a file or the output of a command. */
const MAX_EVENT_CHARS = 8 * 1024 * 1024;
const MAX_STRAY_CHARS = 10_000;

/** A command-line agent in the worktree. All its calls go through the gateway, which meters them. */
export function createAgentWriter(spec: AgentSpec, options: AgentOptions): Writer {
  return {
    spec: spec.text,
    isModel: true,
    writesByItself: true,
    write: (request) => callAgent(spec, options, { ...request, may: 'write' }),
  };
}

/**
 * A command-line agent that reads the repository and answers: its final message is the reply. `envIn`: its environment in this
 * folder.
 */
export function createAgentProvider(
  spec: AgentSpec,
  options: Omit<AgentOptions, 'env'>,
  envIn: (directory: string) => Promise<Readonly<Record<string, string>>>,
  onLine: (line: string) => void,
): Provider {
  return {
    spec: spec.text,
    isModel: true,
    complete: ({ system, parts, stepId, signal, onProgress, inFolder }) =>
      inFolder(async (worktree) => {
        const own = { ...options, env: await envIn(worktree) };
        const { text, ...used } = await callAgent(spec, own, {
          may: 'read',
          step: stepId.replace(/#.*$/, ''),
          worktree,
          system,
          task: promptText([...parts, { text: READS }]),
          signal,
          onLine,
          onProgress: () => onProgress?.({ outputChars: 0 }),
        });
        if (text === '') throw new AgentosError({ code: 'reply-empty', provider: spec.text }, { retry: 'transient' });
        return { text, asked: spec.text, substituted: false, ...used };
      }),
  };
}

const READS =
  'You are in a checkout of the repository. Read in it what you need, and change nothing. Your last message is taken as the whole reply that is asked for above: not a summary of it, and not the name of a file.';

interface AgentCall
  extends Pick<WriteRequest, 'step' | 'worktree' | 'system' | 'task' | 'signal' | 'onProgress' | 'onLine'> {
  may: AgentTask['may'];
}

function callAgent(spec: AgentSpec, options: AgentOptions, request: AgentCall): Promise<WriteReply> {
  return withinBounds({ what: spec.text, limits: options, signal: request.signal }, ({ signal, alive }) => {
    const onProgress = (): void => {
      alive();
      request.onProgress();
    };
    return runAgent(spec, options, { ...request, signal, onProgress });
  });
}

async function runAgent(spec: AgentSpec, options: AgentOptions, request: AgentCall): Promise<WriteReply> {
  const { home, env, onGroup, idleTimeoutMs, transcripts } = options;
  const { worktree, may, step, signal, onProgress } = request;
  const agent = await AGENTS[spec.provider]();
  const { program } = AGENT_PROGRAMS[spec.provider];
  const token = options.token.reveal();
  const login = options.ownLogins?.agents.includes(spec.provider) ? options.ownLogins : null;
  const endpoint = login === null ? endpointFor(spec, options) : null;
  // A program of that name in the repository is not the installed agent.
  const file = await findProgram(program, env['PATH'], worktree);
  if (file === null) throw missing(spec);
  const command = await interpreted(file, env['PATH'], worktree);
  const ownEnv = login === null ? { ...env, HOME: home } : withOwnHome(env);
  const sandbox = await options.sandbox?.({
    worktree,
    may,
    env: ownEnv,
    command: spec.command ?? undefined,
    network: login !== null ? ['host'] : spec.command === null ? ['gateway'] : ['gateway', 'models'],
    own: login === null ? [] : placesOfLogin(spec.command ?? program),
  });
  const mask = (text: string): string => options.mask(token === '' ? text : text.replaceAll(token, MASK));
  const run = (
    { args, env: added }: Pick<AgentStart, 'args' | 'env'>,
    how: Pick<ProgramOptions, 'input' | 'onLine' | 'signal' | 'timeoutMs'>,
  ): Promise<ProgramEnd> =>
    runTaggedProgram({
      ...how,
      command: [...command, ...args],
      cwd: worktree,
      env: { ...ownEnv, ...added },
      sandbox,
      mask,
      onProgress,
      onGroup,
      keepBytes: 0,
      longestLine: MAX_EVENT_CHARS,
    });

  await makeFolder(home);
  if (agent.folder !== null) await removeFolder(await makeOwnFolder(home, agent.folder), home);
  const start = await agent.prepare({
    ...options,
    ...request,
    spec,
    conventions: await readConventions(worktree),
    endpoint,
    endpointOf: login === null ? options.endpointOf : () => undefined,
    token,
    tryOut: (args, added) => run({ args: [...args], env: { ...added } }, { input: '', signal, timeoutMs: TRY_OUT_MS }),
  });
  for (const note of start.notes ?? []) request.onLine(note);

  const { input } = start;
  const reader = typeof input === 'string' ? agent.createReader() : input.reader;
  const transcript =
    transcripts === undefined ? undefined : openTranscript(transcripts, mask, { step, agent: spec.text });
  const listener = createListener(reader, (line) => request.onLine(mask(line)), transcript, request);
  const work = async (until: AbortSignal): Promise<ProgramEnd> => {
    const how = { onLine: listener.onLine, timeoutMs: LONGEST_MS };
    try {
      const end = await (typeof input === 'string'
        ? run(start, { ...how, input, signal: until })
        : holdDialogue(input, until, (stdin, over) => run(start, { ...how, input: stdin, signal: over })));
      transcript?.note({ type: 'agentos-end', exitCode: end.exitCode, signal: end.signal });
      return end;
    } finally {
      transcript?.close();
    }
  };
  const unmetered = (): Promise<ProgramEnd> =>
    login === null ? work(signal) : withLogin(login, spec.provider, { signal, alive: onProgress }, () => work(signal));
  const { end, used, refusal } =
    endpoint === null
      ? { end: await unmetered(), used: null, refusal: null }
      : await metered({ endpoint, token, idleTimeoutMs, signal, onBusy: onProgress }, work);
  if (end.exitCode !== 0 || reader.verdict?.is !== 'done')
    throw refusal ?? failed(spec, end, reader.verdict, listener, { mask, permanentExits: agent.permanentExits });
  const text = mask(reader.lastWords.trim());
  if (used !== null) return { text, metered: true, ...used };
  // An agent whose vendor is not known may have called it directly.
  if (endpoint !== null && spec.vendor !== null)
    throw new AgentosError({ code: 'agent-unmetered', agent: spec.provider });
  return { text, ...UNMETERED, costUsd: null };
}

/** Null: no vendor has a key, and the agent may not need one. */
function endpointFor({ vendor, text }: AgentSpec, { endpointOf }: AgentOptions): string | null {
  const endpoints = (vendor === null ? VENDORS : [vendor]).map(endpointOf);
  const endpoint = endpoints.find((each) => each !== undefined);
  if (endpoint !== undefined) return endpoint;
  if (vendor === null) return null;
  throw new AgentosError({ code: 'internal', detail: `the gateway has no endpoint for ${text}` });
}

/** Claude Code gets them as an argument, whose length is limited. */
const MOST_CONVENTIONS_CHARS = 30_000;

/** The repository's guides, for agents that must not read its settings, and so don't read its guides by themselves. */
export async function readConventions(directory: string): Promise<string> {
  const files = readableWorktree(await openWorktree(directory));
  const found = new Map<string, string>();
  for (const path of CONVENTIONS) {
    try {
      const { text } = await files.read(path);
      // One is often a link to another, or a copy.
      if (text.trim() !== '' && ![...found.values()].includes(text)) found.set(path, text);
    } catch (error) {
      if (!(error instanceof NotDone)) throw error;
    }
  }
  if (found.size === 0) return '';
  const shown = [...found].map(([path, text]) => `## ${path}\n\n${text.trim()}`);
  const all = ['How this repository wants to be worked on, in its own words:', ...shown];
  return all.join('\n\n').slice(0, MOST_CONVENTIONS_CHARS);
}

/** Runs a program for a dialogue, and kills it when the dialogue is over: then its exit code means nothing. */
async function holdDialogue(
  dialogue: Dialogue,
  signal: AbortSignal,
  run: (stdin: Readable, until: AbortSignal) => Promise<ProgramEnd>,
): Promise<ProgramEnd> {
  const stdin = new PassThrough();
  const over = new AbortController();
  const held = dialogue.hold((line) => void stdin.write(`${line}\n`)).then(() => over.abort(over));
  try {
    const end = await run(stdin, AbortSignal.any([signal, over.signal]));
    // It exited before the dialogue was over.
    return end.exitCode === 0 ? { ...end, exitCode: null } : end;
  } catch (error) {
    if (error !== over) throw error;
    await held;
    return { exitCode: 0, signal: null, timedOut: false, missing: false, stdout: '', tail: '', durationMs: 0 };
  }
}

/** Lines of standard output that are JSON objects are events; all other lines go to the log. */
function createListener(
  reader: EventReader,
  log: (line: string) => void,
  transcript: Transcript | undefined,
  { worktree, may }: Pick<AgentCall, 'worktree' | 'may'>,
) {
  const linesOf = createActionLines(logLinesOf);
  // What a reader says may be its reply, which does not belong in the log.
  const isLogged = ({ type }: AgentAction): boolean => may === 'write' || (type !== 'text' && type !== 'piece');
  const listener = {
    /** It printed at least one event. */
    began: false,
    /** The last lines that are not events. */
    stray: [] as string[],
    onLine: (line: string, stream: 'stdout' | 'stderr'): void => {
      const event = stream === 'stdout' && line.startsWith('{') ? parseJson(line) : null;
      if (event !== null) {
        listener.began = true;
        transcript?.add(line);
        const actions = reader.read(fieldsOf(event)).filter(isLogged);
        for (const text of linesOf(actions)) log(text.replaceAll(`${worktree}/`, ''));
        return;
      }
      const text = line.slice(0, MAX_STRAY_CHARS);
      log(text);
      transcript?.note({ type: 'agentos-line', stream, text });
      if (text.trim() !== '') listener.stray.push(text);
      if (listener.stray.length > KEPT_LINES) listener.stray.shift();
    },
  };
  return listener;
}

function failed(
  spec: AgentSpec,
  { exitCode, signal, missing: neverRan }: ProgramEnd,
  verdict: EventReader['verdict'],
  { began, stray }: ReturnType<typeof createListener>,
  { mask, permanentExits }: { mask: (text: string) => string; permanentExits: ReadonlySet<number> },
): AgentosError {
  // For a command, the shell says what is missing.
  if (neverRan && spec.command === null) return missing(spec);
  const silent = exitCode === 0 && verdict === null ? 'it ended without a result; ' : '';
  const why = verdict?.is === 'failed' ? verdict.why : `${silent}${reasonIn(stray.join('\n'))}`;
  // An agent that exits before its first event has wrong arguments or settings, which a retry does not change.
  const neverBegan = !began && signal === null && exitCode !== 0;
  const permanent = neverBegan || (exitCode !== null && permanentExits.has(exitCode));
  return new AgentosError(
    { code: 'agent-failed', agent: spec.provider, exitCode, signal, detail: detailOf(mask(why)) },
    { retry: permanent ? 'permanent' : 'transient' },
  );
}

function missing({ provider }: AgentSpec): AgentosError {
  return new AgentosError({ code: 'agent-missing', agent: provider, ...AGENT_PROGRAMS[provider] });
}
