import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { isInside } from '../core/paths.ts';

/*
 * The one way in which documents, prompts and settings of a repository are read. Strangers can have put them there: a link
 * could hand any file of the machine to a model, a pipe would be waited for without end, and what can't be read must not be
 * taken for a missing one. Synchronous: a backlog has ten thousand of them, and each is small.
 */

const LARGEST_BYTES = 1_000_000;
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
    if (found.isFile() && found.size > LARGEST_BYTES && most > LARGEST_BYTES) throw tooLarge(path);
    const bytes = found.isFile()
      ? readBytes(handle, Math.min(found.size + 1, most))
      : readBytes(handle, LARGEST_BYTES + 1);
    if (bytes.length > LARGEST_BYTES) throw tooLarge(path);
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

function readBytes(handle: number, most: number): Buffer {
  const pieces: Buffer[] = [];
  for (let left = most; left > 0; ) {
    const piece = Buffer.allocUnsafe(Math.min(left, 65_536));
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

function tooLarge(path: string): AgentosError {
  return unreadable(path, `is larger than ${LARGEST_BYTES / 1_000_000} MB`);
}

function unreadable(path: string, reason: string, cause?: unknown): AgentosError {
  return new AgentosError({ code: 'file-unreadable', path, reason }, { cause });
}

/** Why a file can't be read, where that is what the error says; any other error is thrown on. */
export function unreadableReason(error: unknown): string {
  if (error instanceof AgentosError && error.problem.code === 'file-unreadable') return error.problem.reason;
  throw error;
}
