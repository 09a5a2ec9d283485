import { isRead, type TestRun, type TestRunOptions, type TestSuite } from './port.ts';

/** Combines the suites of several packages into one. They run in sequence, and the worst outcome is the outcome. */
export function joinedSuites(suites: readonly [TestSuite, ...TestSuite[]]): TestSuite {
  const [first, ...others] = suites;
  if (others.length === 0) return first;
  return {
    runner: first.runner,
    get command() {
      return suites.map(({ command }) => `(${command})`).join(' && ');
    },
    folders: suites.flatMap(({ folders }) => folders),
    fetchesFirst: suites.some(({ fetchesFirst }) => fetchesFirst),
    isTestFile: (path) => suites.some((suite) => suite.isTestFile(path)),
    ...(suites.some(({ buildFirst }) => buildFirst !== undefined)
      ? {
          buildFirst(isWanted: boolean) {
            for (const suite of suites) suite.buildFirst?.(isWanted);
          },
        }
      : {}),
    async run(options) {
      const runs: TestRun[] = [];
      for (const suite of suites) {
        const own = ownOptions(suite, options);
        if (own !== null) runs.push(await suite.run(own));
      }
      return joinedRuns(runs);
    },
  };
}

/** Null: none of the selected files is in this suite's package. */
function ownOptions({ folders }: TestSuite, options: TestRunOptions): TestRunOptions | null {
  if (options.files === undefined) return options;
  const files = options.files.filter((file) =>
    folders.some((folder) => folder === '' || file.startsWith(`${folder}/`)),
  );
  return files.length === 0 ? null : { ...options, files };
}

const WORST_FIRST: readonly TestRun['outcome'][] = ['failed', 'passed', 'no-tests'];

function joinedRuns(runs: readonly TestRun[]): TestRun {
  const outcomes = runs.map(({ outcome }) => outcome);
  const coverage = runs.flatMap((run) => run.coverage ?? []);
  const failed = runs.find(({ exitCode }) => exitCode !== 0);
  return {
    command: runs.map(({ command }) => `(${command})`).join(' && '),
    outcome:
      runs.find((run) => !isRead(run))?.outcome ??
      WORST_FIRST.find((outcome) => outcomes.includes(outcome)) ??
      'no-tests',
    exitCode: failed === undefined ? 0 : failed.exitCode,
    durationMs: runs.reduce((sum, { durationMs }) => sum + durationMs, 0),
    cases: runs.flatMap(({ cases }) => cases),
    loadFailures: runs.flatMap(({ loadFailures }) => loadFailures),
    coverage: runs.some((run) => run.coverage !== null) ? coverage : null,
    tail: runs.map(({ tail }) => tail).join('\n'),
  };
}
