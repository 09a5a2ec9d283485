import { join } from 'node:path';
import { writeReporter } from '../reports/lines.ts';
import type { Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { chosenTests, packaged, readLines } from './javascript.ts';

const FLAGS = /^(-i|--(ci|coverage|verbose|silent|runInBand|bail|forceExit|detectOpenHandles))$/;
const OUR_FLAGS = /^(--json$|--watch|--no-cache$|--onlyChanged$|-o$|--passWithNoTests)/;
const OUR_VALUES = /^--(outputFile|reporters|cacheDirectory|coverageDirectory|coverageReporters)(=|$)/;

export const jest: Runner = {
  ...packaged('jest', FLAGS, { configuration: /^jest\.config\.([cm]?[jt]s|json)$/ }),

  headAt(names, at) {
    if (names[at] === 'react-scripts') return names[at + 1] === 'test' ? at + 1 : null;
    return names[at] === 'jest' || names[at] === 'jest.js' ? at : null;
  },

  select(call, files) {
    const chosen = chosenTests(call, files, FLAGS);
    return chosen === null ? null : { ...chosen, last: ['--runTestsByPath', ...files] };
  },

  change: async (call, index, place, { coverage }) => ({
    measures: coverage,
    remove: optionsMatching(call, OUR_FLAGS, OUR_VALUES),
    // An option that takes a list would swallow the files after it, so the last option must not take one.
    first: [
      ...(coverage
        ? [
            '--coverageReporters=lcovonly',
            `--coverageDirectory=${join(place.folder, `coverage-${index}`)}`,
            '--coverage',
          ]
        : []),
      '--reporters=default',
      `--reporters=${await writeReporter(place, index, 'cjs', JEST_REPORTER)}`,
      `--cacheDirectory=${join(place.caches, 'jest')}`,
      // Otherwise a run without tests writes no report.
      '--passWithNoTests',
      '--ci',
    ],
  }),
  environment: async () => ({ env: { CI: '1' } }),
  read: (place, output) => readLines(place, output),
};

/** Runs inside the user's Jest, 24 or later. A test that is expected to fail counts as skipped. */
const JEST_REPORTER = `module.exports = class Lines {
  onTestResult(_, { testFilePath: file, testResults, testExecError, failureMessage }) {
    if (testExecError || (failureMessage && testResults.length === 0))
      write({ file, broken: failureMessage || String(testExecError.stack || testExecError.message) });
    for (const { ancestorTitles, title, status, failing, failureMessages } of testResults) {
      const outcome = status === 'failed' ? 'failed' : status === 'passed' && !failing ? 'passed' : 'skipped';
      write({ file, names: [...ancestorTitles, title], outcome, message: (failureMessages || []).join('\\n') });
    }
  }
  onRunComplete() {
    write({ end: true });
  }
};
`;
