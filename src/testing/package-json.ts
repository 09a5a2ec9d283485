import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { z } from 'zod';

const texts = z.record(z.string(), z.unknown()).catch({});
const schema = z.object({ scripts: texts, dependencies: texts, devDependencies: texts, jest: z.unknown().optional() });

export interface PackageJson {
  scripts: Readonly<Record<string, string>>;
  /** Names of all that it depends on, for work or for use; Jest too where it is only configured. */
  dependencies: ReadonlySet<string>;
}

/** Null where there is none, or none that can be read. */
export function readPackageJson(text: string): PackageJson | null {
  try {
    const found = schema.parse(JSON.parse(text.replace(/^\uFEFF/, '')));
    const scripts: Record<string, string> = {};
    for (const [name, script] of Object.entries(found.scripts)) if (typeof script === 'string') scripts[name] = script;
    return {
      scripts,
      dependencies: new Set([
        ...Object.keys(found.dependencies),
        ...Object.keys(found.devDependencies),
        ...(found.jest === undefined ? [] : ['jest']),
      ]),
    };
  } catch {
    return null;
  }
}

/** By the lock file at the top: the command in front of `test`. */
export function packageManager(top: readonly string[]): string {
  const managers = { 'pnpm-lock.yaml': 'pnpm', 'yarn.lock': 'yarn', 'bun.lock': 'bun run', 'bun.lockb': 'bun run' };
  return Object.entries(managers).find(([lock]) => top.includes(lock))?.[1] ?? 'npm';
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

/** The environment with the programs of the installed packages first on the search path, as npm has it. */
export function withPackagePrograms(
  env: Readonly<Record<string, string>>,
  directory: string,
): Readonly<Record<string, string>> {
  const folders = foldersUpwards(directory).map((folder) => join(folder, 'node_modules', '.bin'));
  const { NODE_TEST_CONTEXT: _, ...rest } = env;
  return { ...rest, PATH: [...folders, env.PATH ?? ''].filter((part) => part !== '').join(delimiter) };
}

/** A folder and all folders above it. */
function foldersUpwards(directory: string): string[] {
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...foldersUpwards(above)];
}
