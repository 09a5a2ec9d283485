import type { TestSettings } from '../core/config.ts';
import { AgentosError } from '../core/errors.ts';
import { detectedByFiles, packageManager, scriptFor } from './detect-by-files.ts';
import { withScriptsExpanded } from './npm-scripts.ts';
import { type PackageJson, readPackageJson } from './package-json.ts';
import type { RunnerName, TestSuite } from './port.ts';
import { folderFiles, type ProjectFiles } from './project-files.ts';
import type { Runner } from './runner.ts';
import { type KnownRunner, runnerCalls } from './runner-calls.ts';
import { cargo } from './runners/cargo.ts';
import { go } from './runners/go.ts';
import { jest } from './runners/jest.ts';
import { node } from './runners/node.ts';
import { pytest } from './runners/pytest.ts';
import { vitest } from './runners/vitest.ts';
import { junit, tap } from './runners/written-report.ts';
import { withPackagePrograms } from './search-path.ts';
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

const RUNNERS: Readonly<Record<RunnerName, Runner>> = { vitest, jest, node, pytest, go, cargo, junit, tap };

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
  const usual = async (): Promise<string> =>
    name === 'junit' || name === 'tap' ? '' : await scriptFor(name, files, directory, env);
  const command = written?.command ?? (await usual());
  const script = written?.script ?? command;
  return createSuite({ ...options, name, command, script, env, runner: RUNNERS[name] });
}

/**
 * In this order: what is configured; the script `test` of package.json; where there is none, what the files say (see
 * `detectedByFiles`). A script that starts no runner that is known is never passed over: what it would have run is not known
 * then, and a guess would be wrong in silence. `directory` is for the error.
 */
export async function findTests(files: ProjectFiles, settings: TestSettings, directory: string): Promise<FoundTests> {
  const found = readPackageJson(await files.read('package.json'));
  const scripts = found?.scripts ?? {};
  const isAny = settings.runner === 'junit' || settings.runner === 'tap';
  const undetected = (script: string | null, runner: string | null): AgentosError =>
    new AgentosError({ code: 'tests-undetected', directory, script, runner });

  if (settings.command !== null) {
    const { command } = settings;
    const script = withScriptsExpanded(command, scripts);
    const name = settings.runner ?? runnerIn(script) ?? runnerOfReport(settings.report) ?? (await seenThrough());
    if (name === null) throw undetected(command, null);
    return { name, written: { command, script } };
  }
  if (hasTestScript(scripts)) {
    const script = withScriptsExpanded('npm test', scripts);
    const inScript = runnerIn(script) ?? runnerOfReport(settings.report);
    const name =
      isAny || settings.runner === null || settings.runner === inScript ? (settings.runner ?? inScript) : null;
    if (name !== null) return { name, written: { command: `${await packageManager(files)} test`, script } };
    if (settings.runner === null) throw undetected(scripts.test ?? '', null);
  }
  if (isAny) throw undetected(null, null);
  if (settings.runner !== null) return { name: settings.runner, written: null };
  const byFiles = await detectedByFiles(files, found);
  if (byFiles === null || 'other' in byFiles) throw undetected(null, byFiles?.other ?? null);
  return { name: byFiles.runner, written: null };

  /** Runners whose report comes out even of a command that hides them, such as `make test`. */
  async function seenThrough(): Promise<RunnerName | null> {
    const seen = await detectedByFiles(files, found);
    const runner = seen !== null && 'runner' in seen ? seen.runner : null;
    return runner === 'pytest' || runner === 'go' || runner === 'cargo' ? runner : null;
  }
}

function runnerIn(script: string): KnownRunner | null {
  return runnerCalls(script)[0]?.runner ?? null;
}

function runnerOfReport(report: string | null): RunnerName | null {
  if (report === null) return null;
  return report.endsWith('.tap') ? 'tap' : 'junit';
}

/** `npm init` writes a script that only says that there is none. */
function hasTestScript(scripts: PackageJson['scripts']): boolean {
  return (scripts.test ?? '').trim() !== '' && !scripts.test?.includes('no test specified');
}
