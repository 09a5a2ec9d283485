import { rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import { type Item, itemOfKey } from '../core/item.ts';
import type { WorkflowName } from '../core/paths.ts';
import type { Plan } from '../core/plan.ts';
import { createGit } from '../git/git.ts';
import { removeFolder, staleTemporaryFiles } from '../process/files.ts';
import { acquireLock } from '../process/lock.ts';
import { pipelineNamed } from './batches.ts';
import { namesIn, removeCheckpoint, workedOnBy } from './clean/items.ts';
import { isOpen } from './pipeline.ts';
import type { Project } from './project.ts';

/**
 * Removes what killed runs left behind and no later run needs: files on their way to their place, locks,
 * checkpoints and worktrees of items that are done, and homes without a worktree. What can't be removed stays; a run doesn't fail for it.
 */
export async function sweep(project: Project, plan: Plan): Promise<void> {
  const { paths } = project;
  for (const path of await staleTemporaryFiles(paths)) await rm(path, { force: true }).catch(() => undefined);
  for (const item of await itemsIn(paths.locks, '.lock'))
    if (workedOnBy(paths, item) === null) await underLock(project, item, async () => undefined);
  const open = new Set(plan.items.filter(isOpen).map(({ workflow, id }) => `${workflow}-${id}`));
  const others = (await itemsIn(paths.checkpoints, '.db')).filter(({ workflow, id }) => !open.has(`${workflow}-${id}`));
  for (const workflow of new Set(others.map((item) => item.workflow))) {
    const ids = others.filter((item) => item.workflow === workflow).map(({ id }) => id);
    for (const id of await doneOf(project, workflow, ids))
      await underLock(project, { workflow, id }, () => removeCheckpoint(paths.checkpoint(workflow, id)));
  }
  await sweepWorktrees(project, open).catch(() => undefined);
  const worktrees = new Set(await namesIn(paths.worktrees));
  for (const item of await itemsIn(paths.homes, '')) {
    const name = `${item.workflow}-${item.id}`;
    if (!open.has(name) && !worktrees.has(name))
      await underLock(project, item, () => removeFolder(paths.home(item.workflow, item.id)));
  }
}

async function sweepWorktrees(project: Project, open: ReadonlySet<string>): Promise<void> {
  const { paths, childEnv } = project;
  // Most repositories have none, and are spared the call of git.
  const isLinked = await stat(join(paths.repository, '.git')).then((found) => !found.isDirectory());
  const known = await namesIn(join(paths.repository, '.git', 'worktrees'));
  if (!isLinked && known.length === 0 && (await namesIn(join(paths.work, 'worktree-state'))).length === 0) return;
  const { judgeWorktrees, removeJudged } = await import('./clean/worktrees.ts');
  const git = createGit(paths.repository, childEnv);
  for (const verdict of await judgeWorktrees({ paths, git, env: childEnv, place: [] }, (name) => !open.has(name))) {
    const item = itemOfKey(verdict.place.name);
    if (item === null || verdict.keep) continue;
    await underLock(project, item, () => removeJudged({ git, gitQueue: paths.gitQueue }, verdict));
  }
}

async function itemsIn(folder: string, suffix: string): Promise<Item[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith(suffix));
  return names.map((name) => itemOfKey(basename(name, suffix))).filter((item) => item !== null);
}

async function doneOf(project: Project, workflow: WorkflowName, ids: readonly ItemId[]): Promise<ItemId[]> {
  const [stage] = pipelineNamed(workflow).stages;
  // One whose issue is gone is an error for all of them.
  const found = await stage
    .collect(project, ids)
    .catch(async () => (await Promise.all(ids.map((id) => stage.collect(project, [id]).catch(() => [])))).flat());
  return found.filter(({ state }) => state === 'done').map(({ id }) => id);
}

/** Not at all while another run has it. */
async function underLock({ paths }: Project, { workflow, id }: Item, work: () => Promise<void>): Promise<void> {
  try {
    const lock = acquireLock(paths.lock(workflow, id), { workflow, id }, new Date().toISOString());
    await work().finally(() => lock.release());
  } catch {
    // Another run is at it, or the disk is read-only.
  }
}
