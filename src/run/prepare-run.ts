import { join } from 'node:path';
import { missingAgent } from '../agent/create.ts';
import { AgentosError } from '../core/errors.ts';
import { keyOf } from '../core/item.ts';
import { secretsIn } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import type { Plan } from '../core/plan.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { requireModels } from '../models/settings.ts';
import { namesIn } from '../process/files.ts';
import { ownHolder } from '../process/lock.ts';
import { packageRoot } from '../process/own-process.ts';
import { findSandbox, type SandboxTool, withoutSandbox } from '../process/sandbox/sandbox.ts';
import { prepareStateFolder, requireOwnFolder, staleTemporaryFiles } from '../process/state-folder.ts';
import type { RunTrace } from '../telemetry/run-trace.ts';
import { namesCollector, UNTRACED } from '../telemetry/tracer.ts';
import { isOpen, type ModelUse, modelsIn } from './pipeline.ts';
import type { Project } from './project.ts';
import type { RunOptions } from './run.ts';

/** Throws if a model can't be used as configured; returns warnings. */
export async function requirements({ childEnv }: Project, uses: readonly ModelUse[]): Promise<string[]> {
  const warnings = new Set(uses.flatMap(({ config, roles }) => requireModels(config, roles)));
  for (const model of modelsIn(uses)) {
    const missing = await missingAgent(model, childEnv['PATH']);
    if (missing !== null) throw new AgentosError(missing);
  }
  return [...warnings];
}

/** The sandbox for programs of items. Rejects if one is required and none is found. */
export async function openRunSandbox(
  { config: { sandbox }, childEnv }: Project,
  startsPrograms: boolean,
): Promise<{ tool: SandboxTool | null; warnings: string[] }> {
  if (sandbox.mode === 'off' || (sandbox.mode === 'auto' && !startsPrograms)) return { tool: null, warnings: [] };
  const found = await findSandbox(childEnv);
  if (found.tool !== null) return { tool: found.tool, warnings: [] };
  const { reason, todo } = found;
  if (sandbox.mode === 'on') throw new AgentosError({ code: 'sandbox-missing', reason, todo });
  return { tool: null, warnings: [withoutSandbox(found)] };
}

/** Makes the state folder, and saves the caches that planning has filled. */
export async function prepareRunFolder({ paths, designs, issueCache }: Project): Promise<void> {
  await requireOwnFolder(paths);
  await prepareStateFolder(paths.base);
  await designs.save();
  await issueCache.startWriting();
}

/** Removes what killed runs left behind and no later run needs. A run does not fail if something can't be removed. */
export async function sweep(project: Project, plan: Plan): Promise<void> {
  const { paths } = project;
  await sweepReading(project);
  const folders = [
    paths.locks,
    paths.checkpoints,
    paths.homes,
    paths.worktrees,
    join(paths.work, 'worktree-state'),
    join(paths.repository, '.git', 'worktrees'),
  ];
  // Most runs find nothing, and don't load the code that looks more closely.
  const found = await Promise.all([...folders.map(namesIn), staleTemporaryFiles(paths)]);
  if (found.every((names) => names.length === 0)) return;
  const { sweepLeftovers } = await import('./clean/clean.ts');
  await sweepLeftovers(project, new Set(plan.items.filter(isOpen).map(keyOf))).catch(() => undefined);
}

/** Removes the reading worktrees that no process uses. */
export async function sweepReading({ paths, git }: Project): Promise<void> {
  const states = await namesIn(join(paths.work, 'worktree-state'));
  if (!states.some((name) => name.startsWith('reading-'))) return;
  const { removeReadingWorktrees } = await import('../git/worktree/reading.ts');
  await removeReadingWorktrees({ repository: git, paths }).catch(() => undefined);
}

/** The content of `run.json`: what the user asked for, and the plan. The schema library, which its reader uses, is not loaded. */
export function runRecord(
  { project, plan, request, resumes, version }: RunOptions,
  runId: string,
  startedAt: Date,
  trace: SpanContext | null,
): object {
  const { pid, processStart } = ownHolder();
  const { workflow, parallel, models, items } = plan;
  return {
    runId,
    workflow,
    startedAt: startedAt.toISOString(),
    pid,
    processStart,
    version,
    resumes,
    trace,
    parallel,
    models,
    bounds: project.config.bounds,
    request,
    items: items.map(({ id, title, workflow: at, state, fromStep, reusedSteps }) => ({
      id,
      title,
      workflow: at,
      state,
      fromStep,
      reusedSteps,
    })),
  };
}

/** The trace of a run. Without a collector, nothing is recorded and nothing is loaded. */
export async function openTrace(options: RunOptions): Promise<RunTrace> {
  const { project, plan, version } = options;
  const { env, mask } = project;
  if (!namesCollector(env)) return UNTRACED;
  const { openRunTrace } = await import('../telemetry/run-trace.ts');
  const maskMore = createMask(secretsIn(env));
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
    follows: await previousTrace(options),
    mask: (text) => maskMore(mask(text)),
  });
}

/** Older runs are not searched. */
const RUNS_BACK = 20;

/** The trace of the run that this one resumes: the named one, or the last that worked on one of the items. */
async function previousTrace({ project: { paths }, resumes, plan }: RunOptions): Promise<SpanContext | null> {
  const { readRecord, runIds } = await import('./history/run-files.ts');
  const ids = new Set<string>(plan.items.filter((item) => item.state === 'resumed').map((item) => item.id));
  const runs = resumes !== null ? [resumes] : ids.size === 0 ? [] : (await runIds(paths)).slice(0, RUNS_BACK);
  for (const run of runs) {
    const record = await readRecord(paths, run);
    if (record === null) continue;
    if (resumes !== null || record.items.some(({ id }) => ids.has(id))) return record.trace ?? null;
  }
  return null;
}
