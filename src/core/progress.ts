import { parseItemId } from './ids.ts';
import type { ItemStatus } from './item.ts';
import { labelOf } from './paths.ts';
import type { ItemState, RunState, Wait } from './run-state.ts';

/** A key of the pool, according to the events. */
export interface KeyView {
  id: string;
  /** `rejected` by its vendor: no longer used. */
  state: 'ready' | 'cooling' | 'rejected';
  untilMs: number | null;
}

export interface WorkerView {
  /** `LLD-42` */
  label: string;
  title: string;
  step: string | null;
  /** Null: it is running. */
  wait: Wait | null;
  elapsedMs: number;
  tokens: number;
  /** Null: unknown. */
  costUsd: number | null;
}

/** The state of a run at one moment, for the live region. */
export interface ProgressView {
  nowMs: number;
  done: number;
  total: number;
  counts: Partial<Record<ItemStatus, number>>;
  /** Null: too early to tell. */
  etaMs: number | null;
  workers: WorkerView[];
  /** Set while everything waits. */
  pause: Wait | null;
  /** The keys that were used so far. */
  keys: KeyView[];
  costUsd: number | null;
  stopping: boolean;
}

/** `mask` removes known secrets from titles. */
export function progressOf(state: RunState, nowMs: number, mask: (text: string) => string): ProgressView {
  const busy = busyIn(state);
  return {
    nowMs,
    done: state.done,
    total: state.items.size,
    counts: { ...state.counts },
    etaMs: etaMs(state, nowMs),
    workers: busy.map((item) => ({
      label: item.workflow === null ? item.id : labelOf(item.workflow, parseItemId(item.id)),
      title: mask(item.title),
      step: item.step,
      wait: item.wait,
      elapsedMs: elapsedMs(item, nowMs),
      tokens: item.usage.inputTokens + item.usage.outputTokens,
      costUsd: item.costUsd,
    })),
    pause: pauseOf(state, busy),
    keys: [...state.keys].map(([id, { isRejected, coolingUntilMs }]) => {
      if (isRejected) return { id, state: 'rejected', untilMs: null };
      return coolingUntilMs > nowMs
        ? { id, state: 'cooling', untilMs: coolingUntilMs }
        : { id, state: 'ready', untilMs: null };
    }),
    costUsd: state.costUsd,
    stopping: state.stopping,
  };
}

function busyIn({ places }: RunState): ItemState[] {
  return places.filter((place) => place !== null);
}

function elapsedMs({ startedAtMs }: ItemState, nowMs: number): number {
  return Math.max(0, nowMs - (startedAtMs ?? nowMs));
}

/** The remaining work of running and waiting items, divided by the most workers that were seen at once. */
function etaMs(state: RunState, nowMs: number): number | null {
  const { measured, items, done, peak, stopping } = state;
  if (measured.items === 0 || stopping) return null;
  const meanMs = measured.durationMs / measured.items;
  const leftMs = busyIn(state).map((item) => Math.max(0, meanMs - elapsedMs(item, nowMs)));
  const waiting = Math.max(0, items.size - done - leftMs.length);
  const workMs = leftMs.reduce((sum, ms) => sum + ms, 0) + waiting * meanMs;
  const workers = Math.max(1, Math.min(peak, leftMs.length + waiting));
  const left = Math.max(workMs / workers, ...leftMs, waiting > 0 ? meanMs : 0);
  // Everything takes longer than usual, so there is no estimate.
  return left > 0 ? left : null;
}

/** If all running items wait, or none can start: the wait that ends first. */
function pauseOf({ exhausted }: RunState, busy: ItemState[]): Wait | null {
  const waits = busy.map(({ wait }) => wait);
  if (waits.includes(null)) return null;
  const all = [...waits, ...(waits.length === 0 ? exhausted.values() : [])].filter((wait) => wait !== null);
  return all.toSorted((a, b) => (a.untilMs ?? 0) - (b.untilMs ?? 0))[0] ?? null;
}

/** The probable end and cost of a running run, at the pace so far. */
export interface Outlook {
  /** Null: too early to tell. */
  endsAtMs: number | null;
  /** In all; null: a price is unknown, or it is too early to tell. */
  costUsd: number | null;
  /** How many finished items both come from. */
  from: number;
  /** Vendors without quota, and until when; null: unknown. */
  waits: { vendor: string; untilMs: number | null; endsBefore: boolean }[];
}

/** Null: the run has ended, or has not started. */
export function outlookOf(state: RunState, nowMs: number): Outlook | null {
  if (state.began === null || state.ended !== null) return null;
  const { items: measured } = state.measured;
  const leftMs = etaMs(state, nowMs);
  const endsAtMs = leftMs === null ? null : nowMs + leftMs;
  const waits = [...state.exhausted].map(([vendor, { untilMs }]) => ({
    vendor,
    untilMs,
    endsBefore: endsAtMs !== null && untilMs !== null && endsAtMs < untilMs,
  }));
  return { endsAtMs, costUsd: costOf(state, measured), from: measured, waits };
}

/** Each remaining item will cost the mean of the finished ones; a running item has paid part of that. */
function costOf({ items, costUsd }: RunState, measured: number): number | null {
  if (costUsd === null || measured === 0) return null;
  const isPaid = ({ ends, status }: { ends: readonly { attempts: number }[]; status: unknown }): boolean =>
    status !== null && ends.some(({ attempts }) => attempts > 0);
  const all = [...items.values()];
  const paid = all.filter(isPaid);
  const open = all.filter(({ status }) => status === null);
  const meanUsd = paid.reduce((sum, item) => sum + (item.costUsd ?? 0), 0) / Math.max(1, paid.length);
  return costUsd + open.reduce((sum, item) => sum + Math.max(0, meanUsd - (item.costUsd ?? 0)), 0);
}
