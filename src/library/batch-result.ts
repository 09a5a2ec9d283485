import type { CoordinatedEnd } from '../coordinator/coordinator.ts';
import type { ErrorCode, ErrorRecord } from '../core/errors.ts';
import type { ItemStatus } from '../core/item.ts';
import { wordingOf } from '../core/wording.ts';

/** Why an item failed: the code to match on, words for people, and the facts. */
export interface BatchItemError extends ErrorRecord {
  code: ErrorCode;
  message: string;
}

export interface BatchItemResult<Result = unknown> {
  id: string;
  /** `skipped`: finished in an earlier run of this batch; `result` is what it returned then. */
  status: ItemStatus;
  /** Made in this run. */
  attempts: number;
  durationMs: number;
  reason: string | null;
  /** What the task returned; null unless the item succeeded or was skipped. */
  result: Result | null;
  error: BatchItemError | null;
}

export interface BatchResult<Result = unknown> {
  /** In the order in which they were given. */
  items: BatchItemResult<Result>[];
  /** How many ended how; a status that did not occur is absent. */
  counts: { total: number } & Partial<Record<ItemStatus, number>>;
  /** How many ran at once at most, after the cap. */
  parallel: number;
}

export function itemResultOf(end: CoordinatedEnd, result: unknown): BatchItemResult {
  const { id, status, attempts, durationMs, reason, error } = end;
  return {
    id,
    status,
    attempts,
    durationMs,
    reason,
    result,
    error: error && { code: error.problem.code, message: wordingOf(error.problem).message, ...error },
  };
}

export function countsOf(items: readonly BatchItemResult[]): BatchResult['counts'] {
  const counts: BatchResult['counts'] = { total: items.length };
  for (const { status } of items) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
