import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ISSUE, vendorEnv } from '../test/support/models.ts';
import { startVendor, type Vendor } from '../test/support/vendor/index.ts';
import { withFolder } from './support/folder.ts';
import { privateOf, workersOf } from './support/process-memory.ts';
import { createRepository } from './support/repository.ts';
import { type BenchRow, below, inMb, median, shown } from './support/row.ts';
import { twoRounds } from './support/two-rounds.ts';

const PROGRAM = fileURLToPath(new URL('../bin/agentos', import.meta.url));
const CHUNK_CHARS = 12;
const SAMPLE_EVERY_MS = 40;
const CASES = [
  { chars: 25_000, drafter: 'anthropic:claude-opus-5', reviewer: 'google:gemini-3-pro-preview' },
  { chars: 3_000, drafter: 'anthropic:claude-opus-5', reviewer: 'google:gemini-3-pro-preview' },
  { chars: 25_000, drafter: 'openai:gpt-5', reviewer: 'anthropic:claude-opus-5' },
];

/*
 * Models answer for half a minute and more, so what a worker holds while it waits is what ten of them cost; a call lasts
 * 7 s here, and what is held from the fourth second on counts, when the garbage of the last document has been collected.
 * Private memory, not what is resident: see privateOf. The workers are started by the program itself, with their flags.
 */
const CALL_MS = 7_000;
const WAITS_FROM_MS = 4_000;
const WAITING_LIMIT_BYTES = 40e6;
/** Reading and checking a document of 25 KB takes its memory for a moment. */
const PEAK_LIMIT_BYTES = 60e6;

interface Weight {
  waiting: number[];
  workerPeak: number;
  parentPeak: number;
}

/** What an item weighs while models stream documents to it: a draft, a REVISE, the revision, an approval. */
export async function memoryBench(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const { chars, drafter, reviewer } of CASES) {
    const script = twoRounds(chars, CALL_MS / Math.ceil(chars / CHUNK_CHARS));
    const vendor = await startVendor({ script, chunkChars: CHUNK_CHARS });
    try {
      const { waiting, workerPeak, parentPeak } = await weigh(vendor, ['--drafter', drafter, '--reviewer', reviewer]);
      const vendors = [drafter, reviewer].map((spec) => spec.split(':')[0]).join(', ');
      const what = `worker that waits for a model, ${chars / 1000} KB, ${vendors}, private memory`;
      rows.push(
        below(what, median(waiting), WAITING_LIMIT_BYTES, inMb),
        below('  its peak', workerPeak, PEAK_LIMIT_BYTES, inMb),
        shown('  the parent, peak', inMb(parentPeak)),
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
    await createRepository(root, [['42', ISSUE]]);
    const child = spawn(PROGRAM, ['lld', '42', ...models], {
      cwd: root,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...vendorEnv(vendor.url) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const { pid = 0 } = child;
    const weight: Weight = { waiting: [], workerPeak: 0, parentPeak: 0 };
    let calls = 0;
    let calledAt = 0;
    const timer = setInterval(() => {
      if (vendor.calls.length !== calls) calledAt = performance.now();
      calls = vendor.calls.length;
      weight.parentPeak = Math.max(weight.parentPeak, privateOf(pid) ?? 0);
      const [worker] = workersOf(pid);
      const bytes = worker === undefined ? null : privateOf(worker);
      if (bytes === null) return;
      weight.workerPeak = Math.max(weight.workerPeak, bytes);
      const waitedMs = performance.now() - calledAt;
      if (vendor.calls.at(-1)?.finished === false && waitedMs > WAITS_FROM_MS) weight.waiting.push(bytes);
    }, SAMPLE_EVERY_MS);
    const [code] = await once(child, 'exit');
    clearInterval(timer);
    if (code !== 0) throw new Error(`the item ended with exit code ${String(code)}`);
    return weight;
  });
}
