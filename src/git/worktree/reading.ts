import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../core/errors.ts';
import type { Paths } from '../../core/paths.ts';
import { makeFolder, namesIn, removeFolder } from '../../process/files.ts';
import { type Lock, tryLock } from '../../process/lock.ts';
import type { Git } from '../git.ts';
import { checkOut } from './open.ts';
import { LONG_MS, placeOf, type WorktreePlace, worktreeGit, worktreeStates } from './place.ts';
import { readable, shareIndex, splitNames } from './private-index.ts';
import { register, registrationOf, removeWorktree, unregister } from './registration.ts';
import { lfsSettings } from './submodules.ts';

/** The state that a question is about: `tree` is the commit's own tree, or one derived from it. */
export interface ReadState {
  commit: string;
  /** A tree, or a commit for the tree of that commit. */
  tree: string;
}

export type ReadingWorktree = ReturnType<typeof createReadingWorktree>;

interface ReadingOptions {
  /** In the user's repository. */
  repository: Git;
  paths: Pick<Paths, 'work' | 'worktrees' | 'locks'>;
  env: Record<string, string>;
  /** Called with the files that a program changed. The changes are discarded. */
  onChanged: (files: string[]) => void;
}

const NAME = /^reading-\d+$/;

/**
 * A worktree for programs that answer questions. No change in it is kept: every call starts with exactly the files of its state. One
 * process uses it at a time; the next item reuses the files.
 */
export function createReadingWorktree({ repository, paths, env, onChanged }: ReadingOptions) {
  let taken: { place: WorktreePlace; lock: Lock } | null = null;
  /** The tree that the folder is known to hold. */
  let held: string | null = null;
  const lfs = new Map<string, ReturnType<typeof lfsSettings>>();

  const prepare = async ({ commit, tree }: ReadState): Promise<{ git: Git; directory: string }> => {
    taken ??= await take(repository, paths);
    const { place } = taken;
    const asked = lfs.get(commit) ?? lfsSettings(repository, commit, env);
    lfs.set(commit, asked);
    const { settings } = await asked;
    const gitDir = await registerAnew(repository, place, commit);
    const git = worktreeGit(place, gitDir, env, settings);
    if (held !== tree) await fill(git, place, tree);
    held = null;
    await shareIndex(place, gitDir);
    return { git, directory: place.directory };
  };

  return {
    async use<T>(state: ReadState, work: (directory: string) => Promise<T>): Promise<T> {
      const { git, directory } = await prepare(state);
      try {
        return await work(directory);
      } finally {
        // If git fails, the next call checks the files out again.
        const changed = await changedFiles(git).catch(() => null);
        if (changed?.length === 0) held = state.tree;
        const noted = (changed ?? []).filter(({ isIgnored }) => !isIgnored);
        if (noted.length > 0) onChanged(noted.map(({ path }) => path));
      }
    },
    /** Makes it available to the next item. */
    release(): void {
      taken?.lock.release();
      taken = null;
      held = null;
    },
  };
}

/** Takes the first free worktree. */
async function take(
  repository: Git,
  { worktrees, locks }: ReadingOptions['paths'],
): Promise<{ place: WorktreePlace; lock: Lock }> {
  for (const folder of [locks, worktrees]) await makeFolder(folder);
  for (let n = 1; ; n++) {
    const lock = tryLock(join(locks, `reading-${n}.lock`));
    if (lock !== null) return { place: await placeOf(repository, join(worktrees, `reading-${n}`)), lock };
  }
}

/** A program may have changed settings or HEAD in git's own folder for the worktree. */
async function registerAnew(repository: Git, place: WorktreePlace, commit: string): Promise<string> {
  const known = await registrationOf(place);
  if (known !== null) await unregister(place, known);
  return register(repository, place, null, commit);
}

async function fill(git: Git, place: WorktreePlace, tree: string): Promise<void> {
  await makeFolder(place.stateFolder);
  await rm(`${place.indexFile}.lock`, { force: true });
  const isNew = !existsSync(place.indexFile);
  const make = async (): Promise<void> => {
    await checkOut(git, place, tree);
    if (!isNew) await git.run(['clean', '-ffdxq'], { timeoutMs: LONG_MS });
  };
  await make().catch(async (error: unknown) => {
    if (codeOf(error) !== 'git-failed') throw error;
    // For example, a program made a folder unwritable.
    for (const name of await readdir(place.directory))
      if (name !== '.git') await removeFolder(join(place.directory, name), place.directory);
    await make();
  });
}

const STATUS = ['status', '--porcelain', '-z', '--no-renames', '--ignored', '--untracked-files=normal'];

/** The changes in the folder since the checkout, by our private index. */
async function changedFiles(git: Git): Promise<{ path: string; isIgnored: boolean }[]> {
  const listing = await git.run([...STATUS, '--ignore-submodules=all'], { timeoutMs: LONG_MS });
  // Two letters, the second of which is about the folder, and a space.
  const entries = splitNames(listing).filter((entry) => entry[1] !== ' ');
  return entries.map((entry) => ({ path: readable(entry.slice(3)), isIgnored: entry.startsWith('!!') }));
}

export function isReadingWorktree(name: string): boolean {
  return NAME.test(name);
}

/** Removes the reading worktrees that no process uses. */
export async function removeReadingWorktrees({
  repository,
  paths,
}: Pick<ReadingOptions, 'repository' | 'paths'>): Promise<void> {
  for (const name of (await namesIn(worktreeStates(paths.work))).filter(isReadingWorktree)) {
    await makeFolder(paths.locks);
    const lock = tryLock(join(paths.locks, `${name}.lock`));
    if (lock === null) continue;
    try {
      await removeWorktree(repository, await placeOf(repository, join(paths.worktrees, name)));
    } finally {
      lock.release();
    }
  }
}
