import { join } from 'node:path';
import { secretsIn } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { packageRoot } from '../process/package-root.ts';
import { openRunTrace, type RunTrace } from '../telemetry/run-trace.ts';
import { readTraceSettings } from '../telemetry/settings.ts';
import type { RunOptions } from './run.ts';

/** Older runs are not searched for the trace that an item began with. */
const RUNS_BACK = 20;

/** The run as a trace; without an endpoint there is none, and it costs nothing. */
export async function openTrace(options: RunOptions): Promise<RunTrace> {
  const { project, plan, version } = options;
  const { env, mask } = project;
  const isOn = readTraceSettings(env).settings !== null;
  const maskMore = isOn ? createMask(secretsIn(env)) : mask;
  return openRunTrace({
    env,
    exporterScript: join(packageRoot(), 'dist', 'span-exporter.js'),
    version,
    name: `agentos ${plan.workflow}`,
    attributes: {
      'agentos.workflow': plan.workflow,
      'agentos.parallel': plan.parallel,
      'agentos.items': plan.items.length,
      'agentos.resumes': options.resumes,
    },
    follows: isOn ? await followedTrace(options) : null,
    mask: (text) => maskMore(mask(text)),
  });
}

/** Of the run that this one resumes: the one that was named, or the last that worked on one of the items. */
async function followedTrace({ project: { paths }, resumes, plan }: RunOptions): Promise<SpanContext | null> {
  const { readRecord, runIds } = await import('./run-history.ts');
  const ids = new Set<string>(plan.items.filter((item) => item.state === 'resumed').map((item) => item.id));
  const runs = resumes !== null ? [resumes] : ids.size === 0 ? [] : (await runIds(paths)).slice(0, RUNS_BACK);
  for (const run of runs) {
    const record = await readRecord(paths, run);
    if (record === null) continue;
    if (resumes !== null || record.items.some(({ id }) => ids.has(id))) return record.trace ?? null;
  }
  return null;
}
