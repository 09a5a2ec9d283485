import { link as hardLink, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { makeFolder } from './make-folder.ts';

let counter = 0;

/** What file systems without hard links answer. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL', 'EMLINK']);

/**
 * Writes a file that was not there before, or returns false: of several processes that want the same name exactly one gets
 * it. The text is written beside the place and linked into it, so that a reader sees all of it or no file at all.
 */
export async function writeFileExclusive(path: string, text: string, link = hardLink): Promise<boolean> {
  counter += 1;
  const temporary = join(dirname(path), `.${process.pid}-new-${counter}.tmp`);
  try {
    await makeFolder(dirname(path));
    await writeWhole(temporary, text, 'w');
    return await link(temporary, path)
      .catch(async (error: unknown) => {
        if (!NO_LINKS.has(systemCode(error) ?? '')) throw error;
        await writeWhole(path, text, 'wx');
      })
      .then(
        () => true,
        (error: unknown) => {
          if (systemCode(error) === 'EEXIST') return false;
          throw error;
        },
      );
  } catch (error) {
    throw new AgentosError(
      { code: 'output-unwritable', path, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

async function writeWhole(path: string, text: string, flag: 'w' | 'wx'): Promise<void> {
  const file = await open(path, flag, 0o644);
  try {
    await file.writeFile(text, 'utf8');
    await file.sync();
  } finally {
    await file.close();
  }
}
