import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { chmod, lstat, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { AgentosError, systemCode } from '../core/errors.ts';
import { isInside } from '../core/paths.ts';

let counter = 0;

/** Recognised as ours by its name, if it is left behind: see `isTemporaryFile`. */
function temporaryFor(path: string): string {
  counter += 1;
  return join(dirname(path), `.${process.pid}-${counter}.tmp`);
}

/** Never follows a link of that name. */
const FRESH = { mode: 0o644, flag: 'wx' } as const;

/**
 * Writes a temporary file and renames it: a reader sees the old file or the new one, and a full disk leaves the old one
 * unchanged.
 */
export async function writeFileAtomic(path: string, content: string | Buffer): Promise<void> {
  const temporary = temporaryFor(path);
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
 * Creates a file, or returns false if it exists: of several processes, exactly one succeeds. The content is written to a temporary
 * file that is linked into place, so a reader sees all of it or no file.
 */
export function writeFileExclusive(
  path: string,
  content: string | Buffer,
  { flush = false, link = linkSync } = {},
): boolean {
  const temporary = temporaryFor(path);
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, content, { flush, ...FRESH });
    try {
      link(temporary, path);
    } catch (error) {
      if (!NO_LINKS.has(systemCode(error) ?? '')) throw error;
      copyFileSync(temporary, path, constants.COPYFILE_EXCL);
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
    for (const name of await namesIn(path)) await removePiecewise(join(path, name), depth - 1);
  }
  rmSync(path, { recursive: true, force: true });
  await breathe();
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

/*
 * The one way in which documents, prompts and settings of a repository are read. Strangers can have put them there: a link
 * could hand any file of the machine to a model, a pipe would be waited for without end, and what can't be read must not be
 * taken for a missing one. Synchronous: a backlog has ten thousand of them, and each is small.
 */

const LARGEST_BYTES = 1_000_000;
const PIECE_BYTES = 65_536;
export const NOT_TEXT = 'is not UTF-8 text';

/** Opening never waits, whatever is in the place of a file. */
const NO_WAIT = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

const ABSENT: ReadonlySet<string | null> = new Set(['ENOENT', 'ENOTDIR']);

/**
 * The text of a file; null where there is no file. `inside`: the folder that it must be in when all links are followed; null for
 * a file that a person named, which may also be a pipe. Throws `file-unreadable`. `most`: only the first bytes of it.
 */
export function readText(path: string, inside: string | null, most = Number.POSITIVE_INFINITY): string | null {
  let handle: number | null = null;
  try {
    const real = inside === null ? path : realPathIn(path, inside);
    handle = openSync(real, inside === null ? constants.O_RDONLY : NO_WAIT);
    const found = fstatSync(handle);
    if (found.isDirectory()) throw unreadable(path, 'EISDIR');
    if (inside !== null && !found.isFile()) throw unreadable(path, 'is not a regular file');
    const bytes = readBytes(handle, Math.min(most, LARGEST_BYTES + 1), found.size > 0 ? found.size + 1 : PIECE_BYTES);
    if (bytes.length > LARGEST_BYTES) throw unreadable(path, `is larger than ${LARGEST_BYTES / 1_000_000} MB`);
    const text = decoded(bytes, bytes.length === most);
    if (text === null) throw unreadable(path, NOT_TEXT);
    return text;
  } catch (error) {
    if (error instanceof AgentosError) throw error;
    const code = systemCode(error);
    if (ABSENT.has(code)) return null;
    throw unreadable(path, code ?? String(error), error);
  } finally {
    if (handle !== null) closeSync(handle);
  }
}

/** The first megabyte of a file that says how a checkout is built or tested; empty where it is no text in that folder. */
export function manifestText(path: string, inside: string): string {
  try {
    return readText(path, inside, LARGEST_BYTES) ?? '';
  } catch {
    return '';
  }
}

/** Names in a folder of the repository, sorted; none where there is no such folder. Throws `file-unreadable`. */
export function namesInside(folder: string, inside: string): string[] {
  try {
    return readdirSync(realPathIn(folder, inside)).sort();
  } catch (error) {
    if (error instanceof AgentosError) throw error;
    if (systemCode(error) === 'ENOENT') return [];
    throw unreadable(folder, systemCode(error) ?? String(error), error);
  }
}

/** Throws `leads-outside` where a path that is or will be there leads out of a folder, with all links followed. */
export function requireInside(path: string, folder: string): void {
  const outside = new AgentosError({ code: 'leads-outside', path, folder });
  if (!isInside(folder, path)) throw outside;
  try {
    if (!isInside(realpathSync.native(folder), realpathSync.native(path))) throw outside;
  } catch (error) {
    // A link that leads nowhere may lead somewhere later.
    if (!ABSENT.has(systemCode(error)) || isLink(path)) throw outside;
    if (path !== folder) requireInside(dirname(path), folder);
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch {
    return false;
  }
}

/** With all links followed; throws where that leads out of the folder, or nowhere. */
function realPathIn(path: string, inside: string): string {
  const real = realpathSync.native(path);
  if (isInside(realpathSync.native(inside), real)) return real;
  throw unreadable(path, 'is a link that leaves the folder');
}

function readBytes(handle: number, most: number, expected: number): Buffer {
  const pieces: Buffer[] = [];
  for (let left = most; left > 0; ) {
    const piece = Buffer.allocUnsafe(Math.min(left, expected, PIECE_BYTES));
    const count = readSync(handle, piece);
    if (count === 0) break;
    pieces.push(piece.subarray(0, count));
    left -= count;
  }
  return Buffer.concat(pieces);
}

/** `isCut`: the last character may not be whole. */
function decoded(bytes: Buffer, isCut: boolean): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

function unreadable(path: string, reason: string, cause?: unknown): AgentosError {
  return new AgentosError({ code: 'file-unreadable', path, reason }, { cause });
}

/** Why a file can't be read, where that is what the error says; any other error is thrown on. */
export function unreadableReason(error: unknown): string {
  if (error instanceof AgentosError && error.problem.code === 'file-unreadable') return error.problem.reason;
  throw error;
}
