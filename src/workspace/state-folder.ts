import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';

/** Makes the state folder, with the `.gitignore` that keeps it out of the user's commits. */
export async function prepareStateFolder(directory: string): Promise<void> {
  const unwritable = (error: unknown): AgentosError =>
    new AgentosError(
      { code: 'state-unwritable', directory, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  await mkdir(directory, { recursive: true }).catch((error: unknown) => {
    throw unwritable(error);
  });
  await writeFile(join(directory, '.gitignore'), '*\n', { flag: 'wx' }).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw unwritable(error);
  });
}
