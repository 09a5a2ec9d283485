import type { TreeChange, Worktree } from '../git/worktree/worktree.ts';

/**
 * A worktree of which nothing is asked twice. What is between two trees never changes. And after a snapshot the folder is
 * that tree until it is restored: this is done before something runs in it, and nothing runs in it otherwise. Only the
 * files of submodules are no part of a tree, so that where there are any it is always restored. `fresh` is the tree that
 * was checked out just now, if nothing has run since.
 */
export function rememberingWorktree(worktree: Worktree, fresh: string | null = null): Worktree {
  const changes = new Map<string, Promise<TreeChange[]>>();
  let lastDiff: { key: string; diff: Promise<string> } | null = null;
  let there = fresh;
  return {
    ...worktree,
    async snapshot() {
      there = null;
      const tree = await worktree.snapshot();
      if (!(await worktree.hasSubmodules())) there = tree;
      return tree;
    },
    async restore(tree) {
      const isThere = there === tree;
      there = null;
      if (!isThere || (await worktree.isReplaced())) await worktree.restore(tree);
    },
    changes(from, to) {
      const key = `${from} ${to}`;
      const found = changes.get(key) ?? worktree.changes(from, to);
      changes.set(key, found);
      return found;
    },
    // One is long enough.
    diff(from, to) {
      const key = `${from} ${to}`;
      if (lastDiff?.key !== key) lastDiff = { key, diff: worktree.diff(from, to) };
      return lastDiff.diff;
    },
  };
}
