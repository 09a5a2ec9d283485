import { lstatSync } from 'node:fs';
import { copyFile, lstat, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../core/errors.ts';
import { makeWritable } from '../../process/files.ts';
import type { Git } from '../git.ts';
import { exactPattern, toolFilePatterns } from '../ignore-patterns.ts';
import { LONG_MS, moveAside, type WorktreePlace } from './place.ts';

/*
 * The private index of a worktree. It is kept between snapshots, so that only files with new dates are read again. File names are
 * strings with one character per byte, because they need not be UTF-8.
 */

/**
 * Updates the index to the contents of the folder. A repository that was created inside it counts as plain files; a submodule counts
 * as its commit.
 */
export async function captureIndex(git: Git, place: WorktreePlace, made: readonly string[]): Promise<void> {
  // Not by `git add --update`: in a submodule it runs git with the settings there, which a program may have written.
  const [others, changed] = await Promise.all([otherFiles(git, place, made), changedFiles(git)]);
  const update = async (how: string[], files: readonly string[]): Promise<void> => {
    const args = ['update-index', ...how, '-z', '--stdin'];
    if (files.length > 0) await git.run(args, { input: namesAsInput(files), timeoutMs: LONG_MS });
  };
  // First, because a link may have replaced their folder.
  await update(['--force-remove'], changed.deleted);
  // A file may be gone again, or may have replaced a folder.
  await update(['--add', '--remove', '--replace'], [...changed.modified, ...others]);
}

/**
 * Makes git read files again that changed since the second in which the index was written: git compares whole seconds, so a program
 * could hide a change by restoring size and date.
 */
export async function rereadRecentFiles(git: Git, { directory }: WorktreePlace, sinceMs: number): Promise<void> {
  const since = Math.floor(sinceMs / 1_000) * 1_000;
  const entries = splitNames(await git.run(['ls-files', '-z', '--stage'], { timeoutMs: LONG_MS }));
  const isRecent = (entry: string): boolean => {
    try {
      return lstatSync(bytesOf(directory, entry.slice(entry.indexOf('\t') + 1))).ctimeMs >= since;
    } catch {
      // It is gone or replaced, which git notices.
      return false;
    }
  };
  const recent = entries.filter(isRecent);
  const input = namesAsInput(recent);
  // The same entries, without the cached file attributes.
  if (recent.length > 0) await git.run(['update-index', '-z', '--index-info'], { input, timeoutMs: LONG_MS });
}

/** The changed tracked files. */
async function changedFiles(git: Git): Promise<{ modified: string[]; deleted: string[] }> {
  const asked = ['diff-files', '--name-status', '-z', '--ignore-submodules=dirty'];
  const fields = splitNames(await git.run(asked, { timeoutMs: LONG_MS }));
  const found: { modified: string[]; deleted: string[] } = { modified: [], deleted: [] };
  for (let at = 0; at + 1 < fields.length; at += 2)
    (fields[at] === 'D' ? found.deleted : found.modified).push(fields[at + 1] ?? '');
  return found;
}

/**
 * Files that are not tracked, ignored, left by tools, or made by the set-up. Git looks into no folder that is a repository of its own:
 * its `.git` is moved aside.
 */
async function otherFiles(git: Git, place: WorktreePlace, made: readonly string[]): Promise<string[]> {
  const excludes = join(place.stateFolder, 'exclude');
  const patterns = [...toolFilePatterns(place.directory), ...made.map(exactPattern)];
  await writeFile(excludes, `${patterns.join('\n')}\n`, 'latin1');
  // The repository's ignore files may override our patterns, but not what the set-up made.
  const isMade = (path: string): boolean =>
    made.some((known) => path === known || (known.endsWith('/') && path.startsWith(known)));
  const args = ['ls-files', '-z', '--others', '--exclude-standard', `--exclude-from=${excludes}`];
  for (let round = 0; ; round++) {
    const paths = splitNames(await git.run(args, { timeoutMs: LONG_MS })).filter((path) => !isMade(path));
    const repositories = paths.filter((path) => path.endsWith('/'));
    if (repositories.length === 0 || round === MOST_ROUNDS) return paths.filter((path) => !path.endsWith('/'));
    for (const path of repositories) await moveAside(place, bytesOf(place.directory, `${path}.git`));
  }
}

/** Every file that is not tracked. A folder without a tracked file is one entry, with a slash at its end. */
export async function untrackedFiles(git: Git): Promise<string[]> {
  return splitNames(await git.run(['ls-files', '-z', '--others', '--directory', '--no-empty-directory']));
}

/** Changes with every change of the index, by any program; null: there is none. */
export async function indexStamp({ indexFile }: WorktreePlace): Promise<string | null> {
  const found = await lstat(indexFile, { bigint: true }).catch(() => null);
  return found === null ? null : `${found.ino} ${found.size} ${found.ctimeNs}`;
}

/** When the index was written. */
export async function indexTimeMs({ indexFile }: WorktreePlace): Promise<number> {
  return (await lstat(indexFile).catch(() => null))?.ctimeMs ?? 0;
}

/** Rebuilds a lost or damaged index from a commit. */
export async function rebuildIndex(git: Git, { indexFile }: WorktreePlace, commit: string): Promise<void> {
  await rm(`${indexFile}.lock`, { force: true });
  await rm(indexFile, { force: true });
  await git.run(['read-tree', commit], { timeoutMs: LONG_MS });
}

/** Copies the index to git's own place, for people and agents who run git in the worktree. */
export async function shareIndex({ indexFile }: WorktreePlace, gitDir: string): Promise<void> {
  await rm(join(gitDir, 'index.lock'), { force: true });
  await copyFile(indexFile, join(gitDir, 'index'));
}

export function splitNames(listing: Buffer): string[] {
  return listing.toString('latin1').split('\0').filter(Boolean);
}

export function namesAsInput(names: readonly string[]): Buffer {
  return Buffer.from(names.map((name) => `${name}\0`).join(''), 'latin1');
}

export function readable(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8');
}

export function asBytes(name: string): string {
  return Buffer.from(name, 'utf8').toString('latin1');
}

/** A folder can hide its contents with an ignore file, which is deleted in one round, and the contents in the next. */
const MOST_ROUNDS = 10;
const IGNORE_FILE = /(?:^|\/)\.gitignore$/;

/**
 * Makes the folder equal to a tree. First writes the files of the tree, including its ignore files, then removes all other files
 * that are not ignored. `isIndexed`: the index is known to hold this tree.
 */
export async function restoreTree(
  git: Git,
  place: WorktreePlace,
  { tree, isIndexed }: { tree: string; isIndexed: boolean },
  made: readonly string[],
): Promise<void> {
  if (!isIndexed) await git.run(['read-tree', '--reset', tree], { timeoutMs: LONG_MS });
  await git.run(['checkout-index', '--all', '--force', '--index', '--quiet'], { timeoutMs: LONG_MS });
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const files = await otherFiles(git, place, made);
    if (files.length === 0) return;
    for (const path of files) await removeFile(place.directory, path);
    if (!files.some((path) => IGNORE_FILE.test(path))) return;
  }
}

