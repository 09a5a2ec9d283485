import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../../core/errors.ts';
import { isItemId } from '../../core/ids.ts';
import { fieldsOf, parseJson } from '../../core/json.ts';
import type { RunPaths } from '../../core/paths.ts';

/** Polling costs microseconds; a file system watch would wake us for every line, and does not work on every disk. */
const POLL_MS = 50;
const LARGEST_PIECE_BYTES = 4 << 20;
const LINE_FEED = 0x0a;

interface Piece {
  /** Whole lines, each with its line feed; empty: there is nothing new. */
  text: string;
  /** The offset of the next piece. */
  end: number;
}

/**
 * Reads a growing file from an offset up to its last whole line. Skips a line that is longer than a piece. `isFinal`: the file is
 * complete, so its last line need not have a line feed.
 */
export async function readPiece(path: string, from: number, { isFinal = false } = {}): Promise<Piece> {
  // The file may not exist yet, or may have been removed.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= from) return { text: '', end: from };
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const length = Math.min(LARGEST_PIECE_BYTES, size - from);
      if (length <= 0) return { text: '', end: from };
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
      const lines = buffer.lastIndexOf(LINE_FEED, bytesRead - 1) + 1;
      const bytes = lines === 0 && isFinal ? bytesRead : lines;
      if (bytes > 0) return { text: buffer.toString('utf8', 0, bytes), end: from + bytes };
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

/** Calls back with each new piece until the signal fires. Waits for the callback before it reads the next one. */
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

/** Ends early when the signal fires. Keeps the process alive only if asked to. */
export function pause(ms: number, signal: AbortSignal, { holdsProgram = false } = {}): Promise<void> {
  return sleep(ms, undefined, { signal, ref: holdsProgram }).catch(() => undefined);
}

/** A line of a run's `requests.jsonl`. */
export interface CancelRequest {
  at: string;
  type: 'cancel';
  item: string;
  by: string;
}

/** People don't notice a shorter delay. */
const LOOK_EVERY_MS = 500;
const LONGEST_NAME = 200;

/** Used by the run itself: calls back for each item to cancel, until it is closed. */
export function followCancels(run: RunPaths, onCancel: (id: string, by: string) => void): { close(): void } {
  const closing = new AbortController();
  const onPiece = ({ text }: { text: string }): void => {
    for (const line of text.split('\n')) {
      const request = parseJson(line);
      if (isCancelRequest(request)) onCancel(request.item, request.by.slice(0, LONGEST_NAME));
    }
  };
  // If the folder is deleted or the disk fails, items can't be cancelled, but the run continues.
  void followFile(run.requests, 0, { signal: closing.signal, onPiece, everyMs: LOOK_EVERY_MS }).catch(() => undefined);
  return { close: () => closing.abort() };
}

function isCancelRequest(value: unknown): value is CancelRequest {
  const { type, item, by } = fieldsOf(value);
  return type === 'cancel' && typeof item === 'string' && isItemId(item) && typeof by === 'string';
}
