import { existsSync } from 'node:fs';
import { type Problem, toErrorRecord } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import type { RunPaths } from '../core/paths.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { writeFileAtomic } from '../process/files.ts';
import { ownHolder } from '../process/lock.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import type { RunRecord } from './history/run-files.ts';
import type { RunOptions } from './run.ts';

/*
 * `run.json` and `summary.json` are written here and read by `history/run-history.ts`. They are apart, because the reader loads
 * the schema library, which a run does not need.
 */

/** The content of `run.json`: what the user asked for, and the plan. */
export function runRecord(
  { project, plan, request, resumes, version }: RunOptions,
  runId: string,
  startedAt: Date,
  trace: SpanContext | null,
): object {
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
    bounds: project.config.bounds,
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

/** Sorts by time, differs between runs that start at the same moment, and is bound to one state folder. */
export function runIdOf(startedAt: Date, base: string, pid: number = process.pid): string {
  const stamp = startedAt.toISOString().replace(/[-:.]/g, '');
  return `${stamp}-${sha256(`${base}\0${pid}\0${stamp}`).slice(0, 8)}`;
}

/** False for a run in a state folder that came with someone else's files: its maker could not know the path of the folder here. */
export function isRecordedHere(
  base: string,
  runId: string,
  { startedAt, pid }: Pick<RunRecord, 'startedAt' | 'pid'>,
): boolean {
  const time = new Date(startedAt);
  return !Number.isNaN(time.getTime()) && runId === runIdOf(time, base, pid);
}

/**
 * Returns why the summary could not be stored, or null: the run ends in any case. Writes the record again if the folder was deleted
 * meanwhile, because a run without a record can't be read.
 */
export async function storeSummary(
  base: string,
  run: RunPaths,
  record: string | null,
  summary: string,
): Promise<Problem | null> {
  try {
    await prepareStateFolder(base);
    if (record !== null && !existsSync(run.record)) await writeFileAtomic(run.record, record);
    await writeFileAtomic(run.summary, summary);
    return null;
  } catch (error) {
    return toErrorRecord(error).problem;
  }
}
