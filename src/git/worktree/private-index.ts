import { copyFile, lstat, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../git.ts';
import { exactPattern, litterPatterns } from '../ignore-patterns.ts';
import { LONG_MS } from './git.ts';
import type { WorktreePlace } from './place.ts';

/*
 * The private index of a worktree: it is kept between snapshots, so that only files whose dates changed are read again.
 * File names are handled byte for byte, one character each, because they need not be UTF-8.
 */

const MOST_EMBEDDED = 100;

/**
 * Brings the index to what is in the folder. Of a repository that somebody began inside it, the files count as any
 * others and its own history doesn't; a submodule stays the commit that it is at.
 */
export async function captureIndex(git: Git, place: WorktreePlace, made: readonly string[]): Promise<void> {
  const [list] = await Promise.all([
    otherFiles(git, place, made),
    git.run(['add', '--update'], { timeoutMs: LONG_MS }),
  ]);
  const files = await filesInRepositories(git, place, made, list);
  if (files.length === 0) return;
  const input = Buffer.from(files.map((path) => `${path}\0`).join(''), 'latin1');
  // A file may be gone again by now, or stand where a folder was.
  await git.run(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], { input, timeoutMs: LONG_MS });
}

/** The files alone, with those of repositories that somebody began in there. */
export async function filesInRepositories(
  git: Git,
  place: WorktreePlace,
  made: readonly string[],
  paths: readonly string[],
): Promise<string[]> {
  const files = paths.filter((path) => !path.endsWith('/'));
  const repositories = paths.filter((path) => path.endsWith('/'));
  for (let n = 0; n < MOST_EMBEDDED; n++) {
    const folder = repositories.shift();
    if (folder === undefined) break;
    const inside = await otherFiles(git, place, made, folder);
    for (const path of inside) (path.endsWith('/') ? repositories : files).push(path);
  }
  return files;
}

/** Not tracked, not ignored, no litter, not made by the set-up. A folder that is a repository itself ends with a slash. */
export async function otherFiles(
  git: Git,
  place: WorktreePlace,
  made: readonly string[],
  folder = '',
  more: readonly string[] = [],
): Promise<string[]> {
  const excludes = join(place.stateFolder, 'exclude');
  if (folder === '') {
    const patterns = [...(await litterPatterns(place.directory)), ...made.map(exactPattern)];
    await writeFile(excludes, `${patterns.join('\n')}\n`, 'latin1');
  }
  const env =
    folder === ''
      ? {}
      : { GIT_WORK_TREE: join(place.directory, readable(folder)), GIT_INDEX_FILE: join(place.stateFolder, 'no-index') };
  const args = ['ls-files', '-z', '--others', ...more, '--exclude-standard', `--exclude-from=${excludes}`];
  const paths = splitNames(await git.run(args, { timeoutMs: LONG_MS, env })).map((path) => folder + path);
  // The repository's own ignore files have a say over ours, but not over what the set-up made.
  const isMade = (path: string): boolean =>
    made.some((known) => path === known || (known.endsWith('/') && path.startsWith(known)));
  return made.length === 0 ? paths : paths.filter((path) => !isMade(path));
}

/** Another one for each state of the index, because git writes it as a new file; null where there is none. */
export async function indexStamp({ indexFile }: WorktreePlace): Promise<string | null> {
  const found = await lstat(indexFile).catch(() => null);
  return found === null ? null : `${found.ino} ${found.size} ${found.mtimeMs}`;
}

/** Begins the index anew, from a commit, where it is lost or damaged. */
export async function rebuildIndex(git: Git, { indexFile }: WorktreePlace, commit: string): Promise<void> {
  await rm(`${indexFile}.lock`, { force: true });
  await rm(indexFile, { force: true });
  await git.run(['read-tree', commit], { timeoutMs: LONG_MS });
}

/** What people and agents see when they ask git in the worktree. */
export async function shareIndex({ indexFile }: WorktreePlace, gitDir: string): Promise<void> {
  await rm(join(gitDir, 'index.lock'), { force: true });
  await copyFile(indexFile, join(gitDir, 'index'));
}

export function splitNames(listing: Buffer): string[] {
  return listing.toString('latin1').split('\0').filter(Boolean);
}

export function readable(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}

export function asBytes(name: string): string {
  return Buffer.from(name, 'utf8').toString('latin1');
}
