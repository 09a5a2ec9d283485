import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../core/json.ts';

/** As much of a project as it takes to tell how its tests are run: a folder, or a commit that is not checked out. */
export interface ProjectFiles {
  /** Of what is in a folder, `''` being the top; none where it is not there. */
  names(folder: string): Promise<readonly string[]>;
  /** Empty where it is not there. */
  read(path: string): Promise<string>;
}

export function folderFiles(directory: string): ProjectFiles {
  return {
    names: (folder) => readdir(join(directory, folder)).catch(() => []),
    read: (path) => readFile(join(directory, path), 'utf8').catch(() => ''),
  };
}

/** What the runners look at for signs of them. */
export interface Project {
  packageJson: PackageJson | null;
  /** Names at the top. */
  top: readonly string[];
  /** Those, and the names in the usual folders of tests. */
  names: readonly string[];
  /** The texts of the few files in which other languages name their runners; empty where there is none. */
  texts: Readonly<Record<ManifestName, string>>;
}

type ManifestName = 'pyproject.toml' | 'setup.cfg' | 'tox.ini' | 'Cargo.toml';

export async function readProject(files: ProjectFiles): Promise<Project> {
  const [top = [], ...others] = await Promise.all(['', 'tests', 'test'].map((folder) => files.names(folder)));
  return {
    packageJson: readPackageJson(await files.read('package.json')),
    top,
    names: [top, ...others].flat(),
    texts: {
      'pyproject.toml': await files.read('pyproject.toml'),
      'setup.cfg': await files.read('setup.cfg'),
      'tox.ini': await files.read('tox.ini'),
      'Cargo.toml': await files.read('Cargo.toml'),
    },
  };
}

export function hasFile({ top }: Project, pattern: RegExp): boolean {
  return top.some((name) => pattern.test(name));
}

/** Whether package.json depends on one of these packages. */
export function dependsOn({ packageJson }: Project, packages: readonly string[]): boolean {
  return packages.some((name) => packageJson?.dependencies.has(name));
}

const texts = z.record(z.string(), z.unknown()).catch({});
const packageSchema = z.object({
  scripts: texts,
  dependencies: texts,
  devDependencies: texts,
  jest: z.unknown().optional(),
});

export interface PackageJson {
  scripts: Readonly<Record<string, string>>;
  /** Names of all that it depends on, for work or for use; Jest too where it is only configured. */
  dependencies: ReadonlySet<string>;
}

/** Null where there is none, or none that can be read. */
function readPackageJson(text: string): PackageJson | null {
  const found = packageSchema.safeParse(parseJson(text.replace(/^\uFEFF/, ''))).data;
  if (found === undefined) return null;
  const { scripts, dependencies, devDependencies, jest } = found;
  return {
    scripts: Object.fromEntries(
      Object.entries(scripts).flatMap(([name, script]) => (typeof script === 'string' ? [[name, script]] : [])),
    ),
    dependencies: new Set(
      Object.keys({ ...dependencies, ...devDependencies, ...(jest === undefined ? {} : { jest }) }),
    ),
  };
}

/** By the lock file at the top: the command in front of `test`. */
export function packageManager(top: readonly string[]): string {
  const managers = { 'pnpm-lock.yaml': 'pnpm', 'yarn.lock': 'yarn', 'bun.lock': 'bun run', 'bun.lockb': 'bun run' };
  return Object.entries(managers).find(([lock]) => top.includes(lock))?.[1] ?? 'npm';
}

/** The first number of an installed package's version; null where it is not there. */
export async function installedMajor(directory: string, name: string): Promise<number | null> {
  const file = foldersUpwards(directory)
    .map((folder) => join(folder, 'node_modules', name, 'package.json'))
    .find(existsSync);
  const version = file === undefined ? null : /"version"\s*:\s*"(\d+)\./.exec(await readFile(file, 'utf8'));
  return version === null ? null : Number(version[1]);
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
