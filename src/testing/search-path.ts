import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { foldersUpwards } from './installed-package.ts';

/** The environment with the programs of the installed packages first on the search path, as npm has it. */
export function withPackagePrograms(
  env: Readonly<Record<string, string>>,
  directory: string,
): Readonly<Record<string, string>> {
  const folders = foldersUpwards(directory).map((folder) => join(folder, 'node_modules', '.bin'));
  const { NODE_TEST_CONTEXT: _, ...rest } = env;
  return { ...rest, PATH: [...folders, env.PATH ?? ''].filter((part) => part !== '').join(delimiter) };
}

export async function isProgram(name: string, env: Readonly<Record<string, string>>): Promise<boolean> {
  for (const folder of (env.PATH ?? '').split(delimiter).filter((part) => part !== '')) {
    const found = await access(join(folder, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}
