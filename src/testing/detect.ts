import type { TestSettings } from '../core/config.ts';
import { AgentosError } from '../core/errors.ts';
import { withScriptsExpanded } from './npm-scripts.ts';
import type { RunnerName, TestSuite } from './port.ts';
import {
  dependsOn,
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
import { RUNNERS, runnerNamed, testScript } from './runners.ts';
import { createSuite } from './suite.ts';

export interface DetectOptions {
  /** The worktree. */
  directory: string;
  settings: TestSettings;
  /** All that the tests see of the environment. */
  env: Readonly<Record<string, string>>;
  /** A folder of ours outside of the worktree, for reports and caches; made when needed. */
  scratch: string;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  onProgress: () => void;
  onGroup: (leader: number, ended: boolean) => void;
}

/** How the tests of a project are run, as far as its files tell. */
export interface FoundTests {
  name: RunnerName;
  /** As a person would type it, and the same with all scripts written out; null: as the runner is usually started. */
  written: { command: string; script: string } | null;
}

/** How the tests of a worktree are run: see `findTests`. */
export async function detectTests(options: DetectOptions): Promise<TestSuite> {
  const { directory, settings } = options;
  const env = withPackagePrograms(options.env, directory);
  const files = folderFiles(directory);
  const { name, written } = await findTests(files, settings, directory);
  const runner = runnerNamed(name);
  const usual = async (): Promise<string> =>
    (await runner.usualCommand?.(directory, await readProject(files), env)) ?? '';
  const command = written?.command ?? (await usual());
  return createSuite({ ...options, env, runner, command, script: written?.script ?? command });
}

/**
 * In this order: what is configured; the script `test` of package.json; where there is none, what the files say (see
 * `runnerOf`). A script that starts no runner that is known is never passed over: what it would have run is not known then,
 * and a guess would be wrong in silence. `directory` is for the error.
 */
export async function findTests(files: ProjectFiles, settings: TestSettings, directory: string): Promise<FoundTests> {
  const project = await readProject(files);
  const scripts = project.packageJson?.scripts ?? {};
  const isAny = settings.runner === 'junit' || settings.runner === 'tap';
  const undetected = (script: string | null, runner: string | null): AgentosError =>
    new AgentosError({ code: 'tests-undetected', directory, script, runner });

  if (settings.command !== null) {
    const { command } = settings;
    const script = withScriptsExpanded(command, scripts);
    const found = runnerOf(project);
    const hidden = found !== null && typeof found !== 'string' && found.worksHidden === true ? found.name : null;
    const name = settings.runner ?? runnerIn(script) ?? runnerOfReport(settings.report) ?? hidden;
    if (name === null) throw undetected(command, null);
    return { name, written: { command, script } };
  }
  if (hasTestScript(scripts)) {
    const script = withScriptsExpanded('npm test', scripts);
    const inScript = runnerIn(script) ?? runnerOfReport(settings.report);
    const name =
      isAny || settings.runner === null || settings.runner === inScript ? (settings.runner ?? inScript) : null;
    if (name !== null) return { name, written: { command: `${packageManager(project.top)} test`, script } };
    if (settings.runner === null) throw undetected(scripts.test ?? '', null);
  }
  if (isAny) throw undetected(null, null);
  if (settings.runner !== null) return { name: settings.runner, written: null };
  const found = runnerOf(project);
  if (found === null || typeof found === 'string') throw undetected(null, found);
  return { name: found.name, written: null };
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
  ['mocha', ['mocha'], /^\.mocharc\./],
  ['ava', ['ava'], /^ava\.config\./],
  ['tap', ['tap', '@tapjs/core'], /^\.taprc$/],
  ['tape', ['tape']],
  ['uvu', ['uvu']],
  ['jasmine', ['jasmine', 'jasmine-core'], /^jasmine\.(json|mjs)$/],
  ['qunit', ['qunit', 'qunitjs']],
  ['bun test', ['@types/bun', 'bun-types'], /^bunfig\.toml$/],
  ['borp', ['borp']],
  ['lab', ['@hapi/lab']],
  ['karma', ['karma'], /^karma\.conf\./],
  ['web-test-runner', ['@web/test-runner'], /^web-test-runner\.config\./],
  ['Playwright', ['@playwright/test'], /^playwright\.config\./],
  ['Cypress', ['cypress'], /^cypress\.config\./],
];

/** The runner that a project's files speak for, or the name of one that is not known; the surest sign wins. */
function runnerOf(project: Project): Runner | string | null {
  const signs = RUNNERS.map((runner) => ({ runner, sign: runner.sign?.(project) ?? null }));
  const first = (sign: RunnerSign): Runner | undefined => signs.find((found) => found.sign === sign)?.runner;
  const other = OTHER_RUNNERS.find(
    ([, packages, configuration]) =>
      dependsOn(project, packages) || (configuration !== undefined && hasFile(project, configuration)),
  );
  return first('named') ?? first('language') ?? other?.[0] ?? first('fallback') ?? null;
}
