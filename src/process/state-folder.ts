import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { Paths } from '../core/paths.ts';
import { makeFolder, namesIn } from './files.ts';
import { isProcessAlive } from './process-tree.ts';

const IGNORE = '.gitignore';

/** What we keep in a state folder. */
export const STATE_ENTRIES: ReadonlySet<string> = new Set(
  [
    'runs checkpoints locks homes caches undone worktrees worktree-state batches compile-cache forge keys.json hub',
    'machine watch.json',
  ].flatMap((names) => names.split(' ')),
);

/**
 * Whatever is in a state folder is believed, and removed by name. So one that comes with the repository, is another user's, or
 * leads elsewhere is not used at all; one that a person named may be a link. What worktrees and homes hold is not looked at.
 */
export async function requireSafeState(
  base: string,
  { isGiven, isTracked }: { isGiven: boolean; isTracked: () => Promise<boolean> },
): Promise<void> {
  const found = await lstat(base).catch(() => null);
  // That a file is in its place is found when it is to be written.
  if (found === null || found.isFile()) return;
  const refuse = (directory: string, reason: string): never => {
    throw new AgentosError({ code: 'state-unsafe', directory, reason });
  };
  if (found.isSymbolicLink() && !isGiven) refuse(base, 'it is a link');
  if (found.uid !== userId()) refuse(base, `it belongs to another user (${found.uid})`);
  const link = await linkIn(base);
  if (link !== null) refuse(base, `${link} in it is a link`);
  if (await isTracked()) refuse(base, 'files in it are committed to the repository');
}

/** An entry of ours that is a link, relative to the folder. What items hold is theirs. */
async function linkIn(base: string): Promise<string | null> {
  for (const folder of [base, ...[...STATE_ENTRIES].map((name) => join(base, name))]) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const link = entries.find((entry) => entry.isSymbolicLink());
    if (link !== undefined) return join(folder, link.name).slice(base.length + 1);
  }
  return null;
}

/** Makes the state folder, with the `.gitignore` that keeps it out of the user's commits. */
export async function prepareStateFolder(directory: string): Promise<void> {
  await makeFolder(directory).catch((error: unknown) => {
    throw unwritable(directory, error);
  });
  // It holds designs, logs and answers; where the mode can't be set, the folder is not ours, and that is found elsewhere.
  await chmod(directory, 0o700).catch(() => undefined);
  const entries = await readdir(directory);
  if (entries.includes(IGNORE)) return;
  // Our ignore file would hide a user's own files from git. Ours without it are there when a run continued after the folder
  // was deleted.
  if (entries.some((name) => !STATE_ENTRIES.has(name) && !isTemporaryFile(name))) {
    throw new AgentosError({ code: 'state-unwritable', directory, reason: 'it holds files that are not ours' });
  }
  await writeFile(join(directory, IGNORE), '*\n', { flag: 'wx' }).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw unwritable(directory, error);
  });
}

function unwritable(directory: string, error: unknown): AgentosError {
  const reason = systemCode(error) ?? String(error);
  return new AgentosError({ code: 'state-unwritable', directory, reason }, { cause: error });
}

export function userId(): number {
  return process.getuid?.() ?? 0;
}

type Place = Pick<Paths, 'repository' | 'base' | 'work' | 'worktrees' | 'homes' | 'caches'>;

/** In a folder for worktrees: the repository that it is for. */
const OWNER = 'repository';

/** Makes the folder for worktrees where it is not the base directory. */
export async function prepareWorkFolder(paths: Place): Promise<void> {
  const { repository, base, work } = paths;
  if (work === base) return;
  const own = dirname(work);
  try {
    await mkdir(own, { mode: 0o700 }).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error;
    });
    await requireOwnFolder(paths);
    await makeFolder(work);
    await writeFile(join(work, OWNER), `${repository}\n`);
  } catch (error) {
    if (error instanceof AgentosError) throw error;
    throw unwritable(own, error);
  }
}

