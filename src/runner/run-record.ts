import { relative } from 'node:path';
import type { ItemEnd } from '../coordinator/coordinator.ts';
import { sha256 } from '../core/hash.ts';
import type { ItemSummary, ItemTally } from '../core/summary.ts';
import { wordingOf } from '../core/wording.ts';
import type { RunOptions } from './run-plan.ts';

/** What `summary.json` says of an item. */
export function summaryOf(end: ItemEnd, tally: ItemTally, repository: string): ItemSummary {
  const { id, status, reason, attempts, durationMs, error } = end;
  const words = error && wordingOf(error.problem);
  return {
    id,
    title: tally.title,
    status,
    reason,
    attempts,
    steps: tally.steps,
    durationMs,
    usage: tally.usage,
    costUsd: tally.costUsd,
    error: error && words ? { code: error.problem.code, message: words.message, hint: words.hint } : null,
    outputs: end.outputs.map((path) => relative(repository, path)),
  };
}

/** What `run.json` says: what was asked for, and what is there already. */
export function runRecord(
  { project, plan, request, resumes, version }: RunOptions,
  runId: string,
  startedAt: Date,
): unknown {
  const { models, bounds } = project.config;
  return {
    runId,
    workflow: plan.workflow,
    startedAt: startedAt.toISOString(),
    pid: process.pid,
    version,
    resumes,
    parallel: plan.parallel,
    models,
    bounds,
    request,
    items: plan.items.map(({ id, title, state, fromStep, reusedSteps }) => ({
      id,
      title,
      state,
      fromStep,
      reusedSteps,
    })),
  };
}

/** Sorts by time, and differs between runs that start at the same moment. */
export function runIdOf(startedAt: Date, base: string): string {
  const stamp = startedAt.toISOString().replace(/[-:.]/g, '');
  return `${stamp}-${sha256(`${base}\0${process.pid}\0${stamp}`).slice(0, 8)}`;
}
