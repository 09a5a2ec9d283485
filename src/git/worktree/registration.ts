import { existsSync, type Stats, statSync } from 'node:fs';
import { lstat, mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../../core/errors.ts';
import { makeFolder, namesIn, removeFolder, requireInside } from '../../process/files.ts';
import { unusable } from '../branches.ts';
import type { Git } from '../git.ts';
import { moveAside, readWorktreeState, type WorktreePlace, writeWorktreeState } from './place.ts';
import { pinsOf, removePins } from './trees.ts';

/*
 * A worktree is registered by a folder of git's own (`.git/worktrees/<name>` with `gitdir`, `commondir` and `HEAD`) and a file `.git`
 * in the worktree that points to it. An agent in the worktree can delete or change all of these, so they can be made again at any
 * time; that is also how they are made first. `git worktree` takes no lock: of two of its calls at once, one may remove what the other
 * is making. Here, each process changes the folder of its own item only.
 */

/** Every worktree that git knows of: its own folder for it, and the path of the worktree. */
export async function registrations(commonDir: string): Promise<{ gitDir: string; directory: string }[]> {
  const parent = join(commonDir, 'worktrees');
  const all = await Promise.all(
    (await namesIn(parent)).map(async (name) => {
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
 * Makes what is missing or changed, and returns git's folder for the worktree. Files in the worktree stay unchanged; a repository
 * that was created there is moved aside, not deleted. `head`: as in a file `HEAD`, a branch or a commit.
 */
export async function register(
  repository: Git,
  place: WorktreePlace,
  known: string | null,
  head: string,
): Promise<string> {
  const ours = join(place.directory, '.git');
  const isKnown = known !== null && (await worktreeFileOf(known)) === ours;
  const gitDir = isKnown ? known : ((await registrationOf(place)) ?? (await newGitDir(place)));
  await makeFolder(place.directory);
  const text = `gitdir: ${gitDir}`;
  const found = await lstat(ours).catch(() => null);
  if (found !== null && !(found.isFile() && (await textOf(ours)) === text)) await moveAside(place, ours);
  await keep(ours, text);
  for (let attempt = 1; ; attempt++) {
    try {
      await makeFolder(gitDir);
      await keep(join(gitDir, 'commondir'), '../..');
      await keep(join(gitDir, 'HEAD'), head);
      await keep(join(gitDir, 'gitdir'), ours);
      break;
    } catch (error) {
      // A git that cleans up removes a folder that does not name its worktree yet.
      if (systemCode(error) !== 'ENOENT' || attempt === MOST_ATTEMPTS) throw error;
    }
  }
  if (existsSync(join(place.commonDir, 'reftable'))) await keepHeadInTable(repository, gitDir, head);
  return gitDir;
}

const MOST_ATTEMPTS = 5;

/** Where git keeps refs in tables, HEAD is in one too, and the file of that name only stands for it. */
async function keepHeadInTable(repository: Git, gitDir: string, head: string): Promise<void> {
  await makeFolder(join(gitDir, 'reftable'));
  const env = { GIT_DIR: gitDir };
  const [, branch] = /^ref: (.+)$/.exec(head) ?? [];
  if (branch === undefined) await repository.run(['update-ref', '--no-deref', 'HEAD', head], { env });
  else if ((await repository.answer(['symbolic-ref', '--quiet', 'HEAD'], { env })) !== branch)
    await repository.run(['symbolic-ref', 'HEAD', branch], { env });
}

/** The path of the worktree's `.git` file; null: the folder does not name it. */
async function worktreeFileOf(gitDir: string): Promise<string | null> {
  const text = await textOf(join(gitDir, 'gitdir'));
  return text === '' ? null : resolve(gitDir, text);
}

async function newGitDir({ commonDir, name }: WorktreePlace): Promise<string> {
  const parent = join(commonDir, 'worktrees');
  for (let n = 1; ; n++) {
    const gitDir = join(parent, n === 1 ? name : `${name}-${n}`);
    // Git removes the folder above with its last worktree.
    await makeFolder(parent);
    const isMade = await mkdir(gitDir).then(
      () => true,
      (error: unknown) => {
        if (systemCode(error) !== 'EEXIST') throw error;
        return false;
      },
    );
    if (isMade) return gitDir;
  }
}

async function keep(path: string, text: string): Promise<void> {
  if ((await textOf(path)) !== text) await writeFile(path, `${text}\n`);
}

async function textOf(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trimEnd();
}

/** First what names the worktree: from then on git passes the folder over. */
export async function unregister({ commonDir }: WorktreePlace, gitDir: string): Promise<void> {
  requireInside(gitDir, commonDir);
  await rm(join(gitDir, 'gitdir'), { force: true });
  await removeFolder(gitDir, commonDir);
}

/** Why a person locked the worktree; empty: they did not say; null: it is not locked. */
export async function lockedBecause(gitDir: string): Promise<string | null> {
  return readFile(join(gitDir, 'locked'), 'utf8').then(
    (text) => text.trim(),
    () => null,
  );
}

/** A person's lock is respected, whatever its reason. */
export async function requireUnlocked(gitDir: string, directory: string): Promise<void> {
  const reason = await lockedBecause(gitDir);
  if (reason !== null) throw unusable(directory, `It is locked${reason ? `: ${reason}` : ''}.`);
}

/** Removes a worktree, or what is left of one, with its contents, registration, pins and notes, but not its branch. */
export async function removeWorktree(repository: Git, place: WorktreePlace): Promise<void> {
  const { directory, stateFolder, work } = place;
  const state = await readWorktreeState(place);
  await removeStaleGitLocks(place, [state?.branch ?? null]);
  const gitDir = await registrationOf(place);
  if (gitDir !== null) await requireUnlocked(gitDir, directory);
  // From here on its contents don't count, even if we are killed.
  if (state !== null) await writeWorktreeState(place, { ...state, ready: false });
  await makeFolder(stateFolder);
  for (const folder of [dirname(directory), stateFolder]) requireInside(folder, work);
  // In one move where that can be: nobody meets half of it.
  const aside = join(stateFolder, `removed-${process.pid}-${Date.now()}`);
  await rename(directory, aside).catch(() => removeFolder(directory, work));
  if (gitDir !== null) {
    await unregister(place, gitDir);
    await rmdir(dirname(gitDir)).catch(() => undefined);
  }
  await removePins(repository, place.name);
  await removeFolder(stateFolder, work);
}

/*
 * Git locks a ref by a file `<ref>.lock` beside it, for milliseconds. A git that is killed leaves it behind, and every later one
 * refuses to touch that ref.
 */

const STALE_MS = 5_000;
const LOOK_EVERY_MS = 50;

/**
 * Removes what killed gits left locked of one item: its branches, its pins, git's folder of its worktree; and the lists of refs,
 * which are everybody's. The caller holds the lock of the item.
 */
export async function removeStaleGitLocks(place: WorktreePlace, branches: readonly (string | null)[]): Promise<void> {
  const { commonDir, name } = place;
  const gitDir = await registrationOf(place);
  const folders = [join(commonDir, pinsOf(name)), ...(gitDir === null ? [] : [gitDir])];
  const inFolders = folders.map(async (folder) =>
    (await namesIn(folder)).filter((file) => file.endsWith('.lock')).map((file) => join(folder, file)),
  );
  const ofBranches = branches.flatMap((branch) => (branch === null ? [] : [join('refs', 'heads', `${branch}.lock`)]));
  const packed = join(commonDir, 'packed-refs.lock');
  const known = [...ofBranches, join('reftable', 'tables.list.lock')].map((file) => join(commonDir, file));
  await Promise.all([...known, ...(await Promise.all(inFolders)).flat()].map(removeIfStale));
  // Git writes the new list beside the old one, and refuses to while an earlier attempt is there.
  if (await removeIfStale(packed)) await rm(join(commonDir, 'packed-refs.new'), { force: true });
}

/** By its age, or as long as we have seen it: the clock may have been set back. A lock that was taken anew is in use. */
async function removeIfStale(lock: string): Promise<boolean> {
  const stampOf = (found: Stats | undefined) => found && `${found.ino} ${found.ctimeMs}`;
  const beganAt = performance.now();
  const first = stampOf(statSync(lock, { throwIfNoEntry: false }));
  for (;;) {
    const found = statSync(lock, { throwIfNoEntry: false });
    if (found === undefined || stampOf(found) !== first) return false;
    if (Math.max(Date.now() - found.mtimeMs, performance.now() - beganAt) >= STALE_MS) break;
    await sleep(LOOK_EVERY_MS);
  }
  await rm(lock, { force: true });
  return true;
}
