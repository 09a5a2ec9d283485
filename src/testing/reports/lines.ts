import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../core/json.ts';
import { caseMessage, loadMessage, type PathInWorktree, type Reading, textsIn, together } from './report.ts';

/*
 * The format of our own reporters, for runners whose built-in reports lack details: one line of JSON for each test and for
 * each file that can't be loaded, then an end line. Without the end line the report is truncated.
 */

const END = '{"end":true}';

/** The start of each JavaScript reporter. It writes synchronously, next to its own file, so that a crash loses nothing. */
const PRELUDES = {
  cjs: `const fs = require('fs');\nconst own = __filename;\n`,
  mjs: `import fs from 'node:fs';\nimport { fileURLToPath } from 'node:url';\nconst own = fileURLToPath(import.meta.url);\n`,
};
const WRITE = `const write = (line) => fs.appendFileSync(own.replace(/[cm]js$/, 'lines'), JSON.stringify(line) + '\\n');\n\n`;

/** Writes a reporter that calls `write` and returns its path. `index` separates the reporters of several calls. */
export async function writeReporter(
  { folder }: { folder: string },
  index: number,
  kind: keyof typeof PRELUDES,
  source: string,
): Promise<string> {
  const path = join(folder, `reporter-${index}.${kind}`);
  await writeFile(path, `${PRELUDES[kind]}${WRITE}${source}`, { flag: 'wx' });
  return path;
}

const lineSchema = z.union([
  z.object({
    file: z.string().nullish(),
    // Old runners take any value as a name.
    names: z.array(z.coerce.string()),
    outcome: z.enum(['passed', 'failed', 'skipped']),
    message: z.string().nullish(),
  }),
  z.object({ file: z.string().nullish(), broken: z.string() }),
]);

/** Null if the report is truncated. */
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

/**
 * All reports in the folder of a run; null if one is truncated or there are none. `mayLackEnd`: the runner may exit without
 * waiting for its reporters.
 */
export async function linesIn(
  folder: string,
  pathInWorktree: PathInWorktree,
  mayLackEnd = false,
): Promise<Reading | null> {
  const texts = await textsIn(folder, /\.lines$/);
  const readings = texts.map((text) => parseLines(mayLackEnd ? `${text}\n${END}` : text, pathInWorktree));
  return readings.includes(null) ? null : together(readings);
}
