import { type Fields, fieldsOf, textOf } from '../../core/json.ts';
import type { VendorName } from '../../core/keys.ts';
import type { AgentName, AgentSpec } from '../../core/model-spec.ts';
import type { ProgramEnd } from '../../process/program.ts';

/** One call of an agent. */
export interface AgentTask {
  spec: AgentSpec;
  /** read: no tool that changes a file, as far as the agent has such a setting. */
  may: 'read' | 'write';
  system: string;
  task: string;
  /** The repository's guides for agents, which the agent does not read by itself; may be empty. */
  conventions: string;
  worktree: string;
  /** The item's home, for settings, sessions and caches of the agent. It exists. */
  home: string;
  /** The caches of package managers and compilers, which the items share. */
  caches?: string | undefined;
  env: Readonly<Record<string, string>>;
  /** The gateway's base URL for the agent's vendor, without the version. Null: it uses its own login. */
  endpoint: string | null;
  /** The gateway's base URLs, for an agent whose vendor is not known. */
  endpointOf: (vendor: VendorName) => string | undefined;
  token: string;
  ceilingMs: number;
  /** Runs the agent's program before the call, to find out what works on this machine. */
  tryOut: (args: readonly string[], env: Readonly<Record<string, string>>) => Promise<ProgramEnd>;
}

export interface AgentStart {
  args: string[];
  /** Added to its environment. */
  env: Record<string, string>;
  /** A dialogue keeps the standard input open. */
  input: string | Dialogue;
  /** For the log. */
  notes?: string[];
}

/** What an agent said or did, whatever its program calls it. */
export type AgentAction =
  /** A piece may end in the middle of a line. */
  | { type: 'text' | 'piece'; text: string }
  | { type: 'tool'; name: string; input: Fields }
  /** The result of a tool; with an `exitCode` if it was a command. */
  | { type: 'result'; text: string; failed: boolean; exitCode?: number }
  | { type: 'fault'; text: string };

/** How the agent says that it ended; null: it did not say. */
export type AgentVerdict = { is: 'done' } | { is: 'failed'; why: string } | null;

/** Reads the events of one call. Unknown events are ignored: new versions of agents add some. */
export interface EventReader {
  read(event: Fields): AgentAction[];
  verdict: AgentVerdict;
  lastWords: string;
}

/** A reader of which `read` sets the verdict and the last words. */
export function eventReader(read: (event: Fields, reader: EventReader) => AgentAction[]): EventReader {
  const reader: EventReader = { verdict: null, lastWords: '', read: (event) => read(event, reader) };
  return reader;
}

/** For an agent whose input depends on its output. */
export interface Dialogue {
  /** Used instead of the agent's own reader. */
  reader: EventReader;
  /** Settles when the dialogue is over; then the program is killed. */
  hold(send: (line: string) => void): Promise<void>;
}

/** A command-line agent that works without a terminal and prints its events as lines of JSON. */
export interface Agent {
  name: AgentName;
  program: string;
  /** The command that installs it. */
  install: string;
  /** Its settings in the home; emptied before each call. Null: not known. */
  folder: string | null;
  /** Exit codes after which a retry is useless: bad arguments, bad settings. */
  permanentExits: ReadonlySet<number>;
  prepare(task: AgentTask): Promise<AgentStart>;
  createReader(): EventReader;
}

/** Retries of an agent after a vendor's fault: one fault must not cost a session of many calls. All else is retried by attempts. */
export const AGENT_RETRIES = 2;

/** Files in which repositories have instructions for agents. */
export const CONVENTIONS = ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'];

export function stringIn(value: unknown): string {
  return textOf(value) ?? '';
}

export function toolCalled(name: unknown, input: unknown): AgentAction {
  return { type: 'tool', name: textOf(name) ?? 'a tool', input: fieldsOf(input) };
}

export function failedFor(why: unknown): AgentVerdict {
  return { is: 'failed', why: textOf(why) ?? 'it ended with an error' };
}
