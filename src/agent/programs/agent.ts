import { type Fields, fieldsOf, textOf } from '../../core/json.ts';
import type { AgentName, AgentSpec } from '../../core/model-spec.ts';
import type { ProgramEnd } from '../../process/program.ts';
import type { AgentOptions } from '../create.ts';
import type { WriteRequest } from '../port.ts';

/** A command-line agent that works without a terminal and prints its events as lines of JSON. */
export interface Agent {
  /** Its settings in the home; emptied before each call. Null: not known. */
  folder: string | null;
  /** Exit codes after which a retry is useless: bad arguments, bad settings. */
  permanentExits: ReadonlySet<number>;
  prepare(task: AgentTask): Promise<AgentStart>;
  createReader(): EventReader;
}

/** Loaded when it is first called. */
export const AGENTS: Readonly<Record<AgentName, () => Promise<Agent>>> = {
  'claude-code': async () => (await import('./claude-code.ts')).claudeCode,
  codex: async () => (await import('./codex.ts')).codex,
  'gemini-cli': async () => (await import('./gemini-cli.ts')).geminiCli,
  opencode: async () => (await import('./opencode.ts')).opencode,
  acp: async () => (await import('./acp.ts')).acp,
};

/** One call of an agent, in the home of its item, which exists. */
export interface AgentTask
  extends Pick<AgentOptions, 'home' | 'caches' | 'env' | 'endpointOf' | 'ceilingMs'>,
    Pick<WriteRequest, 'worktree' | 'system' | 'task'> {
  spec: AgentSpec;
  /** read: no tool that changes a file, as far as the agent has such a setting. */
  may: 'read' | 'write';
  /** The repository's guides for agents, which the agent does not read by itself; may be empty. */
  conventions: string;
  /** The gateway's base URL for the agent's vendor, without the version. Null: it uses its own login. */
  endpoint: string | null;
  token: string;
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

/** For an agent whose input depends on its output. */
export interface Dialogue {
  /** Used instead of the agent's own reader. */
  reader: EventReader;
  /** Settles when the dialogue is over; then the program is killed. */
  hold(send: (line: string) => void): Promise<void>;
}

/** What an agent said or did, whatever its program calls it. */
export type AgentAction =
  /** A piece may end in the middle of a line. */
  | { type: 'text' | 'piece'; text: string }
  | { type: 'tool'; name: string; input: Fields }
  /** The result of a tool; with an `exitCode` if it was a command. */
  | { type: 'result'; text: string; failed: boolean; exitCode?: number }
  | { type: 'fault'; text: string };

/** Reads the events of one call. Unknown events are ignored: new versions of agents add some. */
export interface EventReader {
  read: (event: Fields) => AgentAction[];
  /** How the agent says that it ended; null: it did not say. */
  verdict: { is: 'done' } | { is: 'failed'; why: string } | null;
  lastWords: string;
}

/** A reader with a function for each type of event, which may set the verdict and the last words. */
export function eventReader(
  types: Readonly<Record<string, (event: Fields, reader: EventReader) => AgentAction[] | void>>,
): EventReader {
  const reader: EventReader = {
    verdict: null,
    lastWords: '',
    read(event) {
      const type = stringIn(event['type']);
      return (Object.hasOwn(types, type) ? types[type]?.(event, reader) : null) ?? [];
    },
  };
  return reader;
}

export function stringIn(value: unknown): string {
  return textOf(value) ?? '';
}

export function toolCalled(name: unknown, input: unknown): AgentAction {
  return { type: 'tool', name: textOf(name) ?? 'a tool', input: fieldsOf(input) };
}

export function failedFor(why: unknown): EventReader['verdict'] {
  return { is: 'failed', why: textOf(why) ?? 'it ended with an error' };
}

/** Retries of an agent after a vendor's fault: one fault must not cost a session of many calls. All else is retried by attempts. */
export const AGENT_RETRIES = 2;

/** Files in which repositories have instructions for agents. */
export const CONVENTIONS = ['AGENTS.md', 'CLAUDE.md', 'GEMINI.md'];
