import { codeOf } from '../../core/errors.ts';
import type { Git } from '../git.ts';
import type { GitSetting } from './git.ts';

/** Files stay the small pointers that git has of them. */
const WITHOUT_LFS: readonly GitSetting[] = [
  ['filter.lfs.process', ''],
  ['filter.lfs.smudge', ''],
  ['filter.lfs.clean', ''],
  ['filter.lfs.required', 'false'],
];

const WARNING =
  'The repository keeps files with Git LFS, which is not installed here: in the worktree they are pointers, not content.';

/**
 * Git LFS works by itself where it is installed. Where it isn't, a checkout would fail as soon as the user's settings
 * ask for it.
 */
export async function lfsSettings(
  repository: Git,
  commit: string,
  names: readonly string[],
): Promise<{ settings: readonly GitSetting[]; warning: string | null }> {
  const attributes = names.filter((name) => name === '.gitattributes' || name.endsWith('/.gitattributes'));
  if (attributes.length === 0) return { settings: [], warning: null };
  const pathspec = ':(glob)**/.gitattributes';
  const isUsed = await works(repository, ['grep', '--quiet', '--fixed-strings', 'filter=lfs', commit, '--', pathspec]);
  if (!isUsed || (await works(repository, ['lfs', 'version']))) return { settings: [], warning: null };
  return { settings: WITHOUT_LFS, warning: WARNING };
}

async function works(git: Git, args: string[]): Promise<boolean> {
  try {
    await git.run(args);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'git-failed') throw error;
    return false;
  }
}
