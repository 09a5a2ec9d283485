import { appendFileSync, closeSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { constants, gunzip, gzipSync } from 'node:zlib';
import { type Fields, fieldsOf, listOf, parseJson, textOf } from '../core/json.ts';
import type { AgentName } from '../core/model-spec.ts';
import { reasonIn } from '../core/reason.ts';
import { AGENTS, type AgentAction, type EventReader, eventReader, stringIn, toolCalled } from './programs/agent.ts';

/** One call of an agent as lines of JSON: the events of its program, and a few of our own. */
export interface Transcript {
  /** An event of the program. */
  add(line: string): void;
  note(event: TranscriptNote): void;
  close(): void;
}

/** Our own events. */
type TranscriptNote =
  | { type: 'agentos-start'; step: string; agent: string; at: string }
  /** A line of the program that is not an event. */
  | { type: 'agentos-line'; stream: 'stdout' | 'stderr'; text: string }
  /** A round of the built-in agent, and the result of a tool. */
  | { type: 'agentos-answer'; round: number; text: string; calls: { name: string; input: string }[] }
  | { type: 'agentos-result'; name: string; ok: boolean; text: string }
  | { type: 'agentos-end'; exitCode: number | null; signal: string | null };

/** The longest transcript of one call, before it is compressed. */
const MOST_CHARS = 64 * 1024 * 1024;
/** A killed worker may lose this much. */
const WRITE_MS = 1_000;
const SUFFIX = '.jsonl.gz';

/**
 * The transcript of a call as the next file in the folder, numbered: `003-code-1.jsonl.gz`. A file that can't be written is not
 * an error. What is read as one compressed stream is written piece by piece, so that a kill loses only the last one.
 */
export function openTranscript(
  folder: string,
  mask: (text: string) => string,
  { step, agent }: { step: string; agent: string },
): Transcript {
  const number = String(transcriptFiles(folder).length + 1).padStart(3, '0');
  const file = openNew(join(folder, `${number}-${step}${SUFFIX}`));
  let lines: string[] = [];
  let chars = file === null ? MOST_CHARS : 0;
  const add = (line: string): void => {
    chars += line.length;
    if (chars <= MOST_CHARS) lines.push(`${mask(line)}\n`);
  };
  const write = (): void => {
    const text = lines.join('');
    lines = [];
    try {
      if (file !== null && text !== '') appendFileSync(file, gzipSync(text));
    } catch {
      chars = MOST_CHARS;
    }
  };
  const note = (event: TranscriptNote): void => add(JSON.stringify(event));
  note({ type: 'agentos-start', step, agent, at: new Date().toISOString() });
  write();
  const timer = setInterval(write, WRITE_MS).unref();
  return {
    add,
    note,
    close() {
      clearInterval(timer);
      write();
      if (file !== null) closeSync(file);
    },
  };
}

function openNew(path: string): number | null {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, 'wx', 0o600);
  } catch {
    return null;
  }
}

/** In the order of the calls. */
export function transcriptFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
    return names.sort().map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** The events in a file; if a kill has cut it off, those before the cut. */
export async function readTranscript(file: string): Promise<Fields[]> {
  const text = await promisify(gunzip)(await readFile(file), { finishFlush: constants.Z_SYNC_FLUSH });
  return text
    .toString('utf8')
    .split('\n')
    .map((line) => fieldsOf(parseJson(line)))
    .filter((event) => event['type'] !== undefined || event['method'] !== undefined);
}

const MOST_LINES = 40;
const MAX_LINE_CHARS = 400;

/** Lines of what an agent does; text that comes in pieces is collected until its line is complete. */
export function createActionLines(
  linesOfAction: (action: AgentAction) => string[],
): (actions: readonly AgentAction[]) => string[] {
  let unfinished = '';
  const upTo = (end: number): string[] => {
    const lines = linesOf(unfinished.slice(0, end));
    unfinished = unfinished.slice(end);
    return lines;
  };
  return (actions) =>
    actions.flatMap((action) => {
      if (action.type !== 'piece') return [...upTo(unfinished.length), ...linesOfAction(action)];
      unfinished += action.text;
      return upTo(unfinished.lastIndexOf('\n') + 1);
    });
}

