import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { makeFolder } from './make-folder.ts';
import { isUnfinished } from './unfinished-files.ts';

const IGNORE = '.gitignore';

/** What we keep in a state folder. */
export const STATE_ENTRIES: ReadonlySet<string> = new Set([
  'runs',
  'checkpoints',
  'locks',
  'homes',
  'caches',
  'undone',
  'worktrees',
  'worktree-state',
  'batches',
  'compile-cache',
  'keys.json',
]);

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
  // Our ignore file would hide somebody's own files from git. Ours without it are left where a run went on after the folder
  // was deleted.
  if (entries.some((name) => !STATE_ENTRIES.has(name) && !isUnfinished(name))) {
    throw new AgentosError({ code: 'state-unwritable', directory, reason: 'it holds files that are not ours' });
  }
  await writeFile(join(directory, IGNORE), '*\n', { flag: 'wx' }).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw unwritable(error);
  });
}
