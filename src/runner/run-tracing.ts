import { join } from 'node:path';
import { z } from 'zod';
import { secretsIn } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import type { Paths } from '../core/paths.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { openRunTrace, type RunTrace } from '../telemetry/run-trace.ts';
import { readTraceSettings } from '../telemetry/settings.ts';
import { packageRoot } from '../workspace/package-root.ts';
import { readJson, runIds } from '../workspace/run-history.ts';
import type { RunOptions } from './run-plan.ts';

/** Further back nobody looks for what an item began with. */
const RUNS_BACK = 20;

const recordSchema = z.object({
  trace: z.object({ traceId: z.string(), spanId: z.string() }).nullish(),
  items: z.array(z.object({ id: z.string() })),
});

/** The run as a trace; without an endpoint there is none, and it costs nothing. */
export async function openTrace(options: RunOptions): Promise<RunTrace> {
  const { project, plan, version } = options;
  const { env, mask, paths } = project;
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
    follows: isOn ? await followedTrace(paths, options) : null,
    mask: (text) => maskMore(mask(text)),
  });
}

/** Of the run that this one goes on with: the one that was named, or the last that had one of the items in hand. */
async function followedTrace(paths: Paths, { resumes, plan }: RunOptions): Promise<SpanContext | null> {
  const ids = new Set<string>(plan.items.filter((item) => item.state === 'resumed').map((item) => item.id));
  const runs = resumes !== null ? [resumes] : ids.size === 0 ? [] : (await runIds(paths)).slice(0, RUNS_BACK);
  for (const run of runs) {
    const record = recordSchema.safeParse(await readJson(paths.run(run).record));
    if (!record.success) continue;
    const { trace, items } = record.data;
    if (resumes !== null || items.some(({ id }) => ids.has(id))) return trace ?? null;
  }
  return null;
}
