import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ISSUE } from '../test/support/models.ts';
import { withFolder } from './support/folder.ts';
import { processorMs } from './support/processor-time.ts';
import { createRepository } from './support/repository.ts';
import { type BenchRow, below, inMs, median, shown } from './support/row.ts';

const PROGRAM = fileURLToPath(new URL('../bin/agentos', import.meta.url));
const LLD = fileURLToPath(new URL('../examples/LLD-42.md', import.meta.url));
const RUNS = 20;

/** What users feel first, beside the least that any program of this runtime takes; and what short commands compute. */
export async function startBench(): Promise<BenchRow[]> {
  const bare: number[] = [];
  const ours: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    bare.push(timeOf(process.execPath, ['-e', '0']));
    ours.push(timeOf(PROGRAM, ['--version']));
  }
  return [
    below('agentos --version', median(ours), 120, inMs),
    shown('  node -e 0', inMs(median(bare))),
    ...(await processorTimes()),
  ];
}

function processorTimes(): Promise<BenchRow[]> {
  return withFolder(async (folder) => {
    const root = join(folder, 'repository');
    await createRepository(root, [['1', ISSUE]]);
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
    const run = (...args: string[]) => ({ file: PROGRAM, args, cwd: root, env });
    // The first ones leave compiled code behind for all that follow.
    processorMs(run('check', LLD), { runs: 1 });
    processorMs(run('lld', '1', '--offline'), { runs: 1 });
    const startOver = (): void => {
      for (const path of ['docs', '.agentos']) rmSync(join(root, path), { recursive: true, force: true });
    };
    return [
      below('processor time of agentos check', processorMs(run('check', LLD)), 120, inMs),
      below(
        'processor time of agentos lld 1 --offline',
        processorMs(run('lld', '1', '--offline'), { startOver }),
        300,
        inMs,
      ),
      shown('  node -e 0', inMs(processorMs({ file: process.execPath, args: ['-e', '0'], cwd: root, env }))),
    ];
  });
}

function timeOf(file: string, args: string[]): number {
  const began = performance.now();
  const { status } = spawnSync(file, args, { cwd: tmpdir(), stdio: 'ignore' });
  if (status !== 0) throw new Error(`${file} ended with ${String(status)}`);
  return performance.now() - began;
}
