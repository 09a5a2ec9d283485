import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import type { TestCase } from '../port.ts';
import { signOf } from '../project.ts';
import { lcovIn } from '../reports/coverage.ts';
import { caseMessage, loadMessage, type PathInWorktree, type Reading, textsIn, together } from '../reports/report.ts';
import { changedCalls, type Runner } from '../runner.ts';
import { optionsMatching } from '../script.ts';
import { chosenTests, isJavaScriptMissing, withPrintedErrors } from './javascript.ts';

const FLAGS = /^(-i|--(ci|coverage|verbose|silent|runInBand|bail|forceExit|detectOpenHandles))$/;
const OUR_FLAGS = /^(--json$|--watch|--no-cache$|--onlyChanged$|-o$|--passWithNoTests)/;
const OUR_VALUES = /^--(outputFile|cacheDirectory|coverageDirectory|coverageReporters)(=|$)/;

export const jest: Runner = {
  name: 'jest',
  isMissingCode: isJavaScriptMissing,
  sign: signOf(['jest'], /^jest\.config\.([cm]?[jt]s|json)$/),
  usualCommand: async () => 'jest',

  headAt(names, at) {
    if (names[at] === 'react-scripts') return names[at + 1] === 'test' ? at + 1 : null;
    return names[at] === 'jest' || names[at] === 'jest.js' ? at : null;
  },

  select(call, files) {
    const chosen = chosenTests(call, files, FLAGS);
    return chosen === null ? null : { ...chosen, last: ['--runTestsByPath', ...files] };
  },

  async instrument(script, place, coverage) {
    const changes = await changedCalls(script, 'jest', (call, index) => ({
      remove: optionsMatching(call, OUR_FLAGS, OUR_VALUES),
      // Options that take a list would swallow the files that come after them: the last one takes none.
      first: [
        ...(coverage
          ? [
              '--coverageReporters=lcovonly',
              `--coverageDirectory=${join(place.folder, `coverage-${index}`)}`,
              '--coverage',
            ]
          : []),
        `--outputFile=${join(place.folder, `report-${index}.json`)}`,
        `--cacheDirectory=${join(place.caches, 'jest')}`,
        // Without it, there is no report where there is no test yet.
        '--passWithNoTests',
        '--json',
        '--ci',
      ],
    }));
    return { changes, env: { CI: '1' }, measures: coverage };
  },

  async read({ folder, pathInWorktree }, output) {
    const reading = withPrintedErrors(await jestReports(folder, pathInWorktree), output, pathInWorktree);
    if (reading === null) return null;
    return { ...reading, coverage: await lcovIn(folder, pathInWorktree) };
  },
};

/** All reports of a run, which Vitest writes in the same form; null where there is none. */
export async function jestReports(folder: string, pathInWorktree: PathInWorktree): Promise<Reading | null> {
  const texts = await textsIn(folder, /^report-.*\.json$/);
  const readings = texts.map((text) => parseJestJson(text, pathInWorktree)).filter((found) => found !== null);
  return readings.length === 0 ? null : together(readings);
}

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().nullish(),
      assertionResults: z.array(
        z.object({
          ancestorTitles: z.array(z.string()),
          title: z.string(),
          status: z.string().nullish(),
          failing: z.boolean().nullish(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/** Null where the text is no such report. */
export function parseJestJson(text: string, pathInWorktree: PathInWorktree): Reading | null {
  const parsed = reportSchema.safeParse(parseJson(text));
  if (!parsed.success) return null;
  const reading: Reading = { cases: [], loadFailures: [] };
  for (const result of parsed.data.testResults) {
    const file = pathInWorktree(result.name);
    const message = result.message ?? '';
    // Jest repeats the failures of tests here, and says so differently when the file itself is what failed.
    const isBroken =
      result.status === 'failed' &&
      (result.assertionResults.length === 0 || message.includes('● Test suite failed to run'));
    if (isBroken) reading.loadFailures.push({ file, message: loadMessage(message) });
    for (const test of result.assertionResults) {
      const outcome = outcomeOf(test.status ?? '', test.failing === true);
      reading.cases.push({
        file,
        name: [...test.ancestorTitles.filter((title) => title !== ''), test.title].join(' > '),
        outcome,
        message: outcome === 'failed' ? caseMessage((test.failureMessages ?? []).join('\n')) : null,
      });
    }
  }
  return reading;
}

/** A test that is expected to fail and does says nothing about the code. */
function outcomeOf(status: string, isExpectedToFail: boolean): TestCase['outcome'] {
  if (status === 'failed') return 'failed';
  return status === 'passed' && !isExpectedToFail ? 'passed' : 'skipped';
}
