import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../core/errors.ts';

/** Removes a folder with all that is in it, also where somebody took the right to write away (Go's module cache). */
export async function removeFolder(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENOTEMPTY') throw error;
    await makeWritable(directory);
    await rm(directory, { recursive: true, force: true });
  }
}

/** Every folder in it, itself included. Symbolic links are not followed. */
export async function makeWritable(directory: string): Promise<void> {
  await chmod(directory, 0o755).catch(() => undefined);
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await makeWritable(join(directory, entry.name));
}
