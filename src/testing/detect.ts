import { posix } from 'node:path';
import type { TestSettings } from '../core/config.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
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
  packageManager,
  readProject,
  withPackagePrograms,
} from './project.ts';
import type { Runner, RunnerSign } from './runner.ts';
import { withTestFlags } from './runners/node.ts';
import { RUNNERS, runnerNamed, testScript } from './runners.ts';
import { createSuite } from './suite.ts';
import { isRunnableTest } from './test-files.ts';

export interface DetectOptions {
  /** The worktree. */
  directory: string;
  settings: TestSettings;
  /** What is to be tested, relative to the worktree: in a monorepo it says which package's tests are meant. */
  paths?: readonly string[];
  /** All that the tests see of the environment. */
  env: Readonly<Record<string, string>>;
  /** Absent: they run without one. */
  sandbox?: OpenSandbox | undefined;
  /** A folder of ours outside of the worktree, for reports and caches; made when needed. */
  scratch: string;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Hides secrets in the lines. */
  mask?: (text: string) => string;
  onProgress: () => void;
  onGroup: (leader: number, ended: boolean) => void;
}

/** How the tests of a project are run, as far as its files tell. */
export interface FoundTests {
  name: RunnerName;
  /** Of the package, relative to the repository; empty for the top. */
  folder: string;
  /** As a person would type it there, and the same with all scripts written out; null: as the runner is usually started. */
  written: { command: string; script: string } | null;
}

/** How the tests of a worktree are run: see `findTests`. */
export async function detectTests(options: DetectOptions): Promise<TestSuite> {
  const { directory, settings, paths } = options;
  const files = folderFiles(directory);
  const { name, folder, written } = await findTests(files, settings, directory, paths);
  const place = posix.join(directory, folder);
  const env = withPackagePrograms(options.env, place);
  const runner = runnerNamed(name);
  const usual = async (): Promise<string> =>
    (await runner.usualCommand?.(place, await readProject(filesBelow(files, folder)), env)) ?? '';
  const command = written?.command ?? (await usual());
  return createSuite({ ...options, env, folder, runner, command, script: written?.script ?? command });
}

/**
 * In this order: what is configured; the package of a monorepo that `paths` are in; the script `test` of package.json;
 * where there is none, what the files say (see `runnerOf`). A script that starts no runner that is known is never passed
 * over: what it would have run is not known then, and a guess would be wrong in silence. `directory` is for the error.
 */
export async function findTests(
  files: ProjectFiles,
  settings: TestSettings,
  directory: string,
  paths: readonly string[] = [],
): Promise<FoundTests> {
  const top = await readProject(files);
  if (settings.command === null) {
    for (const folder of foldersAround(paths)) {
      const found = await testsOfPackage(files, folder, top, settings);
      if (found !== null) return found;
    }
  }
  return await testsAtTop(files, top, settings, directory);
}

