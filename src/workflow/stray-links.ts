import { posix } from 'node:path';
import type { TreeChange, Worktree } from '../git/worktree/worktree.ts';

/** Links among the changes that point out of the repository: on another machine there is nothing behind them. */
export async function strayLinks(
  worktree: Pick<Worktree, 'read'>,
  tree: string,
  changes: readonly TreeChange[],
): Promise<string[]> {
  const stray: string[] = [];
  for (const { path } of changes.filter((change) => change.isLink)) {
    const target = ((await worktree.read(tree, path)) ?? '').trim();
    const end = posix.join(posix.dirname(path), target);
    if (posix.isAbsolute(target) || end === '..' || end.startsWith('../')) stray.push(path);
  }
  return stray;
}
