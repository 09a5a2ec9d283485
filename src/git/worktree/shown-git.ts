import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../process/files.ts';
import type { Git } from '../git.ts';
import { gitConfigWith } from '../item-environment.ts';
import { placeOf } from './place.ts';
import { registrations } from './registration.ts';

/** The parts of the repository that git in a worktree needs, for programs that must not see the rest. */
export interface ShownGit {
  /** The repository's own `.git`. */
  commonDir: string;
  /** The parts that git reads, and other folders with objects. */
  parts: string[];
  /** A copy of its configuration without credentials and commands, to be shown instead. */
  config: string;
  /** An empty folder. */
  empty: string;
  /** The other checkouts of this repository, which programs must not see. */
  otherCheckouts: string[];
}

/** Objects and refs, but not hooks, logs, other worktrees, or files of tools. */
const PARTS = ['HEAD', 'objects', 'refs', 'packed-refs', 'reftable', 'shallow', 'info'];

/** The settings of the copy: how the repository is stored, and its remotes. */
const SETTINGS = String.raw`^(core\.(repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf)|extensions\..*|user\.(name|email)|remote\..*\.(url|fetch)|branch\..*\.(remote|merge))$`;

/** By repository: cached, because all worktrees of an item use the same copy. */
const configs = new WeakMap<Git, Promise<string>>();

/** The returned function reads what may change at each call. Git is asked only once. */
export async function createShownGit(repository: Git, worktree: string): Promise<() => Promise<ShownGit>> {
  const { commonDir, directory, stateFolder } = await placeOf(repository, worktree);
  const config = join(stateFolder, 'git-config');
  const empty = join(stateFolder, 'empty');
  await makeFolder(empty);
  const settings = configs.get(repository) ?? gitConfigWith(repository, SETTINGS, join(commonDir, 'config'));
  configs.set(repository, settings);
  await writeFile(config, await settings);
  const main = commonDir.endsWith('/.git') ? [dirname(commonDir)] : [];
  const shared = [...PARTS.map((name) => join(commonDir, name)), ...alternatesOf(join(commonDir, 'objects'))];
  return async () => {
    const all = await registrations(commonDir);
    const own = all.filter((entry) => entry.directory === directory).map(({ gitDir }) => gitDir);
    const others = all.map((entry) => entry.directory).filter((other) => other !== directory);
    return { commonDir, parts: [...shared, ...own], config, empty, otherCheckouts: [...main, ...others] };
  };
}

/** Alternate object folders. Anything else that a stranger's repository may name there is ignored. */
function alternatesOf(objects: string): string[] {
  try {
    const lines = readFileSync(join(objects, 'info', 'alternates'), 'utf8').split('\n');
    const named = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => resolve(objects, line));
    return named.filter((folder) => basename(folder) === 'objects' && existsSync(join(folder, '..', 'HEAD')));
  } catch {
    return [];
  }
}
