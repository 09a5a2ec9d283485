import type { ErrorRecord } from './errors.ts';
import { type ItemId, isItemId } from './ids.ts';
import { labelOf, WORKFLOWS, type WorkflowName } from './paths.ts';

/** An issue or brief in one workflow: the unit that is locked, checkpointed and worked on. */
export interface Item {
  workflow: WorkflowName;
  id: ItemId;
}

/** `lld-42`: an id alone would be the same for both stages of a pipeline. */
export function keyOf({ workflow, id }: Item): string {
  return `${workflow}-${id}`;
}

/** Null: no item is called that. */
export function itemOfKey(key: string): Item | null {
  const workflow = WORKFLOWS.find((candidate) => key.startsWith(`${candidate}-`));
  const id = workflow === undefined ? '' : key.slice(workflow.length + 1);
  return workflow !== undefined && isItemId(id) ? { workflow, id } : null;
}

/** `IMPL-42`, as people see it. */
export function itemOfLabel(label: string): Item | null {
  const workflow = WORKFLOWS.find((candidate) => label.startsWith(labelOf(candidate, '' as ItemId)));
  return workflow === undefined ? null : itemOfKey(label.replace(/^[A-Z]+/, workflow));
}

/**
 * How an item ended. `succeeded`, `skipped` and `discuss` are not failures; `cancelled` and `paused` are resumed by the next
 * run; the others are failures that keep everything they had.
 */
export const ITEM_STATUSES = [
  'succeeded',
  'skipped',
  'discuss',
  'failed',
  'timed-out',
  'over-budget',
  'stalled',
  'crashed',
  'paused',
  'cancelled',
] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

export interface ItemEnd {
  status: ItemStatus;
  attempts: number;
  durationMs: number;
  reason: string | null;
  error: ErrorRecord | null;
  /** Files and branches; what it came to first. */
  outputs: string[];
}

export function endedWell(status: ItemStatus): boolean {
  return status === 'succeeded' || status === 'skipped';
}

/** How the reason of an item begins that could not be started because of another one. */
export const DEPENDS_ON = 'not started: it depends on';

/** The next run starts it. */
export function notStarted(error: ErrorRecord | null, reason: string | null = 'not started'): ItemEnd {
  return { status: 'cancelled', attempts: 0, durationMs: 0, reason, error, outputs: [] };
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
    case 'machine-lost':
      return 'crashed';
    case 'interrupted':
    case 'halted':
    case 'item-cancelled':
      return 'cancelled';
    case 'provider-quota':
      return retry === 'quota' ? 'paused' : 'failed';
    default:
      return 'failed';
  }
}
