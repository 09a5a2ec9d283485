import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCode } from '../core/errors.ts';

/**
 * Makes a folder with those above it. Each is tried once more after its parent was made and not again: Node's own
 * recursive form goes on for ever in places such as /proc, which have no room for folders but don't say so.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (systemCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (systemCode(error) !== 'ENOENT' || path === dirname(path)) throw error;
    await makeFolder(dirname(path));
    await mkdir(path).catch((again: unknown) => {
      // Somebody else made it meanwhile.
      if (systemCode(again) !== 'EEXIST') throw again;
    });
  }
}
