import { isRead, type TestRun, type TestRunOptions, type TestSuite } from './port.ts';
import { fromTop, type PackageTests, runPackage, type SuiteOptions, withBuild } from './run.ts';
import { createIsTestFile } from './test-files.ts';

/** These download dependencies during the first test run, which a sandbox blocks. */
const FETCHING: ReadonlySet<string> = new Set(['maven', 'gradle', 'dotnet']);

/** The tests of these packages, which run in sequence. */
export function createSuite(packages: readonly [PackageTests, ...PackageTests[]], options: SuiteOptions): TestSuite {
  let builds = false;
  const now = (): PackageTests[] => packages.map((each) => (builds ? each : { ...each, build: null }));
  return {
    runner: packages[0].runner.name,
    get command() {
      return joinedCommands(now().map((each) => withBuild(each, fromTop(each.folder, each.command))));
    },
    folders: packages.map(({ folder }) => folder),
    fetchesFirst: options.sandbox !== undefined && packages.some(({ runner }) => FETCHING.has(runner.name)),
    isTestFile: createIsTestFile(options.settings.files),
    ...(packages.some(({ build }) => build !== null)
      ? {
          buildFirst(isWanted: boolean) {
            builds = isWanted;
          },
        }
      : {}),
    async run(wish) {
      const runs: TestRun[] = [];
      for (const each of now()) {
        const own = packages.length === 1 ? wish : ownWish(each, wish);
        if (own !== null) runs.push(await runPackage(each, options, own));
      }
      return joinedRuns(runs);
    },
  };
}

/** Null: none of the selected files is in this package. */
function ownWish({ folder }: PackageTests, wish: TestRunOptions): TestRunOptions | null {
  if (wish.files === undefined) return wish;
  const files = wish.files.filter((file) => folder === '' || file.startsWith(`${folder}/`));
  return files.length === 0 ? null : { ...wish, files };
}

function joinedCommands(commands: readonly string[]): string {
  return commands.length === 1 ? (commands[0] ?? '') : commands.map((command) => `(${command})`).join(' && ');
}

const WORST_FIRST: readonly TestRun['outcome'][] = ['failed', 'passed', 'no-tests'];

/** One report of several packages: the worst outcome is the outcome. */
export function joinedRuns(runs: readonly TestRun[]): TestRun {
  const [only, ...others] = runs;
  if (only !== undefined && others.length === 0) return only;
  const outcomes = runs.map(({ outcome }) => outcome);
  const failed = runs.find(({ exitCode }) => exitCode !== 0);
  return {
    command: joinedCommands(runs.map(({ command }) => command)),
    outcome:
      runs.find((run) => !isRead(run))?.outcome ??
      WORST_FIRST.find((outcome) => outcomes.includes(outcome)) ??
      'no-tests',
    exitCode: failed === undefined ? 0 : failed.exitCode,
    durationMs: runs.reduce((sum, { durationMs }) => sum + durationMs, 0),
    cases: runs.flatMap(({ cases }) => cases),
    loadFailures: runs.flatMap(({ loadFailures }) => loadFailures),
    coverage: runs.some((run) => run.coverage !== null) ? runs.flatMap((run) => run.coverage ?? []) : null,
    tail: runs.map(({ tail }) => tail).join('\n'),
  };
}

/** Used when no runner is detected and tests are not required: it recognises test files but can't run them. */
export function noSuite(patterns: readonly string[]): TestSuite {
  return {
    runner: 'tap',
    folders: [''],
    command: 'the tests of this repository',
    isTestFile: createIsTestFile(patterns),
    run: () => Promise.resolve({ ...joinedRuns([]), command: 'none', outcome: 'could-not-run', exitCode: null }),
  };
}
