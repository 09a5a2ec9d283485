import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type BenchRow, below, inMs, median, shown } from './support/row.ts';

const PROGRAM = fileURLToPath(new URL('../bin/agentos', import.meta.url));
const RUNS = 20;

/** What users feel first, beside the least that any program of this runtime takes. */
export async function startBench(): Promise<BenchRow[]> {
  const bare: number[] = [];
  const ours: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    bare.push(timeOf(process.execPath, ['-e', '0']));
    ours.push(timeOf(PROGRAM, ['--version']));
  }
  return [below('agentos --version', median(ours), 120, inMs), shown('  node -e 0', inMs(median(bare)))];
}

function timeOf(file: string, args: string[]): number {
  const began = performance.now();
  const { status } = spawnSync(file, args, { cwd: tmpdir(), stdio: 'ignore' });
  if (status !== 0) throw new Error(`${file} ended with ${String(status)}`);
  return performance.now() - began;
}
