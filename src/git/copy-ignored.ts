import { copyFile, glob, lstat, readdir, realpath, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { withoutSecrets } from '../core/keys.ts';
import { isInside } from '../core/paths.ts';
import { makeFolder } from '../process/files.ts';
import { createGit } from './git.ts';
import { realFolder } from './worktree/place.ts';

export interface CopiedFiles {
  /** Relative to both folders. */
  copied: string[];
  /** Named without a pattern, but missing. */
  missing: string[];
  refused: { path: string; reason: string }[];
}

const PATTERN = /[*?[\]{}]/;
const MOST_FILES = 10_000;
/** `**` does not descend into these. */
const NEVER_SEARCHED = new Set(['.git', 'node_modules', '.agentos']);

/**
 * Copies files that git ignores but the tests need, by path or by pattern, from the user's checkout into a worktree. Refuses paths
 * outside of the two folders, and files that git does not ignore, because they would be committed. To be called before
 * `ignoreMadeBySetup`, because the worktree's ignore files may be older than the user's.
 */
export async function copyIgnored(
  repository: string,
  worktree: string,
  patterns: readonly string[],
  env: Record<string, string> = withoutSecrets(process.env, [], []),
): Promise<CopiedFiles> {
  const result: CopiedFiles = { copied: [], missing: [], refused: [] };
  const wanted = new Set<string>();
  for (const pattern of patterns) {
    const refuse = (reason: string): number => result.refused.push({ path: pattern, reason });
    if (isAbsolute(pattern) || normalize(pattern).split(sep).includes('..')) {
      refuse('it is outside of the repository');
      continue;
    }
    const found = PATTERN.test(pattern) ? await matches(repository, pattern) : await filesAt(repository, pattern);
    if (found.length === 0 && !PATTERN.test(pattern)) result.missing.push(pattern);
    for (const path of found) wanted.add(path);
    if (wanted.size > MOST_FILES) refuse(`it stands for more than ${MOST_FILES} files`);
  }
  const files = [...wanted].slice(0, MOST_FILES).sort();
  const ignored = await ignoredOf(repository, files, env);
  const [from, to] = await Promise.all([realpath(repository), realpath(worktree)]);
  for (const path of files) {
    const reason = ignored.has(path)
      ? await copyOne(from, to, path)
      : 'git does not ignore it, so that it would be committed';
    if (reason === null) result.copied.push(path);
    else result.refused.push({ path, reason });
  }
  return result;
}

/** The file, or every file in the folder. */
async function filesAt(repository: string, path: string): Promise<string[]> {
  const plain = normalize(path).replace(/[/\\]+$/, '');
  const found = await lstat(join(repository, plain)).catch(() => null);
  if (found === null) return [];
  if (!found.isDirectory()) return [plain];
  const entries = await readdir(join(repository, plain), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(repository, join(entry.parentPath, entry.name)))
    .slice(0, MOST_FILES + 1);
}

async function matches(repository: string, pattern: string): Promise<string[]> {
  const named = new Set(pattern.split('/'));
  const exclude = (entry: { name: string }): boolean => NEVER_SEARCHED.has(entry.name) && !named.has(entry.name);
  const found: string[] = [];
  for await (const entry of glob(pattern, { cwd: repository, withFileTypes: true, exclude })) {
    if (!entry.isDirectory()) found.push(relative(repository, join(entry.parentPath, entry.name)));
    if (found.length > MOST_FILES) break;
  }
  return found;
}

async function ignoredOf(
  repository: string,
  files: readonly string[],
  env: Record<string, string>,
): Promise<ReadonlySet<string>> {
  if (files.length === 0) return new Set();
  const input = files.map((path) => `${path}\0`).join('');
  const listing = await createGit(repository, env).answer(['check-ignore', '-z', '--stdin'], { input });
  return new Set((listing ?? '').split('\0').filter(Boolean));
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
