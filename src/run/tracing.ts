import { join } from 'node:path';
import { secretsIn } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { packageRoot } from '../process/package-root.ts';
import { readTraceSettings } from '../telemetry/exporter.ts';
import { openRunTrace, type RunTrace } from '../telemetry/run-trace.ts';
import type { RunOptions } from './run.ts';

/** The trace of a run. Without an endpoint it records nothing and costs nothing. */
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
    follows: isOn ? await previousTrace(options) : null,
    mask: (text) => maskMore(mask(text)),
  });
}

/** Older runs are not searched. */
const RUNS_BACK = 20;

/** The trace of the run that this one resumes: the named one, or the last that worked on one of the items. */
async function previousTrace({ project: { paths }, resumes, plan }: RunOptions): Promise<SpanContext | null> {
  const { readRecord, runIds } = await import('./history/run-history.ts');
  const ids = new Set<string>(plan.items.filter((item) => item.state === 'resumed').map((item) => item.id));
  const runs = resumes !== null ? [resumes] : ids.size === 0 ? [] : (await runIds(paths)).slice(0, RUNS_BACK);
  for (const run of runs) {
    const record = await readRecord(paths, run);
    if (record === null) continue;
    if (resumes !== null || record.items.some(({ id }) => ids.has(id))) return record.trace ?? null;
  }
  return null;
}
