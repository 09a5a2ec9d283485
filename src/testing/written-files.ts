import { glob, readFile, rm, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Files that a command of the user's own writes, told from those that were there before. */
export interface WrittenFiles {
  /** The texts of those that are new or were written since. */
  texts(): Promise<string[]>;
  /** Removes those that were not there before. */
  removeNew(): Promise<void>;
}

/** `pattern` is a path in the directory, with `*` and `**` where there are several. To be called before the command. */
export async function watchWritten(directory: string, pattern: string): Promise<WrittenFiles> {
  const before = await statesOf(directory, pattern);
  const changed = async (): Promise<string[]> =>
    [...(await statesOf(directory, pattern))]
      .filter(([path, state]) => before.get(path) !== state)
      .map(([path]) => path);
  return {
    texts: async () => await Promise.all((await changed()).map(async (path) => await readFile(path, 'utf8'))),
    async removeNew() {
      for (const path of await changed()) if (!before.has(path)) await rm(path, { force: true });
    },
  };
}

async function statesOf(directory: string, pattern: string): Promise<Map<string, string>> {
  const paths = /[*?[{]/.test(pattern) ? [] : [pattern];
  if (paths.length === 0) for await (const path of glob(pattern, { cwd: directory })) paths.push(path);
  const found = new Map<string, string>();
  for (const path of paths.toSorted()) {
    const place = resolve(directory, path);
    const info = await stat(place, { bigint: true }).catch(() => null);
    if (info?.isFile()) found.set(place, `${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`);
  }
  return found;
}
