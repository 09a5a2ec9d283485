import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import { caseMessage, loadMessage, type PathInWorktree, type Reading, textsIn, together } from './report.ts';

/*
 * The report of our own reporters, which run inside of runners that have none that tells enough: a line of JSON for each
 * test, or for each file that can't be loaded, and a last line, without which the report was cut off.
 */

const END = '{"end":true}';

const lineSchema = z.union([
  z.object({
    file: z.string().nullish(),
    names: z.array(z.string()),
    outcome: z.enum(['passed', 'failed', 'skipped']),
    message: z.string().nullish(),
  }),
  z.object({ file: z.string().nullish(), broken: z.string() }),
]);

/** Null where it never came to its end. */
export function parseLines(text: string, pathInWorktree: PathInWorktree): Reading | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.at(-1)?.replaceAll(' ', '') !== END) return null;
  const reading: Reading = { cases: [], loadFailures: [] };
  for (const line of lines) {
    const found = lineSchema.safeParse(parseJson(line)).data;
    if (found === undefined) continue;
    const file = pathInWorktree(found.file ?? '');
    if ('broken' in found) reading.loadFailures.push({ file, message: loadMessage(found.broken) });
    else {
      const name = found.names.filter((part) => part !== '').join(' > ');
      const message = found.outcome === 'failed' ? caseMessage(found.message ?? '') : null;
      reading.cases.push({ file, name, outcome: found.outcome, message });
    }
  }
  return reading;
}

/** Of all reports in the folder of a run; null where one is cut off, or there is none. */
export async function linesIn(folder: string, pathInWorktree: PathInWorktree): Promise<Reading | null> {
  const readings = (await textsIn(folder, /\.lines$/)).map((text) => parseLines(text, pathInWorktree));
  const whole = readings.filter((reading) => reading !== null);
  return whole.length === 0 || whole.length < readings.length ? null : together(whole);
}
