import { readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../../process/files.ts';
import { createGit, type Git, type GitSetting } from '../git.ts';

/** Where the parts of one worktree are. */
export interface WorktreePlace {
  /** Symbolic links above it resolved: git compares such paths by their text. */
  directory: string;
  /** `implement-42` */
  name: string;
  /** The repository's own `.git`, also where the user stands in a linked worktree or a submodule. */
  commonDir: string;
  /** The folder that all of it is in, but for git's own. */
  work: string;
  /** Ours alone, where no agent has business: the private index, the note of what was done. */
  stateFolder: string;
  indexFile: string;
}

const commonDirs = new WeakMap<Git, Promise<string>>();

/** Asked once: it does not change. */
function commonDirOf(repository: Git): Promise<string> {
  const asked =
    commonDirs.get(repository) ?? repository.text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
  commonDirs.set(repository, asked);
  return asked;
}

export async function placeOf(repository: Git, directory: string): Promise<WorktreePlace> {
  const commonDir = await commonDirOf(repository);
  return placeIn(commonDir, join(await realFolder(dirname(directory)), basename(directory)));
}

/** With symbolic links resolved, also where not all of it exists yet. */
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
  /** False while it is being made or removed: there is no work in it then. */
  ready: z.boolean(),
  /** Paths that the set-up made, each byte as one character; null: not looked at yet. */
  made: z.array(z.string()).nullable(),
  /** What git ignored when the set-up was done, in the same form. */
  ignored: z.array(z.string()).default([]),
});

/** What we know of a worktree of ours, written before and after each step that a kill could cut in two. */
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

/** For checkouts and snapshots, which may be of anything. */
export const LONG_MS = 900_000;

/**
 * Nothing of the user's or of an agent's making is started by our own calls, and no daemon is left behind; the whole
 * commit is checked out even where the user's own checkout is sparse. Two processes write its files, which takes a
 * fifth off the time, also on two cores.
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
 * Git for one worktree. It is given every path and never searches: with its `.git` file gone, a git that
 * looks would find the user's repository above and act on that.
 */
export function worktreeGit(
  place: WorktreePlace,
  gitDir: string,
  env: Record<string, string>,
  settings: readonly GitSetting[],
  standingIn: string = place.commonDir,
): Git {
  const binding = { gitDir, workTree: place.directory, indexFile: place.indexFile };
  return createGit(standingIn, env, binding, [...OUR_SETTINGS, ...settings]);
}

/** Git inside a submodule of a worktree; looked for there and nowhere above. */
export function submoduleGit(directory: string, env: Record<string, string>, settings: readonly GitSetting[]): Git {
  const alone = { ...env, GIT_CEILING_DIRECTORIES: directory.slice(0, directory.lastIndexOf('/')) };
  return createGit(directory, alone, undefined, [...OUR_SETTINGS, ...settings]);
}
