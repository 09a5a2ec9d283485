import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { delimiter, join, relative } from 'node:path';
import { isInside } from '../core/paths.ts';
import { manifestText } from './files.ts';
import { type ProgramOptions, runProgram } from './program.ts';
import type { SetupFolder } from './setup.ts';

/** What running needs, and what developing and testing need; not what some platform or extra needs. */
export const REQUIREMENTS =
  /^(?:requirements(?:[-_.](?:dev|development|tests?|testing|ci))?|(?:dev|tests?)[-_.]requirements)\.txt$/;

// What is installed for all stays in reach: a list of requirements often takes the test runner for granted.
const VENV = 'python3 -m venv --system-site-packages "$VIRTUAL_ENV"';
const PIP = '"$VIRTUAL_ENV/bin/python" -m pip install';

/**
 * Into the item's own virtual environment (`pythonEnvironment`), by the tool that the repository has a lock file of, where that
 * tool is installed, else by pip. A project with a build system is installed itself: without that, tests of a package that the
 * system has too would test the system's copy.
 */
export async function pythonSetup(folder: SetupFolder): Promise<string | null> {
  const { names, read, updatesLocks, has } = folder;
  const toml = names.has('pyproject.toml') ? read('pyproject.toml') : '';
  const isBuilt = hasBuildSystem(names, toml);
  // A tool that is not there is named by the failure, where pip can't take its place.
  const uses = async (tool: string): Promise<boolean> => names.has(`${tool}.lock`) && (!isBuilt || (await has(tool)));
  if (await uses('uv')) return updatesLocks ? 'uv sync' : 'uv sync --frozen';
  if (await uses('poetry'))
    return `${VENV} && ${updatesLocks ? 'poetry lock --no-interaction && ' : ''}poetry install --no-interaction`;
  if (await uses('pdm')) return `${VENV} && pdm install${updatesLocks ? '' : ' --frozen-lockfile'}`;
  const lists: string[] = [];
  for (const name of [...names].filter((one) => REQUIREMENTS.test(one)).sort())
    if (/^[ \t]*[^\s#]/m.test(read(name))) lists.push(`-r ${name}`);
  const isInstalled = isBuilt || (lists.length === 0 && hasDependencies(toml));
  const own = isInstalled ? [`-e ${withTestExtras(toml)}`] : [];
  const group = FOR_TESTS.map((name) => groupOf(toml, name)).find((found) => found.length > 0) ?? [];
  const what = [...lists, ...own, ...group.map((one) => `'${one.replaceAll("'", '"')}'`)].join(' ');
  if (what === '') return null;
  const install = `${PIP} ${what}`;
  // Without a network the build system can't be fetched, but may be installed.
  return `${VENV} && ${isInstalled ? `{ ${install} || ${PIP} --no-build-isolation ${what}; }` : install}`;
}

function hasBuildSystem(names: ReadonlySet<string>, toml: string): boolean {
  return names.has('setup.py') || /^[ \t]*\[build-system\]/m.test(toml);
}

/** `dependencies = [ … ]` under `[project]`, or anything but `python` under poetry's table. */
function hasDependencies(toml: string): boolean {
  const project = tableOf(toml, 'project');
  const poetry = tableOf(toml, 'tool.poetry.dependencies');
  return (
    /^[ \t]*dependencies[ \t]*=[ \t]*\[\s*(?:#[^\n]*\n\s*)*["']/m.test(project) ||
    poetry.split('\n').some((line) => /^\s*["']?[\w.-]+["']?\s*=/.test(line) && !/^\s*python\s*=/.test(line))
  );
}

const FOR_TESTS = ['test', 'tests', 'testing', 'dev'];

/**
 * What a dependency group of the project asks for, with the groups that it includes: older versions of pip don't know
 * groups. Empty where no group has that name.
 */
function groupOf(toml: string, name: string, depth = 0): string[] {
  const table = tableOf(toml, 'dependency-groups');
  const start = new RegExp(`^[ \\t]*["']?${name}["']?[ \\t]*=[ \\t]*\\[`, 'm').exec(table);
  if (start === null || depth > 5) return [];
  const found: string[] = [];
  const list = table.slice(start.index + start[0].length);
  for (const [piece, , group, , requirement] of list.matchAll(
    /#[^\n]*|\{\s*include-group\s*=\s*(["'])(.+?)\1\s*\}|(["'])(.*?)\3|\]/g,
  )) {
    if (piece === ']') break;
    if (group !== undefined) found.push(...groupOf(toml, group, depth + 1));
    else if (requirement !== undefined) found.push(requirement);
  }
  return found;
}

/** The project, with what it says that its tests need. */
function withTestExtras(toml: string): string {
  const extras = tableOf(toml, 'project.optional-dependencies');
  const name = FOR_TESTS.find((one) => new RegExp(`^[ \\t]*["']?${one}["']?[ \\t]*=`, 'm').test(extras));
  return name === undefined ? '.' : `'.[${name}]'`;
}

/** The lines of one table of a TOML file, without those of its subtables. */
export function tableOf(toml: string, name: string): string {
  const lines = toml.split('\n');
  const start = lines.findIndex((line) => line.split('#', 1)[0]?.trim() === `[${name}]`);
  if (start === -1) return '';
  const length = lines.slice(start + 1).findIndex((line) => /^\s*\[/.test(line));
  return lines.slice(start + 1, length === -1 ? undefined : start + 1 + length).join('\n');
}

const PYTHON_FILES = ['pyproject.toml', 'setup.py', 'setup.cfg', 'uv.lock', 'poetry.lock', 'pdm.lock'];

/**
 * What programs in a Python worktree see besides: the item's own virtual environment, which is outside of the tree, unless the
 * user's own set-up makes one; and in a project that nothing installs, the folders of its packages, so that a copy that the
 * system has is never what is tested. What the user's PYTHONPATH has of the checkout means the worktree.
 */
export async function pythonEnvironment(
  env: Readonly<Record<string, string>>,
  { worktree, packages = [], home, repository, ownVenv }: PythonPlaces,
): Promise<Record<string, string>> {
  const folders = await pythonFolders(worktree, packages);
  if (folders.length === 0) return {};
  const venv = join(home, 'venv');
  const given = (env['PYTHONPATH'] ?? '').split(delimiter).filter(Boolean);
  const moved = given.map((path) => (isInside(repository, path) ? join(worktree, relative(repository, path)) : path));
  const own: string[] = [];
  for (const { folder, names } of folders) {
    const toml = manifestText(join(folder, 'pyproject.toml'), worktree);
    const places = hasBuildSystem(names, toml) ? [] : [join(folder, 'src'), folder];
    for (const place of places) if ((await packagesIn(place)).length > 0) own.push(place);
  }
  const path = [...own, ...moved].join(delimiter);
  const environment = {
    VIRTUAL_ENV: venv,
    UV_PROJECT_ENVIRONMENT: venv,
    PATH: [join(venv, 'bin'), env['PATH'] ?? ''].join(delimiter),
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
  };
  return { ...(ownVenv ? environment : {}), ...(path === '' ? {} : { PYTHONPATH: path }) };
}

interface PythonPlaces {
  worktree: string;
  /** Folders of the packages that are tested; the top is always included. */
  packages?: readonly string[];
  home: string;
  repository: string;
  ownVenv: boolean;
}

/** The top and the package folders that contain Python. */
async function pythonFolders(worktree: string, packages: readonly string[]) {
  const found: { folder: string; names: ReadonlySet<string> }[] = [];
  for (const folder of new Set([worktree, ...packages.map((each) => join(worktree, each))])) {
    const names = await readdir(folder).catch(() => []);
    const isPython = (name: string): boolean =>
      PYTHON_FILES.includes(name) || REQUIREMENTS.test(name) || name.endsWith('.py');
    if (names.some(isPython)) found.push({ folder, names: new Set(names) });
  }
  return found;
}

/** Folders with an `__init__.py`. */
async function packagesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => /^\w+$/.test(name) && existsSync(join(folder, name, '__init__.py')));
}

const ORIGINS = `import importlib.util, sys
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name)
    print(name, (spec and (spec.origin or next(iter(spec.submodule_search_locations or []), ''))) or '')`;

/** Packages of the worktree that Python takes from elsewhere, such as the system's copy, and from where. */
export async function importedFromElsewhere(
  worktree: string,
  how: Pick<ProgramOptions, 'env' | 'signal' | 'sandbox'>,
): Promise<{ name: string; origin: string }[]> {
  const packages = await packagesIn(join(worktree, 'src'));
  if (packages.length === 0) return [];
  const command = ['python3', '-c', ORIGINS, ...packages];
  const { stdout, exitCode } = await runProgram({ ...how, command, cwd: worktree, timeoutMs: 30_000 });
  if (exitCode !== 0) return [];
  return stdout.split('\n').flatMap((line) => {
    const [name = '', ...rest] = line.split(' ');
    const origin = rest.join(' ');
    return origin !== '' && !isInside(worktree, origin) ? [{ name, origin }] : [];
  });
}
