import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { filesBelow } from './document-trees.ts';

/** A file in the database: text, or base64 if the bytes are not valid UTF-8. */
export type StoredFile = string | { base64: string };

/** By path, with slashes. */
export type StoredFiles = Record<string, StoredFile>;

/** The files that an item left: those for the repository, and those for the submitter's state folder. */
export interface ItemResult {
  repository: StoredFiles;
  transcripts: StoredFiles;
  reviews: StoredFiles;
  undone: StoredFiles;
}

/** Files beyond this stay on the machine. Only transcripts of agents get that large. */
const MOST_BYTES = 64 * 1024 * 1024;

export async function storedFiles(folder: string, paths: readonly string[]): Promise<StoredFiles> {
  const files: StoredFiles = {};
  let bytes = 0;
  for (const path of paths) {
    const content = await readFile(join(folder, path));
    bytes += content.byteLength;
    if (bytes > MOST_BYTES) break;
    files[path] = asText(content) ?? { base64: content.toString('base64') };
  }
  return files;
}

/** Every file below the folder. A missing folder has no files. */
export async function folderContents(folder: string): Promise<StoredFiles> {
  return storedFiles(folder, await filesBelow(folder, ''));
}

function asText(content: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}

export function bytesOf(file: StoredFile): Buffer {
  return typeof file === 'string' ? Buffer.from(file) : Buffer.from(file.base64, 'base64');
}

/**
 * Writes files without a rename: the folder is ours, and half a file after a crash harms no one. An item gets hundreds of small files; one
 * after the other takes a quarter of the processor time that as many promises would.
 */
export function writePlainFiles(folder: string, files: ReadonlyMap<string, Buffer>): void {
  const made = new Set<string>();
  for (const [path, content] of files) {
    const parent = dirname(join(folder, path));
    if (!made.has(parent)) mkdirSync(parent, { recursive: true });
    made.add(parent);
    writeFileSync(join(folder, path), content);
  }
}
