import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../process/files.ts';

/** Reads the file; a missing one is created, readable by this user only. */
export async function keptSecret(path: string, make: () => string | Promise<string>): Promise<string> {
  const found = await readFile(path, 'utf8').catch(() => null);
  if (found !== null) return found.trimEnd();
  const text = await make();
  await writeSecret(path, text);
  return text;
}

/** Writes the file by a rename. At no moment can other users read it. */
export async function writeSecret(path: string, text: string): Promise<void> {
  await makeFolder(dirname(path));
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, `${text.trimEnd()}\n`, { mode: 0o600, flush: true });
  await rename(temporary, path);
}
