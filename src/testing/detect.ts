import { posix } from 'node:path';
import type { TestSettings } from '../core/config.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import { withScriptsExpanded } from './npm-scripts.ts';
import type { RunnerName, TestSuite } from './port.ts';
import {
  dependsOn,
  filesBelow,
  folderFiles,
  hasFile,
  type PackageJson,
  type Project,
  type ProjectFiles,
  readProject,
  scriptCommand,
  withPackagePrograms,
} from './project.ts';
import { fromTop, type PackageTests, type SuiteOptions } from './run.ts';
import type { Runner } from './runner.ts';
import { withTestFlags } from './runners/node.ts';
import { RUNNERS, runnerNamed, testScript } from './runners.ts';
import { createSuite } from './suite.ts';
import { isRunnableTest } from './test-files.ts';

export interface DetectOptions extends SuiteOptions {
  /** The files under test, relative to the worktree. In a monorepo they select the packages whose tests run. */
  paths?: readonly string[];
  /** The whole environment of the tests. */
  env: Readonly<Record<string, string>>;
}

/** How the tests of one package run, according to its files. */
export interface FoundTests {
  name: RunnerName;
  /** The package's folder, relative to the repository; empty for the top. */
  folder: string;
  /** The command as typed in that folder, and the same with npm scripts expanded; null: use the runner's usual command. */
  written: { command: string; script: string } | null;
}

/** The test suite of a worktree; `findTests` decides which. */
export async function detectTests(options: DetectOptions): Promise<TestSuite> {
  const { directory, settings, paths } = options;
  const files = folderFiles(directory);
  const top = await readProject(files);
  const open = async ({ name, folder, written }: FoundTests): Promise<PackageTests> => {
    const place = posix.join(directory, folder);
    const env = withPackagePrograms(options.env, place);
    const runner = runnerNamed(name);
    const project = await readProject(filesBelow(files, folder));
    const command = written?.command ?? (await runner.usualCommand?.(place, project, env)) ?? '';
    const build = settings.command === null ? buildCommand(top, project, folder) : null;
    return { folder, runner, env, command, script: written?.script ?? command, build };
  };
  const [first, ...others] = await findTests(files, settings, directory, paths);
  return createSuite([await open(first), ...(await Promise.all(others.map(open)))], options);
}

/** The build script of the top, which builds all packages, or else of the package; as typed at the top. */
function buildCommand(top: Project, own: Project, folder: string): string | null {
  const hasBuild = ({ packageJson }: Project): boolean => (packageJson?.scripts.build ?? '').trim() !== '';
  if (hasBuild(top)) return scriptCommand(top, 'build');
  return hasBuild(own) ? fromTop(folder, scriptCommand(own, 'build', top)) : null;
}

/**
 * In this order: the configured command; the monorepo packages that contain `paths`; the `test` script of package.json;
 * the runner that the files point to (`runnerOf`). A test script that starts no known runner is an error: guessing another
 * command could silently run the wrong tests. `directory` only appears in the error.
 */
export async function findTests(
  files: ProjectFiles,
  settings: TestSettings,
  directory: string,
  paths: readonly string[] = [],
): Promise<readonly [FoundTests, ...FoundTests[]]> {
  const top = await readProject(files);
  const tests = paths.filter(isRunnableTest);
  const meant = settings.command === null ? (tests.length > 0 ? tests : paths) : [];
  const found = new Map<string, FoundTests>();
  for (const inside of new Set(meant.map((path) => posix.dirname(posix.normalize(path))))) {
    // The innermost package below the top whose tests are understood.
    let own: FoundTests | null = null;
    for (let folder = inside; own === null && folder !== '.' && folder !== '/'; folder = posix.dirname(folder))
      own = await testsOfPackage(files, folder, top, settings);
    // A file outside every package is tested from the top, and that run includes the packages.
    if (own === null) return [await testsAtTop(files, top, settings, directory)];
    found.set(own.folder, own);
  }
  const [first = await testsAtTop(files, top, settings, directory), ...others] = found.values();
  return [first, ...others];
}

