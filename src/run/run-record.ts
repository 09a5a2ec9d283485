import { sha256 } from '../core/hash.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { ownHolder } from '../process/lock.ts';
import type { RunOptions } from './run.ts';

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
