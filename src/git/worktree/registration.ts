import { lstat, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { systemCode } from '../../core/errors.ts';
import { makeFolder } from '../../process/files.ts';
import { unusable } from '../branches.ts';
import type { WorktreePlace } from './place.ts';

/*
 * A worktree is registered by a folder of git's own (`.git/worktrees/<name>` with `gitdir`, `commondir` and `HEAD`) and a file `.git`
 * in the worktree that points to it. An agent in the worktree can delete or change all of these.
 */

const MOST_NAMES = 1_000;

/** Every worktree that git knows of: its own folder for it, and the path of the worktree. */
export async function registrations(commonDir: string): Promise<{ gitDir: string; directory: string }[]> {
  const parent = join(commonDir, 'worktrees');
  const names = await readdir(parent).catch(() => [] as string[]);
  const all = await Promise.all(
    names.map(async (name) => {
      const gitDir = join(parent, name);
      const file = await worktreeFileOf(gitDir);
      return file === null ? [] : [{ gitDir, directory: file.replace(/[/\\]\.git$/, '') }];
    }),
  );
  return all.flat();
}

export async function registrationOf({ commonDir, directory }: WorktreePlace): Promise<string | null> {
  const all = await registrations(commonDir);
  return all.find((entry) => entry.directory === directory)?.gitDir ?? null;
}

/**
 * Repairs what is missing or changed, and returns git's folder for the worktree. Files in the worktree stay unchanged; a repository
 * that was created there is moved aside, not deleted. Without a branch, HEAD stays unchanged too.
 */
export async function repairRegistration(
  place: WorktreePlace,
  known: string | null,
  branch: string | null,
): Promise<string> {
  const ours = join(place.directory, '.git');
  const isKnown = known !== null && (await worktreeFileOf(known)) === ours;
  const gitDir = isKnown ? known : ((await registrationOf(place)) ?? (await newGitDir(place)));
  await keep(join(gitDir, 'gitdir'), ours, (text) => resolve(gitDir, text) === ours);
  await keep(join(gitDir, 'commondir'), '../..', (text) => resolve(gitDir, text) === place.commonDir);
  if (branch !== null) await keep(join(gitDir, 'HEAD'), `ref: refs/heads/${branch}`);
  await makeFolder(place.directory);
  const pointsHere = (text: string): boolean =>
    text.startsWith('gitdir: ') && resolve(place.directory, text.slice('gitdir: '.length)) === gitDir;
  const isFile = await lstat(ours).then(
    (found) => found.isFile(),
    () => null,
  );
  if (isFile === false || (isFile && !pointsHere(await textOf(ours)))) await moveAside(place, ours);
  await keep(ours, `gitdir: ${gitDir}`, pointsHere);
  return gitDir;
}

/** The path of the worktree's `.git` file; null: the folder does not name it. */
async function worktreeFileOf(gitDir: string): Promise<string | null> {
  const text = await textOf(join(gitDir, 'gitdir'));
  return text === '' ? null : resolve(gitDir, text);
}

async function newGitDir({ commonDir, name }: WorktreePlace): Promise<string> {
  const parent = join(commonDir, 'worktrees');
  await makeFolder(parent);
  for (let n = 1; n < MOST_NAMES; n++) {
    const gitDir = join(parent, n === 1 ? name : `${name}-${n}`);
    try {
      await mkdir(gitDir);
      return gitDir;
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      // The files in it were removed, but not the folder.
      if ((await textOf(join(gitDir, 'gitdir'))) === '' && (await readdir(gitDir)).length === 0) return gitDir;
    }
  }
  return join(parent, name);
}

async function keep(
  path: string,
  text: string,
  isRight: (found: string) => boolean = (found) => found === text,
): Promise<void> {
  if (!isRight(await textOf(path))) await writeFile(path, `${text}\n`);
}

async function textOf(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trimEnd();
}

async function moveAside({ stateFolder }: WorktreePlace, path: string): Promise<void> {
  const aside = join(stateFolder, 'aside');
  await makeFolder(aside);
  const taken = (await readdir(aside)).length;
  await rename(path, join(aside, `git-${taken + 1}`));
}

/** Git's lock reason while it makes a worktree. A killed git leaves it behind. */
const BEING_MADE = 'initializing';

/** Whether git left a worktree half made. */
export async function isBeingMade(gitDir: string): Promise<boolean> {
  return (await lockReason(gitDir)) === BEING_MADE;
}

/** Why a person locked the worktree; empty: they did not say; null: it is not locked. */
export async function lockedBecause(gitDir: string): Promise<string | null> {
  const reason = await lockReason(gitDir);
  return reason === BEING_MADE ? null : reason;
}

/** A person's lock is respected, whatever its reason. */
export async function requireUnlocked(gitDir: string, directory: string): Promise<void> {
  const reason = await lockedBecause(gitDir);
  if (reason !== null) throw unusable(directory, `It is locked${reason ? `: ${reason}` : ''}.`);
}

async function lockReason(gitDir: string): Promise<string | null> {
  return readFile(join(gitDir, 'locked'), 'utf8').then(
    (text) => text.trim(),
    () => null,
  );
}
