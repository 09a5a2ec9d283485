import { mkdir } from 'node:fs/promises';
import { branchNameOf } from '../git/branches.ts';
import { openWorktree } from '../git/worktree/open.ts';
import { type TreeChange, type Worktree } from '../git/worktree/worktree.ts';
import type { ImplementContext, ImplementParts } from './implement-item.ts';
import type { ItemContext } from './item.ts';
import { createSetUp } from './set-up.ts';

/** Creates the worktree of an item, or takes over what an earlier attempt left, and sets it up. */
export async function prepareWorktree(
  item: ItemContext,
  parts: ImplementParts,
  start: string,
): Promise<Pick<ImplementContext, 'worktree' | 'setUp'>> {
  const { paths, id, title, emit } = item;
  const { git, env } = parts;
  await mkdir(paths.home('implement', id), { recursive: true });
  const opened = await openWorktree({
    repository: git,
    directory: paths.worktree('implement', id),
    branch: branchNameOf(id, title),
    start,
    lockFile: paths.gitQueue,
    env,
  });
  for (const text of opened.warnings) emit({ type: 'notice', text });
  if (paths.work !== paths.base)
    emit({
      type: 'notice',
      text: `the worktree is ${opened.worktree.directory}: not every tool can work below ${paths.base}`,
    });
  const hasRun = await createSetUp(item, parts, opened.worktree, start).first(opened.isNew);
  const fresh = opened.isAtStart && !hasRun ? await opened.worktree.treeOf(start) : null;
  const worktree = cachedWorktree(opened.worktree, fresh);
  return { worktree, setUp: createSetUp(item, parts, worktree, start) };
}

/**
 * Caches changes and the last diff, and skips a restore when the folder already holds the tree: after a snapshot it does
 * until something runs in it, which never happens without a restore. Files of submodules are not part of a tree, so that
 * with submodules it is always restored. `fresh`: the tree that was just checked out, if nothing has run since.
 */
export function cachedWorktree(worktree: Worktree, fresh: string | null = null): Worktree {
  const changes = new Map<string, Promise<TreeChange[]>>();
  let lastDiff: { key: string; diff: Promise<string> } | null = null;
  let held = fresh;
  return {
    ...worktree,
    async snapshot() {
      held = null;
      const tree = await worktree.snapshot();
      if (!(await worktree.hasSubmodules())) held = tree;
      return tree;
    },
    async restore(tree) {
      const isHeld = held === tree;
      held = null;
      if (!isHeld || (await worktree.isReplaced())) await worktree.restore(tree);
    },
    changes(from, to) {
      const key = `${from} ${to}`;
      const found = changes.get(key) ?? worktree.changes(from, to);
      changes.set(key, found);
      return found;
    },
    // Diffs are long, so only the last one is kept.
    diff(from, to) {
      const key = `${from} ${to}`;
      if (lastDiff?.key !== key) lastDiff = { key, diff: worktree.diff(from, to) };
      return lastDiff.diff;
    },
  };
}
