import { join } from 'node:path';
import { parseJestJson } from '../reports/jest-json.ts';
import { typescriptFailures } from '../reports/typescript.ts';
import type { Runner } from '../runner.ts';
import { optionsMatching, plainArguments, runnerCalls, withCallsChanged } from '../runner-calls.ts';
import { isJavaScriptTest } from './javascript-files.ts';
import { lcovCoverage, textsIn } from './report-files.ts';

const TAKES_VALUE = new Set(
  `-c --config --rootDir --roots -t --testNamePattern --testPathPattern --testPathPatterns -w --maxWorkers
  --maxConcurrency --env --testEnvironment --outputFile --reporters --shard --coverageDirectory
  --coverageReporters --coverageProvider --collectCoverageFrom --selectProjects --projects --testTimeout
  --cacheDirectory --setupFiles --setupFilesAfterEnv --preset --filter --globalSetup --globalTeardown
  --testMatch --testRegex --testPathIgnorePatterns --transform --ignoreProjects --coverageThreshold
  --testResultsProcessor --testRunner --testSequencer --seed`.split(/\s+/),
);
const OURS =
  /^(--json$|--outputFile|--watch|--cacheDirectory|--no-cache$|--onlyChanged$|-o$|--coverageDirectory|--coverageReporters|--passWithNoTests)/;

export const jest: Runner = {
  select(script, files) {
    const [call, ...others] = runnerCalls(script).filter(({ runner }) => runner === 'jest');
    const chosen = files.filter(isJavaScriptTest);
    if (call === undefined || others.length > 0 || chosen.length === 0) return script;
    const remove = plainArguments(call, TAKES_VALUE);
    return withCallsChanged(script, new Map([[call, { remove, last: ['--runTestsByPath', ...chosen] }]]));
  },

  async instrument(script, place, coverage) {
    const calls = runnerCalls(script).filter(({ runner }) => runner === 'jest');
    const changes = calls.map((call, index) => {
      const change = {
        remove: optionsMatching(call, OURS, TAKES_VALUE),
        // Options that take a list would swallow the files that come after them: the last one takes none.
        first: [
          ...(coverage
            ? ['--coverageReporters=lcovonly', `--coverageDirectory=${join(place.folder, `coverage-${index}`)}`]
            : []),
          ...(coverage ? ['--coverage'] : []),
          `--outputFile=${join(place.folder, `report-${index}.json`)}`,
          `--cacheDirectory=${join(place.caches, 'jest')}`,
          // Without it, there is no report where there is no test yet.
          '--passWithNoTests',
          '--json',
          '--ci',
        ],
      };
      return [call, change] as const;
    });
    return { script: withCallsChanged(script, new Map(changes)), env: { CI: '1' } };
  },

  async read(place, output) {
    const reports = await textsIn(place.folder, /^report-.*\.json$/);
    const readings = reports.map((text) => parseJestJson(text, place.pathInWorktree)).filter((found) => found !== null);
    if (readings.length === 0) return typescriptFailures(output, place.pathInWorktree);
    return {
      cases: readings.flatMap(({ cases }) => cases),
      loadFailures: readings.flatMap(({ loadFailures }) => loadFailures),
      coverage: await lcovCoverage(place),
    };
  },
};
