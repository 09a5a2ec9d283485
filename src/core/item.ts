import type { ErrorRecord } from './errors.ts';
import { type ItemId, isItemId } from './ids.ts';
import { labelOf, WORKFLOWS, type WorkflowName } from './paths.ts';

/** An issue or brief in one workflow. It has its own lock, checkpoint and worker. */
export interface Item {
  workflow: WorkflowName;
  id: ItemId;
}

/** `lld-42`. In a pipeline, the same id is in several workflows. */
export function keyOf({ workflow, id }: Item): string {
  return `${workflow}-${id}`;
}

/** Null: it is not the key of an item. */
export function itemOfKey(key: string): Item | null {
  const workflow = WORKFLOWS.find((candidate) => key.startsWith(`${candidate}-`));
  const id = workflow === undefined ? '' : key.slice(workflow.length + 1);
  return workflow !== undefined && isItemId(id) ? { workflow, id } : null;
}

/** From `IMPL-42`, as people see it. */
export function itemOfLabel(label: string): Item | null {
  const workflow = WORKFLOWS.find((candidate) => label.startsWith(labelOf(candidate, '' as ItemId)));
  return workflow === undefined ? null : itemOfKey(label.replace(/^[A-Z]+/, workflow));
}

/**
 * How an item ended. `succeeded`, `skipped` and `discuss` are not failures. The next run resumes `cancelled` and `paused` items. The
 * others are failures; they keep their checkpoint, branch and worktree.
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
  /** Files and branches; the most important first. */
  outputs: string[];
}

/** An item with this status needs no further run. */
export function endedWell(status: string): boolean {
  return status === 'succeeded' || status === 'skipped';
}

/** The start of the reason of an item that was not started because of another one. */
export const DEPENDS_ON = 'not started: it depends on';

/** For an item that was never started; the next run starts it. */
export function notStarted(error: ErrorRecord | null, reason: string | null = 'not started'): ItemEnd {
  return { status: 'cancelled', attempts: 0, durationMs: 0, reason, error, outputs: [] };
}

/** The status of an item that ended with this error. */
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
