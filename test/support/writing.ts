import { expect } from 'vitest';
import type { WriteReply, Writer } from '../../src/agent/port.ts';
import { AgentosError } from '../../src/core/errors.ts';
import type { Journal } from '../../src/journal/port.ts';

export interface Writing {
  reply: Promise<WriteReply>;
  /** What went to the log so far. */
  lines: string[];
  /** Signs of life so far. */
  readonly signs: number;
}

interface Told {
  worktree: string;
  system?: string;
  task?: string;
  signal?: AbortSignal;
  onLine?: (line: string) => void;
}

/** One call of a writer that needs no journal. */
export function startWriting(writer: Writer, told: Told): Writing {
  const lines: string[] = [];
  let signs = 0;
  const reply = writer.write({
    step: 'code-1',
    worktree: told.worktree,
    system: told.system ?? 'You write code.',
    task: told.task ?? 'Do what the LLD says.',
    item: '',
    phase: 'code',
    journal: NO_JOURNAL,
    signal: told.signal ?? new AbortController().signal,
    onProgress: () => {
      signs += 1;
    },
    onLine: (line) => {
      lines.push(line);
      told.onLine?.(line);
    },
  });
  reply.catch(() => undefined);
  return {
    reply,
    lines,
    get signs() {
      return signs;
    },
  };
}

const NO_JOURNAL: Journal = {
  location: 'nowhere',
  step: () => Promise.reject(new Error('this writer stores no steps')),
  has: () => false,
  last: () => undefined,
  steps: () => [],
  check: () => undefined,
  remove: async () => undefined,
  close: () => undefined,
};

export async function failureOf(reply: Promise<unknown>): Promise<AgentosError> {
  const error: unknown = await reply.then(
    () => expect.unreachable('it ended well'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof AgentosError) return error;
  throw error;
}
