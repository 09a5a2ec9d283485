import { accessSync, constants, linkSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { Paths } from '../core/paths.ts';
import { isProcessAlive } from './process-tree.ts';
import { requireInside } from './text-file.ts';

let counter = 0;

/** Never follows a link of that name. */
const FRESH = { mode: 0o644, flag: 'wx' } as const;

/**
 * Writes a temporary file and renames it: a reader sees the old file or the new one, and a full disk leaves the old one
 * unchanged.
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

/** Errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK']);

/**
 * Creates a file, or returns false if it exists: of several processes, exactly one succeeds. The text is written to a temporary file
 * that is linked into place, so a reader sees all of it or no file.
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

/** Removes a file. If that fails, a later run removes it. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Its name contains our process id, so it is recognised as stale.
  }
}

function unwritable(path: string, error: unknown): AgentosError {
  const reason = systemCode(error) ?? String(error);
  return new AgentosError({ code: 'output-unwritable', path, reason }, { cause: error });
}

/**
 * Makes a folder and its parents. Node's recursive `mkdir` loops forever in places such as /proc, so each folder is tried once more
 * after its parent was made, and then no more.
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
 * Makes a folder inside one that programs of an item can write to, and replaces links on the way: a program could have left one to
 * make us write or remove files elsewhere.
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

/** Deeper folders are removed in one call, which is four times as fast as one file after the other. */
const BREATHING_DEPTH = 2;

/**
 * Removes a folder with its contents, even read-only ones (Go's module cache). `inside`: the folder that it must be in after all
 * links are followed, because an agent may have left a link.
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

/** Fast within one file system. False: it can't be moved there. */
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

/** The sorted names in a folder; none if it can't be read. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [] as string[])).sort();
}

/** The same, synchronous and unsorted, for loops over many folders. */
export function namesInSync(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Null if the file is missing or can't be read. */
export function textIfReadable(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Makes a folder and all folders in it writable. Does not follow links. */
export async function makeWritable(directory: string): Promise<void> {
  if ((await lstat(directory).catch(() => null))?.isDirectory() !== true) return;
  await chmod(directory, 0o755).catch(() => undefined);
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await makeWritable(join(directory, entry.name));
}

/** Names of temporary files; they contain the id of the writing process. */
const TEMPORARY_NAMES = [/^\.(\d+)-(?:new-)?\d+\.tmp$/, /\.db\.new-(\d+)(?:-(?:wal|shm|journal))?$/];

/** Whether a file has such a name. */
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

/** Our files rarely need more. If less is free, we assume that a write failed for lack of space. */
const FULL_WITHIN_BYTES = 64 * 1024;

/** Why a folder's disk can't be written, as the operating system's code; null: it can. */
export function diskFault(folder: string): 'ENOSPC' | 'EROFS' | null {
  if (freeBytes(folder) < FULL_WITHIN_BYTES) return 'ENOSPC';
  try {
    accessSync(folder, constants.W_OK);
    return null;
  } catch (error) {
    return systemCode(error) === 'EROFS' ? 'EROFS' : null;
  }
}

/** Infinite if unknown. */
export function freeBytes(folder: string): number {
  try {
    const disk = statfsSync(folder);
    return disk.files > 0 && disk.ffree === 0 ? 0 : disk.bavail * disk.bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
