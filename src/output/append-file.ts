import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Files that lines are added to, a few of them open at a time. */
export interface AppendFiles {
  /** Whole lines. All of the text gets into the file, or none of it and the error is thrown. */
  append(path: string, lines: string): void;
  /** Nothing more is expected for it now; a later append opens it again. */
  close(path: string): void;
  closeAll(): void;
}

interface OpenFile {
  handle: number;
  size: number;
}

const LINE_FEED = 0x0a;
/** Ten items at work have two files each; those that wait for another attempt can do without theirs. */
const MOST_OPEN = 24;

export function createAppendFiles(): AppendFiles {
  /** The one that was used last comes last. */
  const open = new Map<string, OpenFile>();

  const close = (path: string): void => {
    const file = open.get(path);
    open.delete(path);
    if (file !== undefined) closeSync(file.handle);
  };
  const openedAt = (path: string): OpenFile => {
    const known = open.get(path);
    // Somebody deleted it: what is written there now would be lost with it.
    if (known !== undefined && fstatSync(known.handle).nlink === 0) close(path);
    const file = open.get(path) ?? openFile(path);
    open.delete(path);
    open.set(path, file);
    const [oldest] = open.keys();
    if (open.size > MOST_OPEN && oldest !== undefined) close(oldest);
    return file;
  };

  return {
    append(path, lines) {
      const file = openedAt(path);
      try {
        writeAll(file, Buffer.from(lines));
      } catch (error) {
        // Opened again, it is looked at how it ends.
        close(path);
        throw error;
      }
    },
    close,
    closeAll() {
      for (const path of open.keys()) close(path);
    },
  };
}

function openFile(path: string): OpenFile {
  mkdirSync(dirname(path), { recursive: true });
  const file: OpenFile = { handle: openSync(path, 'a+'), size: 0 };
  try {
    file.size = fstatSync(file.handle).size;
    const last = Buffer.alloc(1);
    // A process that was killed may have left half a line: readers pass over it, if the next one begins a new line.
    if (file.size > 0 && readSync(file.handle, last, 0, 1, file.size - 1) === 1 && last[0] !== LINE_FEED)
      writeAll(file, Buffer.from('\n'));
    return file;
  } catch (error) {
    closeSync(file.handle);
    throw error;
  }
}

/** A full disk takes the beginning and refuses the rest. */
function writeAll(file: OpenFile, bytes: Buffer): void {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file.handle, bytes, at);
    file.size += bytes.length;
  } catch (error) {
    try {
      ftruncateSync(file.handle, file.size);
    } catch {
      // Then half a line stays, and the next one begins behind it.
    }
    throw error;
  }
}