/** Any user may write beside the folder for worktrees: one of another user's, or a link, is neither used nor cleaned. */
export async function requireOwnFolder({ base, work }: Pick<Place, 'base' | 'work'>): Promise<void> {
  const own = dirname(work);
  const found = work === base ? null : await lstat(own).catch(() => null);
  if (found === null) return;
  const refuse = (reason: string): never => {
    throw new AgentosError({ code: 'state-unwritable', directory: own, reason });
  };
  if (!found.isDirectory()) refuse('it is a link or a file, not a folder');
  if (found.uid !== userId()) refuse(`it belongs to another user (${found.uid})`);
  if ((found.mode & 0o022) !== 0) refuse('others can write it (chmod 700 it, if you made it)');
  if ((found.mode & 0o077) !== 0) await chmod(own, 0o700);
  if ((await lstat(work).catch(() => null))?.isSymbolicLink()) refuse(`${basename(work)} in it is a link`);
  const link = await linkIn(work);
  if (link !== null) refuse(`${basename(work)}/${link} in it is a link`);
}

/** Removes what is empty of it. The folder above stays: made by anything else, others could read it. */
export async function tidyWorkFolder({ base, work, worktrees, homes, caches }: Place): Promise<void> {
  if (work === base) return;
  for (const folder of [worktrees, join(work, 'worktree-state'), homes, caches])
    await rmdir(folder).catch(() => undefined);
  if ((await namesIn(work)).some((name) => name !== OWNER)) return;
  await rm(join(work, OWNER), { force: true });
  await rmdir(work).catch(() => undefined);
}

/**
 * Folders for worktrees of repositories that are gone. Not of those on a drive that is not there now: then the folder above
 * the repository is missing too.
 */
export async function abandonedWorkFolders({ base, work }: Place): Promise<{ folder: string; repository: string }[]> {
  const own = dirname(work);
  const found: { folder: string; repository: string }[] = [];
  for (const name of work === base ? [] : await namesIn(own)) {
    const folder = join(own, name);
    const repository = (await readFile(join(folder, OWNER), 'utf8').catch(() => '')).replace(/\n$/, '');
    if (isAbsolute(repository) && !existsSync(repository) && existsSync(dirname(repository)))
      found.push({ folder, repository });
  }
  return found;
}

/** The name of a file while it is written; it contains the id of the writing process. */
const TEMPORARY_NAME = /^\.(\d+)-\d+\.tmp$/;

export function isTemporaryFile(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

/** Temporary files in our places whose writers are gone. */
export async function staleTemporaryFiles(paths: Paths): Promise<string[]> {
  const { base, repository, locks, checkpoints, llds } = paths;
  const pathsIn = async (folder: string) => (await namesIn(folder)).map((name) => join(folder, name));
  const ofItems = [paths.runs, paths.lineages, join(base, 'undone')];
  const homes = await pathsIn(paths.homes);
  const below = [
    ...homes,
    ...homes.map((home) => join(home, 'reviews')),
    ...(await Promise.all(ofItems.map(pathsIn))).flat(),
  ];
  const alone = [base, locks, checkpoints, llds, paths.issues, join(repository, 'docs'), paths.homes];
  return (await Promise.all([...alone, ...ofItems, ...below].map(staleIn))).flat();
}

/** Removes what writers that were killed left in one folder. */
export async function removeStaleTemporaryFiles(folder: string): Promise<void> {
  for (const path of await staleIn(folder)) await rm(path, { force: true }).catch(() => undefined);
}

async function staleIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await namesIn(folder)) {
    const writer = Number(TEMPORARY_NAME.exec(name)?.[1] ?? 0);
    const path = join(folder, name);
    if (writer > 0 && (writer === process.pid ? await isOlderThanUs(path) : !isProcessAlive(writer))) found.push(path);
  }
  return found;
}

/** In a container every program may have the same number. */
async function isOlderThanUs(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && found.mtimeMs < performance.timeOrigin;
}
