import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import { shellWord } from '../core/shell-word.ts';
import type { Kept } from '../core/summary.ts';
import { createGit } from '../workspace/git.ts';
import type { Project } from '../workspace/project.ts';

/** The worktree that an unfinished implementation leaves behind, or null. */
export async function keptOf({ paths, childEnv }: Project, id: ItemId): Promise<Kept | null> {
  const directory = paths.worktree('implement', id);
  if (!existsSync(directory)) return null;
  const branch = await createGit(directory, { ...childEnv, GIT_CEILING_DIRECTORIES: paths.worktrees })
    .text(['branch', '--show-current'])
    .catch(() => '');
  const repository = shellWord(paths.repository);
  const remove = `git -C ${repository} worktree remove --force ${shellWord(directory)}`;
  return {
    look: `cd ${shellWord(relative(process.cwd(), directory) || '.')} && git status`,
    discard: branch === '' ? remove : `${remove} && git -C ${repository} branch -D ${shellWord(branch)}`,
  };
}
