import { readFile, stat } from 'node:fs/promises';
import { systemCode } from '../core/errors.ts';
import type { Place } from './worktree-path.ts';

const LARGEST_BYTES = 4 * 1024 * 1024;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

export type TextFile = { ok: true; text: string } | { ok: false; why: string; tooLarge: boolean };

/** The text of a file, byte-order mark and line ends as they are, or why it is not shown. */
export async function readText(place: Place, largestBytes = LARGEST_BYTES): Promise<TextFile> {
  const { path, kind } = place;
  const hidden = `${path} may hold secrets and is not shown`;
  if (kind === 'missing') return refuse(`there is no ${path}`);
  if (kind !== 'file') return refuse(`${path} is ${kind === 'folder' ? 'a folder' : 'not a regular file'}`);
  if (place.secret) return refuse(hidden);
  try {
    const { size } = await stat(place.absolute);
    if (size > largestBytes) return refuse(`${path} is too large to be read (${size} bytes)`, true);
    const text = decoded(await readFile(place.absolute));
    if (text === null) return refuse(`${path} is not text (${size} bytes)`);
    return PRIVATE_KEY.test(text) ? refuse(hidden) : { ok: true, text };
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return refuse(`${path} can't be read: ${code}`);
  }
}

function refuse(why: string, tooLarge = false): TextFile {
  return { ok: false, why, tooLarge };
}

function decoded(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
