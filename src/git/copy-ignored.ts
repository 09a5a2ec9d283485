import { copyFile, lstat, realpath, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import { isInside } from '../core/paths.ts';
import { makeFolder } from '../process/files.ts';
import type { Git } from './git.ts';
import { realFolder } from './worktree/place.ts';

interface CopiedFiles {
  /** Relative to both folders. */
  copied: string[];
  /** Named without a pattern, but missing. */
  missing: string[];
  refused: { path: string; reason: string }[];
}

const PATTERN = /[*?[\]]/;
const MOST_FILES = 10_000;
/** Only a pattern that names one of them means what is in it. */
const NEVER_SEARCHED = ['.git', 'node_modules', '.agentos'];

/**
 * Copies files that git ignores but the tests need, by path or by git's patterns, from the user's checkout into a worktree. Refuses
 * paths outside of the two folders, and files that git does not ignore, because they would be committed. To be called before
 * `ignoreMadeBySetup`, because the worktree's ignore files may be older than the user's.
 */
export async function copyIgnored(
  repository: Git,
  worktree: string,
  patterns: readonly string[],
): Promise<CopiedFiles> {
  const result: CopiedFiles = { copied: [], missing: [], refused: [] };
  const wanted = new Set<string>();
  for (const pattern of patterns) {
    const refuse = (reason: string): number => result.refused.push({ path: pattern, reason });
    if (isAbsolute(pattern) || normalize(pattern).split(sep).includes('..')) {
      refuse('it is outside of the repository');
      continue;
    }
    const found = await ignoredFiles(repository, pattern);
    if (found.length === 0 && !PATTERN.test(pattern)) {
      const isThere = await lstat(join(repository.directory, pattern)).catch(() => null);
      if (isThere === null) result.missing.push(pattern);
      else refuse('git does not ignore it, so that it would be committed');
    }
    for (const path of found) wanted.add(path);
    if (wanted.size > MOST_FILES) refuse(`it stands for more than ${MOST_FILES} files`);
  }
  const [from, to] = await Promise.all([realpath(repository.directory), realpath(worktree)]);
  for (const path of [...wanted].slice(0, MOST_FILES).sort()) {
    const reason = await copyOne(from, to, path);
    if (reason === null) result.copied.push(path);
    else result.refused.push({ path, reason });
  }
  return result;
}

/** The ignored file, those in the folder, or those that the pattern matches. */
async function ignoredFiles(repository: Git, pattern: string): Promise<string[]> {
  const isPattern = PATTERN.test(pattern);
  const pathspec = isPattern ? `:(top,glob)${pattern}` : `:(top,literal)${normalize(pattern).replace(/\/+$/, '')}`;
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--', pathspec];
  const found = (await repository.run(args)).toString('utf8').split('\0').filter(Boolean);
  const skipped = NEVER_SEARCHED.filter((name) => !pattern.split('/').includes(name));
  return isPattern ? found.filter((path) => !path.split('/').some((name) => skipped.includes(name))) : found;
}

/** Returns why the file was not copied, or null. */
async function copyOne(repository: string, worktree: string, path: string): Promise<string | null> {
  const source = join(repository, path);
  const target = join(worktree, path);
  try {
    const real = await realpath(source);
    if (!isInside(repository, real)) return 'it is a link that leaves the repository';
    if (!(await stat(real)).isFile()) return 'it is no regular file';
    if (!isInside(worktree, await realFolder(dirname(target))))
      return 'its place in the worktree is behind a link that leaves it';
    await makeFolder(dirname(target));
    // Writing through a link would write wherever it points to.
    if ((await lstat(target).catch(() => null))?.isSymbolicLink()) await rm(target);
    await copyFile(real, target);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
