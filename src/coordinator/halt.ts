import type { ErrorRecord } from '../core/errors.ts';

const SAME_CAUSE_IN_A_ROW = 3;

/** Decides when a batch stops burning through its items. */
export interface HaltRule {
  /** Told of each item's end; returns the reason to start nothing new, or null. */
  ended(failure: ErrorRecord | null): { failures: number; cause: string } | null;
}

/** With a limit: after so many failures. Without: after three in a row with the same cause. */
export function createHaltRule(limit: number | null): HaltRule {
  let failures = 0;
  let row = 0;
  let lastCause: string | null = null;
  return {
    ended(failure) {
      if (failure === null) {
        row = 0;
        lastCause = null;
        return null;
      }
      const cause = failure.problem.code;
      failures += 1;
      row = cause === lastCause ? row + 1 : 1;
      lastCause = cause;
      const reached = limit === null ? row >= SAME_CAUSE_IN_A_ROW : failures >= limit;
      return reached ? { failures: limit === null ? row : failures, cause } : null;
    },
  };
}
