import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A folder and all folders above it. */
export function foldersUpwards(directory: string): string[] {
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...foldersUpwards(above)];
}

export function isInstalled(directory: string, name: string): boolean {
  return folderOf(directory, name) !== undefined;
}

/** The first number of its version; null where it is not there. */
export async function installedMajor(directory: string, name: string): Promise<number | null> {
  const folder = folderOf(directory, name);
  if (folder === undefined) return null;
  const version = /"version"\s*:\s*"(\d+)\./.exec(await readFile(join(folder, 'package.json'), 'utf8'));
  return version === null ? null : Number(version[1]);
}

function folderOf(directory: string, name: string): string | undefined {
  return foldersUpwards(directory)
    .map((folder) => join(folder, 'node_modules', name))
    .find((folder) => existsSync(join(folder, 'package.json')));
}
