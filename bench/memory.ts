import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ISSUE, vendorEnv } from '../test/support/models.ts';
import { startVendor, type Vendor } from '../test/support/vendor/index.ts';
import { withFolder } from './support/folder.ts';
import { peakRssOf, rssOf, workersOf } from './support/process-memory.ts';
import { createRepository } from './support/repository.ts';
import { type BenchRow, below, inMb, median, shown } from './support/row.ts';
import { twoRounds } from './support/two-rounds.ts';

const PROGRAM = fileURLToPath(new URL('../bin/agentos', import.meta.url));
const CHUNK_CHARS = 12;
const SAMPLE_EVERY_MS = 20;
const LIMIT_BYTES = 80e6;
const CALLS = 4;
const CASES = [
  { chars: 25_000, drafter: 'anthropic:claude-opus-5', reviewer: 'google:gemini-3-pro-preview' },
  { chars: 3_000, drafter: 'anthropic:claude-opus-5', reviewer: 'google:gemini-3-pro-preview' },
  { chars: 25_000, drafter: 'openai:gpt-5', reviewer: 'anthropic:claude-opus-5' },
];

interface Weight {
  /** While the last of the calls streams. */
  lastCall: number[];
  all: number[];
  workerPeak: number;
  parentPeak: number;
}

/** What an item weighs while models stream documents to it: a draft, a REVISE, the revision, an approval. */
export async function memoryBench(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const { chars, drafter, reviewer } of CASES) {
    const vendor = await startVendor({ script: twoRounds(chars), chunkChars: CHUNK_CHARS });
    try {
      const weight = await weigh(vendor, ['--drafter', drafter, '--reviewer', reviewer]);
      const vendors = [drafter, reviewer].map((spec) => spec.split(':')[0]).join(', ');
      rows.push(
        below(
          `worker in an item's last call, ${chars / 1000} KB, ${vendors}`,
          median(weight.lastCall),
          LIMIT_BYTES,
          inMb,
        ),
        shown('  over the item, median and peak', `${inMb(median(weight.all))}, ${inMb(weight.workerPeak)}`),
        shown('  the parent, peak', inMb(weight.parentPeak)),
      );
    } finally {
      await vendor.close();
    }
  }
  return rows;
}

function weigh(vendor: Vendor, models: string[]): Promise<Weight> {
  return withFolder(async (folder) => {
    const root = join(folder, 'repository');
    await createRepository(root, [
      ['41', ISSUE],
      ['42', ISSUE],
    ]);
    const start = (id: string) =>
      spawn(PROGRAM, ['lld', id, ...models], {
        cwd: root,
        env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...vendorEnv(vendor.url) },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    // The first item of a repository leaves compiled code behind for all that follow.
    await once(start('41'), 'exit');
    const before = vendor.calls.length;
    const child = start('42');
    const { pid = 0 } = child;
    const weight: Weight = { lastCall: [], all: [], workerPeak: 0, parentPeak: 0 };
    const timer = setInterval(() => {
      const [worker] = workersOf(pid);
      const rss = worker === undefined ? null : rssOf(worker);
      if (worker === undefined || rss === null) return;
      weight.all.push(rss);
      if (vendor.calls.length === before + CALLS && vendor.calls.at(-1)?.finished === false) weight.lastCall.push(rss);
      weight.workerPeak = peakRssOf(worker) ?? weight.workerPeak;
      weight.parentPeak = peakRssOf(pid) ?? weight.parentPeak;
    }, SAMPLE_EVERY_MS);
    const [code] = await once(child, 'exit');
    clearInterval(timer);
    if (code !== 0 || weight.lastCall.length === 0) throw new Error(`the item ended with exit code ${String(code)}`);
    return weight;
  });
}
