import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ITEM_STATUSES, type ItemEnd, type ItemStatus } from '../../core/item.ts';
import { parseJson } from '../../core/json.ts';
import { WORKFLOWS } from '../../core/paths.ts';
import type { PlannedItem } from '../../core/plan.ts';
import { writeFileAtomic } from '../../process/files.ts';

/** What a watch remembers about an item that it has started, over restarts. */
const itemSchema = z.object({
  workflow: z.enum(WORKFLOWS),
  /** Hash of the item's text: another text counts as another item. */
  hash: z.string(),
  /** How many runs this text was in. */
  attempts: z.int(),
  /** Null: a run was started and has not reported its end. */
  status: z.enum(ITEM_STATUSES).nullable(),
  /** When the status was set. */
  atMs: z.number(),
  /** When a paused or unstarted item may continue; null: unknown. */
  untilMs: z.number().nullable(),
});
const fileSchema = z.object({
  items: z.record(z.string(), itemSchema),
  /** The start of the day whose budget was too small for the next call; null: none. */
  spentUpMs: z.number().nullable(),
});

export type WatchedItem = z.infer<typeof itemSchema>;
type WatchState = z.infer<typeof fileSchema>;

/** Empty if the file is missing or damaged: then every pending item may start. */
export async function readWatchState(path: string): Promise<WatchState> {
  const found = fileSchema.safeParse(parseJson(await readFile(path, 'utf8').catch(() => '')));
  return found.data ?? { items: {}, spentUpMs: null };
}

export async function writeWatchState(path: string, state: WatchState): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(state, null, 2)}\n`);
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

interface WatchedNow extends Pick<WatchedItem, 'workflow' | 'hash'> {
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

/** Holds back items that build on one that is held back, and adds them to `held`. */
export function withoutDependents(items: readonly PlannedItem[], held: HeldBack[]): PlannedItem[] {
  let left = [...items];
  for (;;) {
    const out = new Set(held.map(({ id }) => id));
    const waiting = left.flatMap(({ id, after }) => {
      const on = after.find((other) => out.has(other));
      return on === undefined ? [] : [{ id, status: 'cancelled' as const, why: `builds on ${on}`, untilMs: null }];
    });
    if (waiting.length === 0) return left;
    held.push(...waiting);
    left = left.filter((item) => !waiting.some(({ id }) => id === item.id));
  }
}

/** To be stored when a run with the item starts, so that the run counts even if the program is killed. */
export function startedItem(
  before: WatchedItem | undefined,
  { workflow, hash, nowMs }: Omit<WatchedNow, 'isDecided'>,
): WatchedItem {
  const isSame = before?.hash === hash && before.workflow === workflow;
  const attempts = (isSame ? before.attempts : 0) + 1;
  return { workflow, hash, attempts, status: null, atMs: nowMs, untilMs: null };
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