/** For the log of an item: text, tool calls and failures. */
export function logLinesOf(action: AgentAction): string[] {
  switch (action.type) {
    case 'text':
    case 'piece':
      return linesOf(action.text);
    case 'tool':
      return [toolLine(action.name, action.input)];
    case 'result': {
      const { text, failed, exitCode } = action;
      if (!failed) return [];
      const [code, why] = exitCode === undefined ? ['', text] : [` (${exitCode})`, reasonIn(text)];
      return [shortLine(`failed${code}${why === '' ? '' : `: ${why}`}`)];
    }
    case 'fault':
      return [shortLine(action.text || 'a fault')];
  }
}

/** For the transcript: text, `>` tool calls, `<` their results. */
function transcriptLinesOf(action: AgentAction): string[] {
  switch (action.type) {
    case 'tool': {
      const written = WRITTEN.flatMap((field) => block('|', stringIn(action.input[field])));
      return [`> ${toolLine(action.name, action.input)}`, ...written];
    }
    case 'result':
      return block(action.failed ? '< !' : '<', action.text);
    case 'fault':
      return [`! ${shortLine(action.text)}`];
    default:
      return logLinesOf(action);
  }
}

/** Arguments with text, shown below the line of the tool call. */
const WRITTEN = ['content', 'old_string', 'new_string', 'search', 'replace'];

function block(mark: string, text: string): string[] {
  const lines = linesOf(text);
  const more = lines.length > MOST_LINES ? [`… ${lines.length - MOST_LINES} more lines`] : [];
  return [...lines.slice(0, MOST_LINES), ...more].map((line) => `  ${mark} ${line}`);
}

/** A transcript for people. Its first event names the agent. */
export async function transcriptLines(events: readonly Fields[]): Promise<string[]> {
  const show = createActionLines(transcriptLinesOf);
  const agent = stringIn(events[0]?.['agent']).replace(/:.*$/s, '');
  const reader = Object.hasOwn(AGENTS, agent) ? (await AGENTS[agent as AgentName]()).createReader() : builtIn();
  const lines = events.flatMap((event) => {
    const { type, step, agent: spec, at, text, exitCode, signal } = event;
    switch (type) {
      case 'agentos-start':
        return [`== ${stringIn(step)} by ${stringIn(spec)}, ${stringIn(at)}`];
      case 'agentos-line':
        return show([{ type: 'text', text: stringIn(text) }]);
      case 'agentos-end':
        return [
          ...show([END]),
          `== ended with ${typeof exitCode === 'number' ? `exit code ${exitCode}` : stringIn(signal)}`,
        ];
      default: {
        const before = reader.verdict;
        const shown = show(reader.read(event));
        const { verdict } = reader;
        return verdict !== before && verdict?.is === 'failed'
          ? [...shown, ...show([{ type: 'fault', text: verdict.why }])]
          : shown;
      }
    }
  });
  return [...lines, ...show([END])];
}

/** Ends a text that came in pieces. */
const END: AgentAction = { type: 'text', text: '' };

/** Reads our own events of the built-in agent. */
function builtIn(): EventReader {
  return eventReader({
    'agentos-answer': ({ text, calls }) => [
      { type: 'text', text: stringIn(text) },
      ...listOf(calls).map(({ name, input }) => toolCalled(name, parseJson(stringIn(input)))),
    ],
    'agentos-result': ({ text, ok }) => [{ type: 'result', text: stringIn(text), failed: ok !== true }],
  });
}

/** The lines of a text that are not blank, shortened. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => shortened(line.trimEnd()));
}

/** The arguments of a tool that tell a person the most, in order of preference. */
const TELLING =
  'file_path filePath path absolute_path notebook_path command cmd pattern query url description prompt'.split(' ');

/** `Write src/a.ts`, `Bash npm test`. */
function toolLine(name: string, input: Fields): string {
  return shortLine(`${name} ${TELLING.map((field) => textOf(input[field])).find(Boolean) ?? ''}`);
}

function shortLine(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' ').trim());
}

function shortened(line: string): string {
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1)}…` : line;
}
