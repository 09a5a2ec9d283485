import type { ErrorRecord } from '../core/errors.ts';
import type { ItemStatus } from '../core/events.ts';
import { statusOfError } from '../core/summary.ts';
import type { AttemptOutcome } from './run-attempt.ts';

/** What became of an item. */
export interface ItemEnd {
  id: string;
  status: ItemStatus;
  attempts: number;
  durationMs: number;
  reason: string | null;
  error: ErrorRecord | null;
  outputs: string[];
}

export function endOf(outcome: AttemptOutcome): Pick<ItemEnd, 'status' | 'reason' | 'error' | 'outputs'> {
  if ('error' in outcome)
    return { status: statusOfError(outcome.error), reason: null, error: outcome.error, outputs: [] };
  const { status, reason, outputs } = outcome.result;
  return { status, reason, error: null, outputs };
}

/** It goes on with the next run. */
export function notStarted(id: string, error: ErrorRecord | null, detail = ''): ItemEnd {
  const reason = `not started${detail}`;
  return { id, status: 'cancelled', attempts: 0, durationMs: 0, reason, error, outputs: [] };
}
