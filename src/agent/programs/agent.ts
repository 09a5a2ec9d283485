import type { VendorName } from '../../core/keys.ts';
import type { AgentName } from '../../core/model-spec.ts';
import { type Fields, textOf } from '../../models/json-fields.ts';
import type { ProgramEnd } from '../../process/program.ts';
import type { Dialogue } from './dialogue.ts';

/** What an agent has to know before it starts. */
export interface AgentTask {
  /** read: it has no tool that changes a file, as far as the agent can be told so. */
  may: 'read' | 'write';
  /** How it is started, where that is not its name. */
  command: string | null;
  model: string | null;
  vendor: VendorName | null;
  system: string;
  task: string;
  /** What the repository's own guides for agents say; empty: it has none. The agent does not read them by itself. */
  conventions: string;
  worktree: string;
  /** Of this item alone: settings, sessions and caches of the agent go here. It exists. */
  home: string;
  /** Of package managers and compilers, shared by the items. */
  caches?: string | undefined;
  env: Readonly<Record<string, string>>;
  /** Of the gateway, for the vendor whose API the agent speaks; without the version. Null: it uses its own login. */
  endpoint: string | null;
  /** The gateway's, for an agent of which it is not known what it speaks. */
  endpointOf: (vendor: VendorName) => string | undefined;
  token: string;
  ceilingMs: number;
  /** Runs the agent's program beforehand, to see what works here. */
  tryOut: (args: readonly string[], env: Readonly<Record<string, string>>) => Promise<ProgramEnd>;
}

export interface AgentStart {
  args: string[];
  /** In addition to the environment that it is given. */
  env: Record<string, string>;
  /** A dialogue keeps the standard input open until it is over. */
  input: string | Dialogue;
  /** For the log. */
  notes?: string[];
}

/** How it ended by its own account; null: it did not say. */
export type AgentVerdict = { is: 'done' } | { is: 'failed'; why: string } | null;

/** Follows the events of one call. Unknown events are ignored: agents add kinds of events with every version. */
export interface EventReader {
  /** What the event says, as lines for the log. */
  read(event: Fields): string[];
  verdict: AgentVerdict;
  lastWords: string;
}

/** A command-line agent that works without a person at the terminal and tells what it does as lines of JSON. */
export interface Agent {
  name: AgentName;
  program: string;
  /** How people get it. */
  install: string;
  /** Where it has its settings, in the home. Each call starts without what an earlier one left there. Null: not known. */
  folder: string | null;
  /** Exit codes that mean that it would end so again: bad arguments, bad settings. */
  permanentExits: ReadonlySet<number>;
  prepare(task: AgentTask): Promise<AgentStart>;
  createReader(): EventReader;
}

/**
 * How often an agent asks again by itself after a fault of the vendor's. One fault in a session of many calls must not cost
 * the session; all else is the attempts' business.
 */
export const AGENT_RETRIES = 2;

/** Where repositories say how they want to be worked on, each for another agent. */
export const CONVENTIONS = ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'];

const MAX_LINE_CHARS = 400;

/** The lines of a text that say something, none of them too long. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => shortened(line.trimEnd()));
}

/** Text that comes in pieces, which end anywhere: a line is logged when its end is there. */
export function createPieces() {
  let unlogged = '';
  const upTo = (end: number): string[] => {
    const lines = linesOf(unlogged.slice(0, end));
    unlogged = unlogged.slice(end);
    return lines;
  };
  return {
    add: (text: string): string[] => {
      unlogged += text;
      return upTo(unlogged.lastIndexOf('\n') + 1);
    },
    rest: (): string[] => upTo(unlogged.length),
  };
}

/** Of all that a tool is given, what tells a person the most; in the order of preference. */
const TELLING = [
  'file_path',
  'filePath',
  'path',
  'absolute_path',
  'notebook_path',
  'command',
  'cmd',
  'pattern',
  'query',
  'url',
];

/** `Write src/a.ts`, `Bash npm test`. */
export function toolLine(name: string, input: Fields): string {
  const told = [...TELLING, 'description', 'prompt'].map((field) => textOf(input[field])).find(Boolean) ?? '';
  return shortLine(`${name} ${told}`);
}

export function shortLine(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' ').trim());
}

function shortened(line: string): string {
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1)}…` : line;
}
