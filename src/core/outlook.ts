import { progressOf } from './progress.ts';
import type { RunState } from './run-state.ts';

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
  const { etaMs } = progressOf(state, nowMs, (title) => title);
  const { items: measured } = state.measured;
  const endsAtMs = etaMs === null ? null : nowMs + etaMs;
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
