import type { Call } from './calls.ts';

/** How many requests ended how. Every request is in `requests` and, once it has a status, in one of the others. */
export interface Tally {
  requests: number;
  ok: number;
  rateLimited: number;
  /** Refused because of the key, whatever the vendor's status for it. */
  badKey: number;
  overloaded: number;
  otherStatus: number;
  /** Of those with 2xx: written to the end, in the vendor's time since its start. */
  finishedAtMs: number[];
  aborted: number;
}

export type Outcome = 'ok' | 'rateLimited' | 'badKey' | 'overloaded' | 'otherStatus';

export interface Counters {
  total: Tally;
  /** By hash of the key (`Call.keyHash`); `none` for requests without one. */
  keys: Record<string, Tally>;
  groups: Record<string, Tally>;
  /** By the `x-workflow` header. */
  workflows: Record<string, Tally>;
}

export function createCounters(): Counters {
  return { total: emptyTally(), keys: {}, groups: {}, workflows: {} };
}

export function count(counters: Counters, call: Call, change: (tally: Tally) => void): void {
  change(counters.total);
  change((counters.keys[call.keyHash ?? 'none'] ??= emptyTally()));
  change((counters.groups[call.group] ??= emptyTally()));
  if (call.workflow !== null) change((counters.workflows[call.workflow] ??= emptyTally()));
}

function emptyTally(): Tally {
  return {
    requests: 0,
    ok: 0,
    rateLimited: 0,
    badKey: 0,
    overloaded: 0,
    otherStatus: 0,
    finishedAtMs: [],
    aborted: 0,
  };
}