/** The folders in which `findTests` finds the tests of these files; the top if they are not understood. */
export async function testFolders(
  files: ProjectFiles,
  settings: TestSettings,
  paths: readonly string[],
): Promise<string[]> {
  try {
    return (await findTests(files, settings, '', paths)).map(({ folder }) => folder);
  } catch (error) {
    undetectedIn(error);
    return [''];
  }
}

/** The packages of a monorepo whose tests are understood, at most two folders deep. For `agentos doctor`. */
export async function packagesWithTests(files: ProjectFiles, settings: TestSettings): Promise<FoundTests[]> {
  const top = await readProject(files);
  const found: FoundTests[] = [];
  const look = async (folder: string, depth: number): Promise<void> => {
    const names = found.length < MOST_PACKAGES ? await files.names(folder) : [];
    const own = await testsOfPackage(files, folder, top, settings);
    if (own !== null) found.push(own);
    else if (depth < 2)
      for (const name of names) if (isFolderName(name)) await look(posix.join(folder, name), depth + 1);
  };
  for (const name of top.top) if (isFolderName(name)) await look(name, 1);
  return found;
}

const MOST_PACKAGES = 50;

function isFolderName(name: string): boolean {
  return !name.includes('.') && !/^(node_modules|docs?|tests?|target|dist|build|vendor|LICENSE)$/i.test(name);
}

/** Files that make a folder a package. */
const MANIFEST =
  /^(package\.json|go\.mod|Cargo\.toml|pyproject\.toml|setup\.(py|cfg)|composer\.json|Gemfile|.+\.(gemspec|[cf]sproj|vbproj))$/;
/** The same for builds of several modules: only the outermost such folder is a package. */
const BUILD = /^(pom\.xml|(build|settings)\.gradle(\.kts)?)$/;

/** Null: the folder is not a package, or its files don't say how it is tested; the caller then tries the folder above. */
async function testsOfPackage(
  files: ProjectFiles,
  folder: string,
  above: Project,
  settings: TestSettings,
): Promise<FoundTests | null> {
  if (!(await isPackage(files, folder))) return null;
  const own = filesBelow(files, folder);
  const project = await readProject(own);
  const scripts = project.packageJson?.scripts ?? {};
  const isWanted = (name: RunnerName): boolean => settings.runner === null || settings.runner === name;
  const found = hasTestScript(scripts) ? ['test'] : namedAbove(above, scripts);
  const started: FoundTests[] = [];
  for (const each of found) {
    const script = await written(`npm run ${each}`, scripts, own);
    const name = runnerIn(script);
    const command = scriptCommand(project, each, above);
    if (name !== null && isWanted(name)) started.push({ name, folder, written: { command, script } });
  }
  // With several candidate scripts, there is no telling which one is meant.
  if (found.length > 0) return started.length === 1 ? (started[0] ?? null) : null;
  // A JavaScript package without a test script is tested from a folder above it.
  const runner = project.packageJson === null ? runnerOf(project).runner : null;
  return runner !== null && isWanted(runner.name) ? { name: runner.name, folder, written: null } : null;
}

async function isPackage(files: ProjectFiles, folder: string): Promise<boolean> {
  const has = async (place: string, pattern: RegExp): Promise<boolean> =>
    (await files.names(place === '.' ? '' : place)).some((name) => pattern.test(name));
  if (await has(folder, MANIFEST)) return true;
  if (!(await has(folder, BUILD))) return false;
  for (let above = folder; above !== '.'; ) {
    above = posix.dirname(above);
    if (await has(above, BUILD)) return false;
  }
  return true;
}

const MOST_NAMED = 50;

/** The package's scripts that the top-level test script names, as in `nx run-many --targets=lint,test:lib`. */
function namedAbove({ packageJson }: Project, scripts: PackageJson['scripts']): string[] {
  const above = withScriptsExpanded('npm test', packageJson?.scripts ?? {});
  const words = new Set(above.split(/[\s,=]+/));
  const named = Object.keys(scripts).filter((name) => words.has(name));
  return named
    .slice(0, MOST_NAMED)
    .filter((name) => runnerIn(withScriptsExpanded(`npm run ${name}`, scripts)) !== null);
}

