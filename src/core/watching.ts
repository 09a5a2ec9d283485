import type { ItemEnd, ItemStatus } from './item.ts';
import type { WorkflowName } from './paths.ts';

/** What a watch knows of an item that it has started: it outlives the process. */
export interface WatchedItem {
  workflow: WorkflowName;
  /** Of the text that it was made from: another text is another item. */
  hash: string;
  /** Runs that this text took part in. */
  attempts: number;
  /** Null: a run was started, and nothing was heard of it since. */
  status: ItemStatus | null;
  /** When that was. */
  atMs: number;
  /** Of one that is paused, or was not started: when it may continue, if that is known. */
  untilMs: number | null;
}

/** Why an item that is pending is not started now. */
export interface HeldBack {
  id: string;
  status: ItemStatus;
  why: string;
  /** When it may start without anything else happening; null: not before something changes. */
  untilMs: number | null;
}

/** Runs that one text of an item gets before it waits for a change. */
const MOST_ATTEMPTS = 3;
const FIRST_DELAY_MS = 5 * 60_000;
/** Each is so many times as long as the one before. */
const GROWTH = 4;
/** Of a pause whose end is not known. */
const PAUSE_MS = 15 * 60_000;
/** Of an item whose runs were cut off again and again: it may be what brings the machine down. */
const CUT_OFF_MS = 60 * 60_000;

export interface WatchedNow {
  workflow: WorkflowName;
  hash: string;
  nowMs: number;
  /** A person has decided what an item in DISCUSS waited for. */
  isDecided: boolean;
}

/**
 * Null: it may start. A text that is new may, and so may one that a person has decided on. One that failed is tried again
 * after a while, and at most three times, so that a watch never pays for the same failure over and over.
 */
export function heldBack(id: string, item: WatchedItem | undefined, now: WatchedNow): HeldBack | null {
  if (item === undefined || item.hash !== now.hash || item.workflow !== now.workflow) return null;
  const held = (status: ItemStatus, why: string, untilMs: number | null): HeldBack | null =>
    untilMs !== null && untilMs <= now.nowMs ? null : { id, status, why, untilMs };
  switch (item.status) {
    case 'cancelled':
      return item.untilMs === null ? null : held('cancelled', 'the last run started nothing more', item.untilMs);
    case 'discuss':
      return now.isDecided ? null : held('discuss', 'waits for a decision', null);
    case 'paused':
      return held('paused', 'waits for quota', item.untilMs ?? item.atMs + PAUSE_MS);
    case null:
      // The program was killed: it resumes at once.
      if (item.attempts < MOST_ATTEMPTS) return null;
      return held('failed', `cut off in ${item.attempts} runs`, item.atMs + CUT_OFF_MS);
    default:
      if (item.attempts >= MOST_ATTEMPTS) return held('failed', `${item.status} in ${item.attempts} runs`, null);
      return held('failed', item.status, item.atMs + FIRST_DELAY_MS * GROWTH ** (item.attempts - 1));
  }
}

/** An item as it is noted when a run with it starts: should the program be killed, the run has counted. */
export function startedItem(
  before: WatchedItem | undefined,
  { workflow, hash, nowMs }: Pick<WatchedNow, 'workflow' | 'hash' | 'nowMs'>,
): WatchedItem {
  const isSame = before?.hash === hash && before.workflow === workflow;
  return {
    workflow,
    hash,
    attempts: (isSame ? before.attempts : 0) + 1,
    status: null,
    atMs: nowMs,
    untilMs: null,
  };
}

/** How a run ended for an item, as far as it matters to the next one. */
export interface WatchedEnd extends Pick<WatchedItem, 'workflow' | 'hash'> {
  status: ItemStatus;
  /** How long it has to wait, if that is known. */
  forMs: number | null;
}

/** How long an item waits that its run did not start; null: it needn't. A run that stopped itself would do so again. */
export function waitAfter(end: Pick<ItemEnd, 'status' | 'error'>): number | null {
  const problem = end.error?.problem;
  if (problem?.code === 'provider-quota') return problem.retryAfterMs;
  const isOfRun = end.status === 'cancelled' && problem !== undefined && problem.code !== 'interrupted';
  return isOfRun ? FIRST_DELAY_MS : null;
}

/** Ends that say nothing of the text: a run with them does not count. */
const UNCOUNTED: ReadonlySet<ItemStatus> = new Set(['cancelled', 'paused', 'discuss'] as const);

/** An item that came to its next stage in the run has failed there for the first time. */
export function endedItem(item: WatchedItem, end: WatchedEnd, nowMs: number): WatchedItem {
  const { workflow, hash, status, forMs } = end;
  const isSame = item.workflow === workflow && item.hash === hash;
  const attempts = (isSame ? item.attempts : 1) - (UNCOUNTED.has(status) ? 1 : 0);
  return { workflow, hash, attempts, status, atMs: nowMs, untilMs: forMs === null ? null : nowMs + forMs };
}

/** Midnight before and after a moment, by the calendar of this machine. */
export function dayAround(atMs: number): { startMs: number; endMs: number } {
  const at = new Date(atMs);
  const midnight = (days: number): number => new Date(at.getFullYear(), at.getMonth(), at.getDate() + days).getTime();
  return { startMs: midnight(0), endMs: midnight(1) };
}
