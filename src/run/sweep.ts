import { join } from 'node:path';
import { keyOf } from '../core/item.ts';
import type { Plan } from '../core/plan.ts';
import { createGit } from '../git/git.ts';
import { namesIn, staleTemporaryFiles } from '../process/files.ts';
import { isOpen } from './pipeline.ts';
import type { Project } from './project.ts';

/**
 * Removes what killed runs left behind and no later run needs. What can't be removed stays; a run doesn't fail for it.
 */
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
  // Most runs find nothing, and are spared what looks more closely.
  const found = await Promise.all([...folders.map(namesIn), staleTemporaryFiles(paths)]);
  if (found.every((names) => names.length === 0)) return;
  const { leftovers, removeAll } = await import('./clean/clean.ts');
  const open = new Set(plan.items.filter(isOpen).map(keyOf));
  await leftovers(project, [], open).then(
    ({ candidates }) => removeAll(project, candidates, false),
    () => undefined,
  );
}

/** The worktrees of models that are programs, but for those in use. */
export async function sweepReading({ paths, childEnv }: Project): Promise<void> {
  const states = await namesIn(join(paths.work, 'worktree-state'));
  if (!states.some((name) => name.startsWith('reading-'))) return;
  const { removeReadingWorktrees } = await import('../git/worktree/reading.ts');
  const repository = createGit(paths.repository, childEnv);
  await removeReadingWorktrees({ repository, paths }).catch(() => undefined);
}
