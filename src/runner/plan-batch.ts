import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import type { Plan, PlannedItem } from '../core/plan.ts';
import { inspectJournal } from '../journal/inspect.ts';
import { createGit } from '../workspace/git.ts';
import type { Project } from '../workspace/project.ts';
import { loadPrompts } from '../workspace/prompt-overrides.ts';
import { headCommit } from '../workspace/repository.ts';
import type { Batch, CollectedItem } from './batch.ts';

export interface PlanOptions {
  project: Project;
  batch: Batch;
  ids: readonly ItemId[] | 'all';
  parallel: number;
}

/** Looks, and writes nothing: what there is to do, and from where each item goes on. */
export async function planBatch({ project, batch, ids, parallel }: PlanOptions): Promise<Plan> {
  const { paths, childEnv, config } = project;
  const collected = await batch.collect(project, ids);
  const chosen = ids === 'all' ? collected.filter((item) => item.state !== 'done') : collected;
  await headCommit(createGit(paths.repository, childEnv));
  await loadPrompts(paths.prompts);
  const checkpoints = new Set(await checkpointsOf(project, batch));
  const items = chosen.map((item) => planItem(item, project, batch, checkpoints));
  return {
    workflow: batch.workflow,
    items,
    parallel,
    models: config.models,
    costCeilingUsd: batch.costCeilingUsd(
      project,
      chosen.filter((item) => item.state === 'pending'),
    ),
  };
}

/** Listed once: asking for each of ten thousand items would cost more than all the rest. */
async function checkpointsOf({ paths }: Project, { workflow }: Batch): Promise<string[]> {
  const folder = dirname(paths.checkpoint(workflow, 'x' as ItemId));
  return readdir(folder).catch(() => []);
}

function planItem(
  item: CollectedItem,
  { paths }: Project,
  { workflow }: Batch,
  checkpoints: ReadonlySet<string>,
): PlannedItem {
  const { id, title, error } = item;
  const plain = { id, title, error, fromStep: null, reusedSteps: 0 };
  if (item.state !== 'pending') return { ...plain, state: item.state };
  if (!checkpoints.has(`${workflow}-${id}.db`)) return { ...plain, state: 'new' };
  const view = inspectJournal(paths.checkpoint(workflow, id));
  if (view === null || view.steps.length === 0) return { ...plain, state: 'new' };
  const fromStep = view.inFlight.at(-1) ?? `after ${view.steps.at(-1)?.name ?? 'the start'}`;
  return { ...plain, state: 'resumed', fromStep, reusedSteps: view.steps.length };
}
