import { existsSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import type { ItemEnd } from '../coordinator/coordinator.ts';
import { type Problem, toErrorRecord } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import type { RunPaths, WorkflowName } from '../core/paths.ts';
import type { ItemSummary, ItemTally } from '../core/summary.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { wordingOf } from '../core/wording.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import { ownHolder } from '../process/lock-holder.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import type { RunOptions } from './run-plan.ts';

/** What `summary.json` says of an item: the last stage that it reached tells how it ended. */
export function summaryOf(
  workflow: WorkflowName,
  ends: readonly ItemEnd[],
  tally: ItemTally,
  repository: string,
  { kept, question }: Pick<ItemSummary, 'kept' | 'question'>,
): ItemSummary {
  const last = ends.at(-1);
  if (last === undefined) throw new TypeError('an item without an end');
  const { id, status, reason, error } = last;
  const words = error && wordingOf(error.problem);
  const sum = (of: (end: ItemEnd) => number): number => ends.reduce((total, end) => total + of(end), 0);
  return {
    id,
    workflow,
    title: tally.title,
    status,
    reason,
    attempts: sum((end) => end.attempts),
    steps: tally.steps,
    durationMs: sum((end) => end.durationMs),
    usage: tally.usage,
    costUsd: tally.costUsd,
    error: error && words ? { code: error.problem.code, message: words.message, hint: words.hint } : null,
    // What the item came to first. What is on a branch has no place in the checkout.
    outputs: ends.toReversed().flatMap((end) => outputsIn(repository, end.outputs)),
    kept,
    question,
  };
}

/** As people name them: a branch as it is, a file from the repository's root. */
export function outputsIn(repository: string, outputs: readonly string[]): string[] {
  return outputs.map((path) => (isAbsolute(path) ? relative(repository, path) : path));
}

/** What `run.json` says: what was asked for, and what is there already. */
export function runRecord(
  { project, plan, request, resumes, version }: RunOptions,
  runId: string,
  startedAt: Date,
  trace: SpanContext | null,
): unknown {
  const { bounds } = project.config;
  return {
    runId,
    workflow: plan.workflow,
    startedAt: startedAt.toISOString(),
    pid: process.pid,
    processStart: ownHolder().processStart,
    version,
    resumes,
    trace,
    parallel: plan.parallel,
    models: plan.models,
    bounds,
    request,
    items: plan.items.map(({ id, title, workflow, state, fromStep, reusedSteps }) => ({
      id,
      title,
      workflow,
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

/**
 * Returns why it could not, or null: what was done is done. Somebody may have deleted the folder meanwhile; without its
 * record the run could not be looked at.
 */
export async function storeSummary(
  base: string,
  run: RunPaths,
  record: string,
  summary: string,
): Promise<Problem | null> {
  try {
    await prepareStateFolder(base);
    if (!existsSync(run.record)) await writeFileAtomic(run.record, record);
    await writeFileAtomic(run.summary, summary);
    return null;
  } catch (error) {
    return toErrorRecord(error).problem;
  }
}
