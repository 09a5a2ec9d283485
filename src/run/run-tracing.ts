import { join } from 'node:path';
import { secretsIn } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import { packageRoot } from '../process/package-root.ts';
import { openRunTrace, type RunTrace } from '../telemetry/run-trace.ts';
import { readTraceSettings } from '../telemetry/settings.ts';
import type { RunOptions } from './run-plan.ts';

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
    follows: isOn ? await (await import('./followed-trace.ts')).followedTrace(paths, options) : null,
    mask: (text) => maskMore(mask(text)),
  });
}