function bytesOf(directory: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, 'latin1')]);
}

/** Also removes the folders above it that become empty. */
async function removeFile(directory: string, path: string): Promise<void> {
  const at = (name: string): Buffer => bytesOf(directory, name);
  try {
    await unlink(at(path));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    if (systemCode(error) !== 'EACCES' && systemCode(error) !== 'EPERM') throw error;
    await makeWritable(directory);
    await unlink(at(path));
  }
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const isGone = await rmdir(at(path.slice(0, end))).then(
      () => true,
      () => false,
    );
    if (!isGone) return;
  }
}

const IGNORED = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard'];

/**
 * Removes ignored files, except those that existed before the first call of a writer: they are not part of the branch, so tests that
 * pass because of them would fail there. Returns the removed names.
 */
export async function removeIgnored(git: Git, place: WorktreePlace, kept: readonly string[]): Promise<string[]> {
  const keptSet = new Set(kept);
  const removed: string[] = [];
  const remove = async (name: string): Promise<void> => {
    if (keptSet.has(name) || kept.some((each) => each.endsWith('/') && name.startsWith(each))) return;
    if (name.endsWith('/') && kept.some((each) => each.startsWith(name))) {
      const inside = splitNames(await git.run([...IGNORED, '--', name]));
      for (const file of inside) if (!file.endsWith('/')) await remove(file);
      return;
    }
    await rm(join(place.directory, readable(name)), { recursive: true, force: true });
    removed.push(name);
  };
  for (const name of splitNames(await git.run([...IGNORED, '--directory']))) await remove(name);
  return removed;
}
