import type { TestSettings } from '../core/config.ts';
import { AgentosError } from '../core/errors.ts';
import { detectedByFiles, packageManager, scriptFor } from './detect-by-files.ts';
import { withScriptsExpanded } from './npm-scripts.ts';
import { type PackageJson, readPackageJson } from './package-json.ts';
import type { RunnerName, TestSuite } from './port.ts';
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

interface Choice {
  name: RunnerName;
  /** As a person would type it. */
  command: string;
  script: string;
}

/**
 * How the tests of a worktree are run. In this order: what is configured; the script `test` of package.json, where it
 * starts a runner that is known; then what the files say (see `detectedByFiles`).
 */
export async function detectTests(options: DetectOptions): Promise<TestSuite> {
  const { directory, settings } = options;
  const env = withPackagePrograms(options.env, directory);
  const choice = await choose(directory, settings, env);
  if (choice === null) throw new AgentosError({ code: 'tests-undetected', directory });
  return createSuite({ ...options, ...choice, env, runner: RUNNERS[choice.name] });
}

async function choose(
  directory: string,
  settings: TestSettings,
  env: Readonly<Record<string, string>>,
): Promise<Choice | null> {
  const found = await readPackageJson(directory);
  const scripts = found?.scripts ?? {};
  if (settings.command !== null) {
    const { command } = settings;
    const script = withScriptsExpanded(command, scripts);
    const name = settings.runner ?? runnerIn(script) ?? runnerOfReport(settings.report) ?? (await seenThrough());
    return name === null ? null : { name, command, script };
  }
  if (hasTestScript(scripts)) {
    const script = withScriptsExpanded('npm test', scripts);
    const inScript = runnerIn(script) ?? runnerOfReport(settings.report);
    const isAny = settings.runner === null || settings.runner === 'junit' || settings.runner === 'tap';
    const name = isAny ? (settings.runner ?? inScript) : inScript === settings.runner ? inScript : null;
    if (name !== null) return { name, command: `${await packageManager(directory)} test`, script };
  }
  if (settings.runner === 'junit' || settings.runner === 'tap') return null;
  const name = settings.runner ?? (await detectedByFiles(directory, found));
  if (name === null) return null;
  const command = await scriptFor(name, directory, env);
  return { name, command, script: command };

  /** Runners whose report comes out even of a command that hides them, such as `make test`. */
  async function seenThrough(): Promise<RunnerName | null> {
    const seen = await detectedByFiles(directory, found);
    return seen === 'pytest' || seen === 'go' || seen === 'cargo' ? seen : null;
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
  return scripts.test !== undefined && !scripts.test.includes('no test specified');
}
