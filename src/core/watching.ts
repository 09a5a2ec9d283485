import type { ItemEnd, ItemStatus } from './item.ts';
import type { WorkflowName } from './paths.ts';

/** What a watch remembers about an item that it has started, over restarts. */
export interface WatchedItem {
  workflow: WorkflowName;
  /** Hash of the item's text: another text counts as another item. */
  hash: string;
  /** How many runs this text was in. */
  attempts: number;
  /** Null: a run was started and has not reported its end. */
  status: ItemStatus | null;
  /** When the status was set. */
  atMs: number;
  /** When a paused or unstarted item may continue; null: unknown. */
  untilMs: number | null;
}

/** Why a pending item is not started now. */
export interface HeldBack {
  id: string;
  status: ItemStatus;
  why: string;
  /** When it may start; null: not before something changes. */
  untilMs: number | null;
}

/** After this many runs with the same text, an item waits for a change. */
const MOST_ATTEMPTS = 3;
const FIRST_DELAY_MS = 5 * 60_000;
/** Each delay is this many times as long as the one before. */
const GROWTH = 4;
/** For a pause whose end is unknown. */
const PAUSE_MS = 15 * 60_000;
/** For an item whose runs were killed again and again: it may be the cause. */
const CUT_OFF_MS = 60 * 60_000;

interface WatchedNow {
  workflow: WorkflowName;
  hash: string;
  nowMs: number;
  /** A person has decided on an item in DISCUSS. */
  isDecided: boolean;
}

/**
 * Null: it may start. A new text may start, and one that a person has decided on. One that failed is tried again after a while, at most
 * three times, so that a watch never pays for the same failure over and over.
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
      // The program was killed: resume at once.
      if (item.attempts < MOST_ATTEMPTS) return null;
      return held('failed', `cut off in ${item.attempts} runs`, item.atMs + CUT_OFF_MS);
    default:
      if (item.attempts >= MOST_ATTEMPTS) return held('failed', `${item.status} in ${item.attempts} runs`, null);
      return held('failed', item.status, item.atMs + FIRST_DELAY_MS * GROWTH ** (item.attempts - 1));
  }
}

/** To be stored when a run with the item starts, so that the run counts even if the program is killed. */
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

/** How a run ended for an item. */
export interface WatchedEnd extends Pick<WatchedItem, 'workflow' | 'hash'> {
  status: ItemStatus;
  /** How long it has to wait; null: unknown. */
  forMs: number | null;
}

/** How long an item waits that its run did not start; null: no wait. A run that stopped itself would stop again. */
export function waitAfter(end: Pick<ItemEnd, 'status' | 'error'>): number | null {
  const problem = end.error?.problem;
  if (problem?.code === 'provider-quota') return problem.retryAfterMs;
  const isOfRun = end.status === 'cancelled' && problem !== undefined && problem.code !== 'interrupted';
  return isOfRun ? FIRST_DELAY_MS : null;
}

/** These ends say nothing about the text, so the run does not count. */
const UNCOUNTED: ReadonlySet<ItemStatus> = new Set(['cancelled', 'paused', 'discuss'] as const);

/** An item that reached its next stage in the run has its first attempt there. */
export function endedItem(item: WatchedItem, end: WatchedEnd, nowMs: number): WatchedItem {
  const { workflow, hash, status, forMs } = end;
  const isSame = item.workflow === workflow && item.hash === hash;
  const attempts = (isSame ? item.attempts : 1) - (UNCOUNTED.has(status) ? 1 : 0);
  return { workflow, hash, attempts, status, atMs: nowMs, untilMs: forMs === null ? null : nowMs + forMs };
}

/** The midnights before and after a time, in the time zone of this machine. */
export function dayAround(atMs: number): { startMs: number; endMs: number } {
  const at = new Date(atMs);
  const midnight = (days: number): number => new Date(at.getFullYear(), at.getMonth(), at.getDate() + days).getTime();
  return { startMs: midnight(0), endMs: midnight(1) };
}
