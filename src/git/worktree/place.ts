import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Git } from '../git.ts';

/** Where the parts of one worktree are. */
export interface WorktreePlace {
  /** Symbolic links above it resolved: git compares such paths by their text. */
  directory: string;
  /** `implement-42` */
  name: string;
  /** The repository's own `.git`, also where the user stands in a linked worktree or a submodule. */
  commonDir: string;
  /** Ours alone, where no agent has business: the private index, the note of what was done. */
  stateFolder: string;
  indexFile: string;
}

export async function placeOf(repository: Git, directory: string): Promise<WorktreePlace> {
  const commonDir = await repository.text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
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
  const stateFolder = join(worktreeStates(dirname(dirname(directory))), name);
  return { directory, name, commonDir, stateFolder, indexFile: join(stateFolder, 'index') };
}

/** Of all worktrees, in the base directory. */
export function worktreeStates(base: string): string {
  return join(base, 'worktree-state');
}
