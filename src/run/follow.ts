import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { systemCode } from '../core/errors.ts';

/** Asking for a size costs microseconds; a watch of the file system would wake us for every line, and not on every disk. */
const POLL_MS = 50;
const LARGEST_PIECE_BYTES = 4 << 20;
const LINE_FEED = 0x0a;

export interface Piece {
  /** Whole lines, each with its line feed; empty: there is nothing new. */
  text: string;
  /** Where the next piece begins. */
  end: number;
}

/** What a file that lines are added to has from here on, up to its last whole line; a line longer than a piece is skipped. */
export async function readPiece(path: string, from: number): Promise<Piece> {
  // Not written yet, or removed meanwhile.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= from) return { text: '', end: from };
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const length = Math.min(LARGEST_PIECE_BYTES, size - from);
      if (length <= 0) return { text: '', end: from };
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
      const lines = buffer.lastIndexOf(LINE_FEED, bytesRead - 1) + 1;
      if (lines > 0) return { text: buffer.toString('utf8', 0, lines), end: from + lines };
      return { text: '', end: bytesRead === LARGEST_PIECE_BYTES ? from + bytesRead : from };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { text: '', end: from };
    throw error;
  }
}

interface FollowOptions {
  signal: AbortSignal;
  onPiece: (piece: Piece) => Promise<void> | void;
  everyMs?: number;
}

/** Calls back with each piece that is added, until the signal fires; the next one waits until that is done. */
export async function followFile(
  path: string,
  from: number,
  { signal, onPiece, everyMs = POLL_MS }: FollowOptions,
): Promise<void> {
  let at = from;
  while (!signal.aborted) {
    const piece = await readPiece(path, at);
    const isNew = piece.end > at;
    at = piece.end;
    if (piece.text !== '') await onPiece(piece);
    if (!isNew) await pause(everyMs, signal);
  }
}

/** Ends early when the signal fires. By itself it keeps no program alive. */
export function pause(ms: number, signal: AbortSignal, { holdsProgram = false } = {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (!holdsProgram) timer.unref();
    signal.addEventListener('abort', done, { once: true });
  });
}
