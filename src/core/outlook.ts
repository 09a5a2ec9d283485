import { progressOf } from './progress.ts';
import type { RunState } from './run-state.ts';

/** How a run under way will probably end, at the pace so far. */
export interface Outlook {
  /** Null: nothing to tell it from yet. */
  endsAtMs: number | null;
  /** What was paid, and will be; null: a price is not known, or nothing to tell it from. */
  costUsd: number | null;
  /** Items that ended, from which both are told. */
  from: number;
  /** Vendors without quota, and when they have some again; null: not known. */
  waits: { vendor: string; untilMs: number | null; endsBefore: boolean }[];
}

/** Null: the run has ended, or does not say that it began. */
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

/** Those that are left cost what those that ended did, on average; what is under way has paid a part of it. */
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
