import type { ErrorRecord } from './errors.ts';
import type { AgentosEvent, ItemStatus } from './events.ts';
import { addUsage, NO_USAGE, type Usage } from './money.ts';
import type { PipelineName, WorkflowName } from './paths.ts';
import type { Change } from './retry.ts';

export interface ItemSummary {
  id: string;
  /** The last one that it came to. */
  workflow: WorkflowName;
  title: string;
  status: ItemStatus;
  reason: string | null;
  attempts: number;
  steps: { name: string; replayed: boolean; durationMs: number }[];
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

/** Adds up the events of one item as they come; what was paid counts even if the item fails afterwards. */
export interface ItemTally {
  add(event: AgentosEvent): void;
  steps: ItemSummary['steps'];
  usage: Usage;
  costUsd: number | null;
  title: string;
}

export function createTally(title: string): ItemTally {
  const tally: ItemTally = {
    steps: [],
    usage: NO_USAGE,
    costUsd: 0,
    title,
    add(event) {
      if (event.type === 'step-finished') {
        tally.steps.push({ name: event.step, replayed: event.replayed, durationMs: event.durationMs });
      } else if (event.type === 'model-answered') {
        tally.usage = addUsage(tally.usage, event.usage);
        // What nobody meters, such as a command, must not hide what is known of the rest.
        const paidUsd = event.costUsd ?? (event.metered ? null : 0);
        tally.costUsd = tally.costUsd === null || paidUsd === null ? null : tally.costUsd + paidUsd;
      } else if (event.type === 'item-started') {
        tally.title = event.title;
      }
    },
  };
  return tally;
}

export function countsOf(items: readonly ItemSummary[]): Record<string, number> {
  const counts: Record<string, number> = { total: items.length };
  for (const { status } of items) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** How an item that ended with an error counts. */
export function statusOfError({ problem, retry }: ErrorRecord): ItemStatus {
  switch (problem.code) {
    case 'item-timeout':
    case 'run-timeout':
      return 'timed-out';
    case 'over-budget':
      return 'over-budget';
    case 'call-idle':
    case 'item-stalled':
      return 'stalled';
    case 'worker-crashed':
      return 'crashed';
    case 'interrupted':
    case 'halted':
      return 'cancelled';
    case 'provider-quota':
      return retry === 'quota' ? 'paused' : 'failed';
    default:
      return 'failed';
  }
}
