import type { LastRun } from '../core/errors.ts';
import type { Paths } from '../core/paths.ts';
import { readRun } from './run-history.ts';
import { readSummary, runIds } from './stored-runs.ts';

/** What all runs that are kept have to say of an item. */
export interface ItemHistory {
  last: LastRun;
  /** A run is at it now, or is going to be. */
  isUnderWay: boolean;
  needsQuota: boolean;
  costUsd: number;
  runs: number;
}

/** By id. A run that ended is told by its summary alone. */
export async function itemHistories(paths: Paths): Promise<Map<string, ItemHistory>> {
  const histories = new Map<string, ItemHistory>();
  for (const runId of await runIds(paths)) {
    for (const { id, costUsd, isUnderWay, needsQuota, ...last } of await itemsOfRun(paths, runId)) {
      const later = histories.get(id);
      const paid = costUsd ?? 0;
      if (later === undefined) histories.set(id, { last, isUnderWay, needsQuota, costUsd: paid, runs: 1 });
      else {
        later.costUsd += paid;
        later.runs += 1;
      }
    }
  }
  return histories;
}

type ItemInRun = LastRun & { id: string; costUsd: number | null; isUnderWay: boolean; needsQuota: boolean };

async function itemsOfRun(paths: Paths, runId: string): Promise<ItemInRun[]> {
  const summary = await readSummary(paths, runId);
  if (summary?.workflow !== undefined) {
    const { workflow } = summary;
    const started = summary.items.filter(
      // One that its run never came to says nothing new.
      ({ status, attempts, reason }) => status !== 'cancelled' || attempts !== 0 || typeof reason === 'string',
    );
    return started.map(({ id, status, reason, error, costUsd = null, steps = [] }) => {
      const step = steps.at(-1)?.name ?? null;
      const why = reason ?? error?.message ?? null;
      return { runId, workflow, id, status, reason: why, step, costUsd, isUnderWay: false, needsQuota: false };
    });
  }
  const run = await readRun(paths, runId);
  const items = (run?.items ?? []).filter(({ status }) => run?.state === 'running' || status !== 'waiting');
  return items.map(({ id, status, reason, step, costUsd, needsQuota }) => {
    const isUnderWay = run?.state === 'running' && (status === 'running' || status === 'waiting');
    return { runId, workflow: run?.workflow ?? 'run', id, status, reason, step, costUsd, isUnderWay, needsQuota };
  });
}
