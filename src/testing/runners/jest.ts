import { join } from 'node:path';
import { dependsOn, hasFile } from '../project.ts';
import { lcovIn } from '../reports/coverage.ts';
import { parseJestJson } from '../reports/jest-json.ts';
import { textsIn, together } from '../reports/report.ts';
import { changedCalls, type Runner } from '../runner.ts';
import { optionsMatching, plainArguments } from '../runner-call.ts';
import { isTestOf } from '../test-files.ts';
import { isJavaScriptMissing, typescriptFailures } from './javascript.ts';

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
  name: 'jest',
  isMissingCode: isJavaScriptMissing,
  sign: (project) =>
    dependsOn(project, ['jest']) || hasFile(project, /^jest\.config\.([cm]?[jt]s|json)$/) ? 'named' : null,
  usualCommand: async () => 'jest',

  headAt(names, at) {
    if (names[at] === 'react-scripts') return names[at + 1] === 'test' ? at + 1 : null;
    return names[at] === 'jest' || names[at] === 'jest.js' ? at : null;
  },

  select(call, files) {
    const chosen = files.filter((file) => isTestOf('javascript', file));
    if (chosen.length === 0) return null;
    return { remove: plainArguments(call, TAKES_VALUE), last: ['--runTestsByPath', ...chosen] };
  },

  async instrument(script, place, coverage) {
    const changes = await changedCalls(script, 'jest', (call, index) => ({
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
    }));
    return { changes, env: { CI: '1' } };
  },

  async read({ folder, pathInWorktree }, output) {
    const reports = await textsIn(folder, /^report-.*\.json$/);
    const readings = reports.map((text) => parseJestJson(text, pathInWorktree)).filter((found) => found !== null);
    if (readings.length === 0) return typescriptFailures(output, pathInWorktree);
    return { ...together(readings), coverage: await lcovIn(folder, pathInWorktree) };
  },
};
