import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { delimiter, dirname, join, posix } from 'node:path';
import { fieldsOf, parseJson, textOf } from '../core/json.ts';
import { manifestText } from '../process/files.ts';
import { nodeManager } from '../process/setup.ts';
import { isRunnableTest } from './test-files.ts';

/** Read access to a project's files: a folder, or a commit that is not checked out. */
export interface ProjectFiles {
  /** The names in a folder (`''` is the top); empty if it doesn't exist. */
  names(folder: string): Promise<readonly string[]>;
  /** Empty if the file doesn't exist. */
  read(path: string): Promise<string>;
}

/** A subfolder as a project of its own. */
export function filesBelow(files: ProjectFiles, folder: string): ProjectFiles {
  if (folder === '') return files;
  return {
    names: (inner) => files.names(posix.join(folder, inner)),
    read: (path) => files.read(posix.join(folder, path)),
  };
}

export function folderFiles(directory: string): ProjectFiles {
  return {
    names: (folder) => readdir(join(directory, folder)).catch(() => []),
    read: async (path) => manifestText(join(directory, path), directory),
  };
}

/** The facts from which a runner recognises its projects. */
export interface Project {
  packageJson: PackageJson | null;
  /** File names at the top. */
  top: readonly string[];
  /** File names at the top and in the usual test folders. */
  names: readonly string[];
  /** The manifests of other languages; empty text for those that don't exist. */
  texts: Readonly<Record<ManifestName, string>>;
  /** The text of a few test files and of the shared test helper: their imports reveal the runner. */
  samples: string;
}

const MANIFESTS = [
  'pyproject.toml',
  'setup.cfg',
  'tox.ini',
  'noxfile.py',
  'requirements-dev.txt',
  'requirements.txt',
  'Cargo.toml',
  'go.work',
  'composer.json',
  'Gemfile',
  'Rakefile',
] as const;
type ManifestName = (typeof MANIFESTS)[number];

const TEST_FOLDERS = ['', 'tests', 'test', 'spec', 'src'];
const MOST_SAMPLES = 5;
/** Ruby tests often require the runner only in a shared helper. */
const HELPER = /(?:^|\/)(?:spec_|test_|minitest_)?helper\.rb$/;

export async function readProject(files: ProjectFiles): Promise<Project> {
  const found = await Promise.all(TEST_FOLDERS.map(async (folder) => ({ folder, names: await files.names(folder) })));
  const top = found[0]?.names ?? [];
  const tests = found
    .flatMap(({ folder, names }) => names.map((name) => posix.join(folder, name)))
    .filter((path) => isRunnableTest(path) || HELPER.test(path))
    .toSorted((a, b) => Number(HELPER.test(b)) - Number(HELPER.test(a)))
    .slice(0, MOST_SAMPLES);
  const read = async (name: ManifestName): Promise<[ManifestName, string]> => [
    name,
    top.includes(name) ? await files.read(name) : '',
  ];
  return {
    packageJson: readPackageJson(await files.read('package.json')),
    top,
    names: found.filter(({ folder }) => folder !== 'src').flatMap(({ names }) => names),
    texts: Object.fromEntries(await Promise.all(MANIFESTS.map(read))) as Record<ManifestName, string>,
    samples: (await Promise.all(tests.map((path) => files.read(path)))).join('\n'),
  };
}

export function hasFile({ top }: Project, pattern: RegExp): boolean {
  return top.some((name) => pattern.test(name));
}

/** Whether package.json depends on one of these packages. */
export function dependsOn({ packageJson }: Project, packages: readonly string[]): boolean {
  return packages.some((name) => packageJson?.dependencies.has(name));
}

export interface PackageJson {
  scripts: Readonly<Record<string, string>>;
  /** All dependencies and dev dependencies; `jest` also if package.json only configures it. */
  dependencies: ReadonlySet<string>;
  /** The field `packageManager`. */
  manager: string | undefined;
}

/** Null if it is missing or unreadable. */
function readPackageJson(text: string): PackageJson | null {
  const whole = parseJson(text.replace(/^\uFEFF/, ''));
  if (typeof whole !== 'object' || whole === null) return null;
  const { scripts, dependencies, devDependencies, packageManager, jest } = fieldsOf(whole);
  const all = { ...fieldsOf(dependencies), ...fieldsOf(devDependencies), ...(jest === undefined ? {} : { jest }) };
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string';
  return {
    manager: textOf(packageManager),
    scripts: Object.fromEntries(Object.entries(fieldsOf(scripts)).filter(isText)),
    dependencies: new Set(Object.keys(all)),
  };
}

/** How a person starts a script of a package. `above`: the top of its monorepo, which may hold the lock file. */
export function scriptCommand(own: Project, name: string, above: Project = own): string {
  const names = new Set([...own.top, ...above.top]);
  const { manager } = nodeManager(names, own.packageJson?.manager ?? above.packageJson?.manager);
  // `bun test` is bun's own runner.
  return name === 'test' && manager !== 'bun' ? `${manager} test` : `${manager} run ${name}`;
}

/** The major version of an installed package; null if it isn't installed. */
export async function installedMajor(directory: string, name: string): Promise<number | null> {
  const file = foldersUpwards(directory)
    .map((folder) => join(folder, 'node_modules', name, 'package.json'))
    .find(existsSync);
  const version = file === undefined ? null : /"version"\s*:\s*"(\d+)\./.exec(manifestText(file, dirname(file)));
  return version === null ? null : Number(version[1]);
}

/** Puts the `.bin` folders of installed packages first on PATH, as npm does. */
export function withPackagePrograms(
  env: Readonly<Record<string, string>>,
  directory: string,
): Readonly<Record<string, string>> {
  const folders = foldersUpwards(directory).map((folder) => join(folder, 'node_modules', '.bin'));
  const { NODE_TEST_CONTEXT: _, ...rest } = env;
  return { ...rest, PATH: [...folders, env.PATH ?? ''].filter((part) => part !== '').join(delimiter) };
}

function foldersUpwards(directory: string): string[] {
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...foldersUpwards(above)];
}
