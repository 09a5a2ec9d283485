import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

/** Where the shell would find it; null: nowhere. A relative folder on the PATH would mean another one in each worktree. */
export async function findProgram(name: string, path: string | undefined): Promise<string | null> {
  for (const folder of (path ?? '').split(delimiter).filter((each) => isAbsolute(each))) {
    const file = join(folder, name);
    const runs = await access(file, constants.X_OK)
      .then(() => stat(file))
      .then(
        (found) => found.isFile(),
        () => false,
      );
    if (runs) return file;
  }
  return null;
}
