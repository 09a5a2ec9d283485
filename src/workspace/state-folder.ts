import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { makeFolder } from './make-folder.ts';

const IGNORE = '.gitignore';

/** Makes the state folder, with the `.gitignore` that keeps it out of the user's commits. */
export async function prepareStateFolder(directory: string): Promise<void> {
  const unwritable = (error: unknown): AgentosError =>
    new AgentosError(
      { code: 'state-unwritable', directory, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  await makeFolder(directory).catch((error: unknown) => {
    throw unwritable(error);
  });
  const entries = await readdir(directory);
  if (entries.includes(IGNORE)) return;
  // Our ignore file would hide somebody's own files from git.
  if (entries.length > 0) {
    throw new AgentosError({ code: 'state-unwritable', directory, reason: 'it holds files that are not ours' });
  }
  await writeFile(join(directory, IGNORE), '*\n', { flag: 'wx' }).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw unwritable(error);
  });
}
