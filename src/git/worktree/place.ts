import { readdir, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../process/files.ts';
import { createGit, type Git, type GitSetting } from '../git.ts';

/** The paths of one worktree. */
export interface WorktreePlace {
  /** With symbolic links resolved, because git compares such paths as text. */
  directory: string;
  /** `implement-42` */
  name: string;
  /** The repository's own `.git`, even if the user works in a linked worktree or a submodule. */
  commonDir: string;
  /** The folder that contains everything except git's own files. */
  work: string;
  /** Only for us, not for agents: the private index and our notes. */
  stateFolder: string;
  indexFile: string;
}

export async function placeOf(repository: Git, directory: string): Promise<WorktreePlace> {
  const commonDir = await repository.text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
  return placeIn(commonDir, join(await realFolder(dirname(directory)), basename(directory)));
}

/** Resolves symbolic links, even if a part of the path does not exist yet. */
export async function realFolder(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null || path === dirname(path)) return real ?? path;
  return join(await realFolder(dirname(path)), basename(path));
}

export function placeIn(commonDir: string, directory: string): WorktreePlace {
  const name = basename(directory);
  const work = dirname(dirname(directory));
  const stateFolder = join(worktreeStates(work), name);
  return { directory, name, commonDir, work, stateFolder, indexFile: join(stateFolder, 'index') };
}

/** Of all worktrees, in the base directory. */
export function worktreeStates(base: string): string {
  return join(base, 'worktree-state');
}

const stateSchema = z.object({
  branch: z.string(),
  /** The commit that the branch began at. */
  start: z.string(),
  /** Where we last saw or put the branch. */
  head: z.string(),
  /** False while it is being made or removed. Then it contains no work. */
  ready: z.boolean(),
  /** What was untracked when the set-up was done, each byte as one character; null: not looked at yet. */
  made: z.array(z.string()).nullable(),
});

/** Our notes about a worktree, written before and after each step that a kill could interrupt. */
export type WorktreeState = z.infer<typeof stateSchema>;

export async function readWorktreeState(place: WorktreePlace): Promise<WorktreeState | null> {
  try {
    return stateSchema.parse(JSON.parse(await readFile(stateFile(place), 'utf8')));
  } catch {
    return null;
  }
}

export async function writeWorktreeState(place: WorktreePlace, state: WorktreeState): Promise<void> {
  await makeFolder(place.stateFolder);
  const temporary = `${stateFile(place)}.new`;
  await writeFile(temporary, JSON.stringify(state, null, 2));
  await rename(temporary, stateFile(place));
}

function stateFile({ stateFolder }: WorktreePlace): string {
  return join(stateFolder, 'state.json');
}

/** Keeps what is in the way of ours: a repository that was made in the worktree. */
export async function moveAside({ stateFolder }: WorktreePlace, path: string | Buffer): Promise<void> {
  const aside = join(stateFolder, 'aside');
  await makeFolder(aside);
  await rename(path, join(aside, `git-${(await readdir(aside)).length + 1}`));
}

/** For checkouts and snapshots, which can be large. */
export const LONG_MS = 900_000;

/**
 * Our calls start no programs of the user or an agent, and leave no daemon behind. The whole commit is checked out, even if the user's
 * checkout is sparse. Two processes write the files, which saves a fifth of the time, even on two cores.
 */
const OUR_SETTINGS: readonly GitSetting[] = [
  ['core.splitIndex', 'false'],
  // A file with the same size and an older date is not the same file.
  ['core.trustctime', 'true'],
  ['core.checkStat', 'default'],
  ['core.ignoreStat', 'false'],
  ['core.sparseCheckout', 'false'],
  ['index.sparse', 'false'],
  ['checkout.workers', '2'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.addEmbeddedRepo', 'false'],
];

/**
 * Git for one worktree, with explicit paths: if the `.git` file is missing, git would otherwise find the user's repository
 * above it.
 */
export function worktreeGit(
  place: WorktreePlace,
  gitDir: string,
  env: Record<string, string>,
  settings: readonly GitSetting[],
  standingIn: string = place.commonDir,
): Git {
  const paths = { GIT_DIR: gitDir, GIT_WORK_TREE: place.directory, GIT_INDEX_FILE: place.indexFile };
  return createGit(standingIn, env, { place: paths, settings: [...OUR_SETTINGS, ...settings] });
}

/** Git inside a submodule of a worktree. It does not search above it. */
export function submoduleGit(directory: string, env: Record<string, string>, settings: readonly GitSetting[]): Git {
  const alone = { ...env, GIT_CEILING_DIRECTORIES: directory.slice(0, directory.lastIndexOf('/')) };
  return createGit(directory, alone, { settings: [...OUR_SETTINGS, ...settings] });
}
