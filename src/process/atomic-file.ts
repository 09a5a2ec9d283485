import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { makeFolder } from './make-folder.ts';

let counter = 0;

/**
 * Writes beside the place and renames into it: a reader sees the old file or the new one, never half of it, and a full
 * disk leaves the old one as it was.
 */
export async function writeFileAtomic(path: string, content: string | Buffer): Promise<void> {
  counter += 1;
  const temporary = join(dirname(path), `.${process.pid}-${counter}.tmp`);
  try {
    await makeFolder(dirname(path));
    const file = await open(temporary, 'w', 0o644);
    try {
      await file.writeFile(content, 'utf8');
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new AgentosError(
      { code: 'output-unwritable', path, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  }
}
