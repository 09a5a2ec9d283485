import { linkSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { Paths } from '../core/paths.ts';
import { isProcessAlive } from './process-tree.ts';
import { requireInside } from './text-file.ts';

let counter = 0;

/** Never through a link that waits under the name. */
const FRESH = { mode: 0o644, flag: 'wx' } as const;

/**
 * Writes beside the place and renames into it: a reader sees the old file or the new one, never half of it, and a full
 * disk leaves the old one as it was.
 */
export async function writeFileAtomic(path: string, content: string | Buffer): Promise<void> {
  counter += 1;
  const temporary = join(dirname(path), `.${process.pid}-${counter}.tmp`);
  try {
    await makeFolder(dirname(path));
    await rm(temporary, { force: true });
    await writeFile(temporary, content, { flush: true, ...FRESH });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw unwritable(path, error);
  }
}

/** What file systems without hard links answer. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK']);

/**
 * Writes a file that was not there before, or returns false: of several processes that want the same name exactly one gets
 * it. The text is written beside the place and linked into it, so that a reader sees all of it or no file at all.
 */
export function writeFileExclusive(path: string, text: string, { flush = false, link = linkSync } = {}): boolean {
  counter += 1;
  const temporary = join(dirname(path), `.${process.pid}-new-${counter}.tmp`);
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, text, { flush, ...FRESH });
    try {
      link(temporary, path);
    } catch (error) {
      if (!NO_LINKS.has(systemCode(error) ?? '')) throw error;
      writeFileSync(path, text, { flush, ...FRESH });
    }
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw unwritable(path, error);
  } finally {
    removeQuietly(temporary);
  }
}

/** For what is known as left behind when it can't be removed, on a disk that became read-only, say. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It names the process that made it, and is removed when that is gone.
  }
}

function unwritable(path: string, error: unknown): AgentosError {
  const reason = systemCode(error) ?? String(error);
  return new AgentosError({ code: 'output-unwritable', path, reason }, { cause: error });
}

/**
 * Makes a folder with those above it. Each is tried once more after its parent was made and not again: Node's own
 * recursive form loops forever in places such as /proc, which have no room for folders but don't say so.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (systemCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (systemCode(error) !== 'ENOENT' || path === dirname(path)) throw error;
    await makeFolder(dirname(path));
    await mkdir(path).catch((again: unknown) => {
      // Another process made it meanwhile.
      if (systemCode(again) !== 'EEXIST') throw again;
    });
  }
}

/**
 * Makes a folder below one in which programs of an item run. None of its parts is a link afterwards: a program could have left one,
 * so that what we write or remove there would be elsewhere.
 */
export async function makeOwnFolder(top: string, path: string): Promise<string> {
  await makeFolder(top);
  let at = top;
  for (const name of path.split('/')) {
    at = join(at, name);
    if ((await lstat(at).catch(() => null))?.isDirectory() === true) continue;
    await rm(at, { force: true });
    await mkdir(at);
  }
  return at;
}

/** What is deeper goes in one call, which is four times as fast as the same one file after the other. */
const BREATHING_DEPTH = 2;

/**
 * Removes a folder with all that is in it, also where the right to write was taken away (Go's module cache). `inside`: the
 * folder that it must be in with all links followed: one that an agent left must not lead a removal elsewhere.
 */
export async function removeFolder(directory: string, inside: string): Promise<void> {
  requireInside(dirname(directory), inside);
  try {
    await removePiecewise(directory, BREATHING_DEPTH);
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENOTEMPTY') throw error;
    await makeWritable(directory);
    await rm(directory, { recursive: true, force: true });
  }
}

async function removePiecewise(path: string, depth: number): Promise<void> {
  if (depth > 0 && (await lstat(path).catch(() => null))?.isDirectory()) {
    for (const name of await readdir(path)) await removePiecewise(join(path, name), depth - 1);
  }
  rmSync(path, { recursive: true, force: true });
  await breathe();
}

/** Within one file system this takes no time, however much is in it; false: it can't be moved there. */
export async function moveFolder(from: string, to: string, inside: string): Promise<boolean> {
  for (const path of [from, to]) requireInside(dirname(path), inside);
  await mkdir(dirname(to), { recursive: true });
  const move = (): Promise<boolean> => rename(from, to).then(() => true);
  try {
    return await move().catch(async (error: unknown) => {
      if (systemCode(error) !== 'EACCES') throw error;
      await chmod(from, 0o755);
      return move();
    });
  } catch {
    return false;
  }
}

/** What is in a folder, by name; nothing where it can't be read. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [] as string[])).sort();
}

/** The same at once, in the order of the file system: for looks that take longer when they wait in between. */
export function namesInSync(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Every folder in it, itself included. Symbolic links are not followed. */
export async function makeWritable(directory: string): Promise<void> {
  await chmod(directory, 0o755).catch(() => undefined);
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await makeWritable(join(directory, entry.name));
}

/** Names of temporary files, each with the number of the process that writes it. */
const TEMPORARY_NAMES = [/^\.(\d+)-(?:new-)?\d+\.tmp$/, /\.db\.new-(\d+)(?:-(?:wal|shm|journal))?$/];

/** Whether a file has such a name, its writer alive or not. */
export function isTemporaryFile(name: string): boolean {
  return writerOf(name) !== null;
}

/** Temporary files in our places whose writers are gone. */
export async function staleTemporaryFiles(paths: Paths): Promise<string[]> {
  const { base, repository, locks, checkpoints, llds } = paths;
  const alone = [base, locks, checkpoints];
  const written = [llds, paths.issues, join(repository, 'docs')];
  const ofItems = [paths.runs, paths.lineages, paths.homes, join(base, 'undone')];
  const below = await Promise.all(ofItems.map(foldersIn));
  const reviews = below[2]?.map((home) => join(home, 'reviews')) ?? [];
  const folders = [...alone, ...written, ...ofItems, ...below.flat(), ...reviews];
  return (await Promise.all(folders.map(staleIn))).flat();
}

/** Removes what writers that were killed left in one folder. */
export async function removeStaleTemporaryFiles(directory: string): Promise<void> {
  for (const path of await staleIn(directory)) await rm(path, { force: true }).catch(() => undefined);
}

async function staleIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const found: string[] = [];
  for (const name of names) {
    const writer = writerOf(name);
    const path = join(directory, name);
    if (writer !== null && (writer === process.pid ? await isOlderThanUs(path) : !isProcessAlive(writer)))
      found.push(path);
  }
  return found;
}

async function foldersIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name));
}

function writerOf(name: string): number | null {
  for (const pattern of TEMPORARY_NAMES) {
    const pid = Number(pattern.exec(name)?.[1]);
    if (pid > 0) return pid;
  }
  return null;
}

/** In a container every program may have the same number. */
async function isOlderThanUs(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && found.mtimeMs < performance.timeOrigin;
}
