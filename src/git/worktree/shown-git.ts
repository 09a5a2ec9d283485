import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../process/files.ts';
import type { Git } from '../git.ts';
import { gitConfigWith } from '../item-environment.ts';
import { placeOf } from './place.ts';
import { registrations } from './registration.ts';

/** What git in a worktree needs of the repository, for programs that must not see the rest of it. */
export interface ShownGit {
  /** The repository's own `.git`. */
  commonDir: string;
  /** What of it git reads, and where else objects are. */
  parts: string[];
  /** Its configuration without credentials, commands and the like: a file outside of the worktree, to be shown instead. */
  config: string;
  /** A folder in which nothing is, beside it. */
  empty: string;
  /** Of this repository, but for the worktree: their files are no business of its programs. */
  otherCheckouts: string[];
}

/** Objects and references, and the worktree's own folder; not hooks, logs, other worktrees, or what tools put there. */
const PARTS = ['HEAD', 'objects', 'refs', 'packed-refs', 'reftable', 'shallow', 'info'];

/** How the repository is stored, and where it comes from. */
const SETTINGS = String.raw`^(core\.(repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf)|extensions\..*|user\.(name|email)|remote\..*\.(url|fetch)|branch\..*\.(remote|merge))$`;

/** Of repositories: all worktrees of an item are shown the same one. */
const configs = new WeakMap<Git, Promise<string>>();

/** Looks at what may change each time it is called, and asks git once. */
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

/** Other folders of objects that this one borrows from; nothing else that a repository of a stranger's making could name. */
function alternatesOf(objects: string): string[] {
  try {
    const lines = readFileSync(join(objects, 'info', 'alternates'), 'utf8').split('\n');
    const named = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => resolve(objects, line));
    return named.filter((folder) => basename(folder) === 'objects' && existsSync(join(folder, '..', 'HEAD')));
  } catch {
    return [];
  }
}
