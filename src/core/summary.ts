import type { ItemEnd, ItemStatus } from './item.ts';
import type { Usage } from './money.ts';
import type { PipelineName, WorkflowName } from './paths.ts';
import type { Change } from './retry.ts';
import type { FinishedStep, ItemState } from './run-state.ts';
import { wordingOf } from './wording.ts';

export interface ItemSummary {
  id: string;
  /** The last one that it came to. */
  workflow: WorkflowName;
  title: string;
  status: ItemStatus;
  reason: string | null;
  attempts: number;
  steps: FinishedStep[];
  durationMs: number;
  usage: Usage;
  /** What this run paid; null when a price was not known. */
  costUsd: number | null;
  error: { code: string; message: string; hint: string | null } | null;
  outputs: string[];
  /** What an unfinished item left for a person to look at, and how to throw it away. */
  kept: Kept | null;
  /** Where `agentos decide` has something to decide. */
  question: Asked | null;
}

/** Commands to copy. */
export interface Kept {
  look: string;
  discard: string;
}

/** What a person can do about an item in DISCUSS. */
export interface Asked {
  /** The file that says what it is about; null: there is none. */
  read: string | null;
  /** All that can be decided, as one line. */
  decide: string;
}

export interface Summary {
  runId: string;
  workflow: PipelineName;
  startedAt: string;
  finishedAt: string;
  parallel: number;
  exitCode: number;
  counts: Record<string, number>;
  /** null: nothing failed, or a person has to change something first. */
  retryCommand: string | null;
  /** Before a retry, where the same command would fail the same way. */
  changeFirst: Change | null;
  items: ItemSummary[];
}

/** `summary.json` of an item: the last stage that it reached tells how it ended. */
export function summaryOf(
  { id, title, workflow, ends, steps, usage, costUsd }: ItemState,
  { kept, question }: Pick<ItemSummary, 'kept' | 'question'>,
): ItemSummary {
  const last = ends.at(-1);
  if (last === undefined || workflow === null) throw new TypeError('an item without an end');
  const { status, reason, error } = last;
  const words = error && wordingOf(error.problem);
  const sum = (of: (end: ItemEnd) => number): number => ends.reduce((total, end) => total + of(end), 0);
  return {
    id,
    workflow,
    title,
    status,
    reason,
    attempts: sum((end) => end.attempts),
    steps,
    durationMs: sum((end) => end.durationMs),
    usage,
    costUsd,
    error: error && words ? { code: error.problem.code, message: words.message, hint: words.hint } : null,
    outputs: ends.toReversed().flatMap((end) => end.outputs),
    kept,
    question,
  };
}

export function countsOf(items: readonly ItemSummary[]): Record<string, number> {
  const counts: Record<string, number> = { total: items.length };
  for (const { status } of items) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
