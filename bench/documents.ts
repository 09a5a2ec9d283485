import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { largeLld, largeReview } from './support/documents.ts';
import { withFolder } from './support/folder.ts';
import { type BenchRow, below, inMs, median, quantile, shown } from './support/row.ts';

const CHARS = 25_000;
const WARM_UP = 60;
const RUNS = 100;
const LIMIT_MS = 10;

type Checks = typeof import('../src/documents/lld/checks.ts');
type Reader = typeof import('../src/documents/review/reader.ts');

/** Reading a document that was never read before, in a process that has read others. */
export function documentsBench(): Promise<BenchRow[]> {
  return withFolder(async (folder) => {
    const { checkLld, readReview } = await documentsModule(folder);
    const lld = largeLld('42', CHARS);
    const review = largeReview(CHARS);
    return [
      ...timesOf('an LLD of 25 KB, checked', lld, (text) =>
        checkLld(text, { issueId: '42' }).findings.every(({ severity }) => severity === 'warning'),
      ),
      ...timesOf('a review of 25 KB, read', review, (text) => readReview(text).verdict === 'REVISE'),
    ];
  });
}

function timesOf(name: string, document: string, read: (text: string) => boolean): BenchRow[] {
  const times: number[] = [];
  for (let run = 0; run < WARM_UP + RUNS; run++) {
    const text = document.replaceAll('lass ', `lass ${run}.`);
    const began = performance.now();
    if (!read(text)) throw new Error(`${name}: not read as it should be`);
    if (run >= WARM_UP) times.push(performance.now() - began);
  }
  return [
    below(name, median(times), LIMIT_MS, inMs),
    shown('  fastest and p95', `${inMs(Math.min(...times))}, ${inMs(quantile(times, 0.95))}`),
  ];
}

/** As it is shipped: one file, its texts inside. */
async function documentsModule(folder: string): Promise<Pick<Checks, 'checkLld'> & Pick<Reader, 'readReview'>> {
  const outfile = join(folder, 'documents.mjs');
  await build({
    stdin: {
      contents: `export { checkLld } from './lld/checks.ts'; export { readReview } from './review/reader.ts';`,
      resolveDir: fileURLToPath(new URL('../src/documents', import.meta.url)),
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    loader: { '.md': 'text' },
    banner: { js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);` },
    outfile,
  });
  return import(pathToFileURL(outfile).href);
}
