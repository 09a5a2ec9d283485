import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import type { TestCase } from '../port.ts';
import type { PathInWorktree } from '../worktree-path.ts';
import { caseMessage, loadMessage, type Reading } from './report.ts';

/** The report that Jest made up and Vitest writes too. */
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