/** For people: the packages of a monorepo whose tests are understood, two folders deep at most. */
export async function packagesWithTests(files: ProjectFiles, settings: TestSettings): Promise<FoundTests[]> {
  const top = await readProject(files);
  const found: FoundTests[] = [];
  const look = async (folder: string, depth: number): Promise<void> => {
    const names = found.length < MOST_PACKAGES ? await files.names(folder) : [];
    const own = names.some((name) => MANIFEST.test(name)) ? await testsOfPackage(files, folder, top, settings) : null;
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

/** What makes a folder a package of its own. */
const MANIFEST =
  /^(package\.json|go\.mod|Cargo\.toml|pyproject\.toml|setup\.(py|cfg)|composer\.json|Gemfile|.+\.(gemspec|[cf]sproj|vbproj))$/;

/** The folders below the top that hold all of these files, innermost first. Where there are tests, they alone count. */
function foldersAround(paths: readonly string[]): string[] {
  const tests = paths.filter(isRunnableTest);
  const [first, ...others] = (tests.length > 0 ? tests : paths).map((path) => posix.dirname(posix.normalize(path)));
  const found: string[] = [];
  for (let folder = first ?? '.'; folder !== '.' && folder !== '/'; folder = posix.dirname(folder))
    if (others.every((other) => other === folder || other.startsWith(`${folder}/`))) found.push(folder);
  return found;
}

/** Null where the folder is no package, or its files don't say how it is tested: then those around it are asked. */
async function testsOfPackage(
  files: ProjectFiles,
  folder: string,
  above: Project,
  settings: TestSettings,
): Promise<FoundTests | null> {
  if (!(await files.names(folder)).some((name) => MANIFEST.test(name))) return null;
  const own = filesBelow(files, folder);
  const project = await readProject(own);
  const scripts = project.packageJson?.scripts ?? {};
  const isWanted = (name: RunnerName): boolean => settings.runner === null || settings.runner === name;
  const found = hasTestScript(scripts) ? ['test'] : namedAbove(above, scripts);
  const started: FoundTests[] = [];
  for (const each of found) {
    const script = await written(`npm run ${each}`, scripts, own);
    const name = runnerIn(script);
    const manager = packageManager([...project.top, ...above.top]);
    const command = each === 'test' ? `${manager} test` : `${manager} run ${each}`;
    if (name !== null && isWanted(name)) started.push({ name, folder, written: { command, script } });
  }
  // Of several scripts with a runner, none is the one that is meant.
  if (found.length > 0) return started.length === 1 ? (started[0] ?? null) : null;
  // Without a script of its own, a package of JavaScript is tested by what lies around it.
  const runner = project.packageJson === null ? runnerOf(project) : null;
  if (runner === null || typeof runner === 'string' || !isWanted(runner.name)) return null;
  return { name: runner.name, folder, written: null };
}

/** Scripts of a package that the top's script names for its tool to run in each: `nx run-many --targets=lint,test:lib`. */
function namedAbove({ packageJson }: Project, scripts: PackageJson['scripts']): string[] {
  const above = withScriptsExpanded('npm test', packageJson?.scripts ?? {});
  const words = new Set(above.split(/[\s,=]+/));
  return Object.keys(scripts).filter(
    (name) => words.has(name) && runnerIn(withScriptsExpanded(`npm run ${name}`, scripts)) !== null,
  );
}

/** A command with all scripts written out. */
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
    const found = runnerOf(project);
    const hidden = found !== null && typeof found !== 'string' && found.worksHidden === true ? found.name : null;
    const name = settings.runner ?? runnerIn(script) ?? runnerOfReport(settings.report) ?? hidden;
    if (name === null) throw undetected(command, null);
    return { name, folder, written: { command, script } };
  }
  if (hasTestScript(scripts)) {
    const script = await written('npm test', scripts, files);
    const inScript = runnerIn(script) ?? runnerOfReport(settings.report);
    const name =
      isAny || settings.runner === null || settings.runner === inScript ? (settings.runner ?? inScript) : null;
    if (name !== null) return { name, folder, written: { command: `${packageManager(project.top)} test`, script } };
    if (settings.runner === null) throw undetected(scripts.test ?? '', null);
  }
  if (isAny) throw undetected(null, null);
  if (settings.runner !== null) return { name: settings.runner, folder, written: null };
  const found = runnerOf(project);
  if (found === null || typeof found === 'string') throw undetected(null, found);
  return { name: found.name, folder, written: null };
}

/** The problem of a project whose tests are not understood; throws whatever else went wrong. */
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

/** `npm init` writes a script that only says that there is none. */
function hasTestScript(scripts: PackageJson['scripts']): boolean {
  return (scripts.test ?? '').trim() !== '' && !scripts.test?.includes('no test specified');
}

/** Runners whose reports can't be read without a word of configuration, by their packages and configuration files. */
const OTHER_RUNNERS: readonly (readonly [runner: string, packages: readonly string[], configuration?: RegExp])[] = [
  ['tape', ['tape']],
  ['lab', ['@hapi/lab']],
  ['karma', ['karma'], /^karma\.conf\./],
  ['web-test-runner', ['@web/test-runner'], /^web-test-runner\.config\./],
  ['Playwright', ['@playwright/test'], /^playwright\.config\./],
  ['Cypress', ['cypress'], /^cypress\.config\./],
  ['tox', [], /^tox\.ini$/],
  ['nox', [], /^noxfile\.py$/],
];

/** The runner that a project's files speak for, or the name of one that is not known; the surest sign wins. */
function runnerOf(project: Project): Runner | string | null {
  const signs = RUNNERS.map((runner) => ({ runner, sign: runner.sign?.(project) ?? null }));
  const first = (sign: RunnerSign): Runner | undefined => signs.find((found) => found.sign === sign)?.runner;
  const other = OTHER_RUNNERS.find(
    ([, packages, configuration]) =>
      dependsOn(project, packages) || (configuration !== undefined && hasFile(project, configuration)),
  );
  return first('named') ?? other?.[0] ?? first('language') ?? null;
}