/** The command with npm scripts expanded. */
async function written(command: string, scripts: PackageJson['scripts'], files: ProjectFiles): Promise<string> {
  return await withTestFlags(withScriptsExpanded(command, scripts), (path) => files.read(path));
}

async function testsAtTop(
  files: ProjectFiles,
  project: Project,
  settings: TestSettings,
  directory: string,
): Promise<FoundTests> {
  const scripts = project.packageJson?.scripts ?? {};
  const isAny = settings.runner === 'junit' || settings.runner === 'tap';
  const folder = '';
  const undetected = (script: string | null, runner: string | null): AgentosError =>
    new AgentosError({ code: 'tests-undetected', directory, script, runner });

  if (settings.command !== null) {
    const { command } = settings;
    const script = await written(command, scripts, files);
    const { runner } = runnerOf(project);
    const hidden = runner?.worksHidden === true ? runner.name : null;
    const name = settings.runner ?? runnerIn(script) ?? runnerOfReport(settings.report) ?? hidden;
    if (name === null) throw undetected(command, null);
    return { name, folder, written: { command, script } };
  }
  if (hasTestScript(scripts)) {
    const script = await written('npm test', scripts, files);
    const inScript = runnerIn(script) ?? runnerOfReport(settings.report);
    const name =
      isAny || settings.runner === null || settings.runner === inScript ? (settings.runner ?? inScript) : null;
    if (name !== null) return { name, folder, written: { command: scriptCommand(project, 'test'), script } };
    if (settings.runner === null) throw undetected(scripts.test ?? '', null);
  }
  if (isAny) throw undetected(null, null);
  if (settings.runner !== null) return { name: settings.runner, folder, written: null };
  const { runner, other } = runnerOf(project);
  if (runner === null) throw undetected(null, other);
  return { name: runner.name, folder, written: null };
}

/** The `tests-undetected` problem of an error; rethrows any other error. */
export function undetectedIn(error: unknown) {
  const { problem } = toErrorRecord(error);
  if (problem.code !== 'tests-undetected') throw error;
  return problem;
}

function runnerIn(script: string): RunnerName | null {
  return testScript(script).calls[0]?.runner ?? null;
}

function runnerOfReport(report: string | null): RunnerName | null {
  if (report === null) return null;
  return report.endsWith('.tap') ? 'tap' : 'junit';
}

/** `npm init` writes a placeholder script that always fails. */
function hasTestScript(scripts: PackageJson['scripts']): boolean {
  return (scripts.test ?? '').trim() !== '' && !scripts.test?.includes('no test specified');
}

/** Runners that need configuration before their results can be read, with their packages and configuration files. */
const OTHER_RUNNERS: readonly (readonly [runner: string, packages: readonly string[], configuration?: RegExp])[] = [
  ['lab', ['@hapi/lab']],
  ['karma', ['karma'], /^karma\.conf\./],
  ['web-test-runner', ['@web/test-runner'], /^web-test-runner\.config\./],
  ['Playwright', ['@playwright/test'], /^playwright\.config\./],
  ['Cypress', ['cypress'], /^cypress\.config\./],
  ['tox', [], /^tox\.ini$/],
  ['nox', [], /^noxfile\.py$/],
];

/** The runner that the project's files point to; `other`: the name of one that is not supported. */
function runnerOf(project: Project): { runner: Runner | null; other: string | null } {
  const [other = null] =
    OTHER_RUNNERS.find(
      ([, packages, configuration]) =>
        dependsOn(project, packages) || (configuration !== undefined && hasFile(project, configuration)),
    ) ?? [];
  const named = RUNNERS.find((runner) => runner.sign?.(project));
  const usual = other === null ? RUNNERS.find((runner) => runner.signOfLanguage?.(project)) : undefined;
  return { runner: named ?? usual ?? null, other };
}
