import { AgentosError } from '../core/errors.ts';
import type { Git } from './git.ts';
import { isAncestor } from './worktree/branch.ts';

/** A branch that an item builds on. */
export interface Foundation {
  id: string;
  commit: string;
}

/**
 * The commit to begin at: the user's own, with the branches in it that the item builds on and that are not merged yet.
 * Nothing is checked out for it: the merge is made among git's objects.
 */
export async function stackedBase(git: Git, head: string, foundations: readonly Foundation[]): Promise<string> {
  let base = head;
  for (const { id, commit } of foundations) {
    if (await isAncestor(git, commit, base)) continue;
    base = (await isAncestor(git, base, commit)) ? commit : await merge(git, base, { id, commit });
  }
  return base;
}

async function merge(git: Git, base: string, { id, commit }: Foundation): Promise<string> {
  const tree = await git.text(['merge-tree', '--write-tree', base, commit]).catch(async (error: unknown) => {
    const files = await changedInBoth(git, base, commit);
    throw new AgentosError({ code: 'dependency-conflict', on: id, files }, { cause: error });
  });
  const id40 = tree.split('\n')[0] ?? '';
  const message = `Merge what ${id} needs`;
  // The same commit whenever it is made: what was done for it is not done again.
  const date = `@${await git.text(['show', '--no-patch', '--format=%ct', commit])} +0000`;
  const env = { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  return git.text(['commit-tree', id40, '-p', base, '-p', commit, '-m', message], { env });
}

async function changedInBoth(git: Git, ours: string, theirs: string): Promise<string[]> {
  const from = await git.text(['merge-base', ours, theirs]);
  const changed = async (to: string): Promise<string[]> =>
    (await git.text(['diff', '--name-only', '-z', from, to])).split('\0').filter((path) => path !== '');
  const others = new Set(await changed(theirs));
  return (await changed(ours)).filter((path) => others.has(path));
}
