import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/core/clock.ts';
import { openSqliteJournal } from '../src/journal/sqlite.ts';

const count = 500;
const result = { text: 'x'.repeat(2000), tokens: 512 };
const targetMs = 1;

/** A durable step, beside the least that any durable record costs on this disk: one append with fsync. */
export async function journalBench(): Promise<{ name: string; value: string; target: string; ok: boolean }[]> {
  const folder = mkdtempSync(join(tmpdir(), 'agentos-bench-'));
  try {
    const append = appendTimes(join(folder, 'append'));
    const steps = await stepTimes(join(folder, 'journal.db'));
    const median = quantile(steps, 0.5);
    return [
      { name: 'journal step, median', value: inMs(median), target: `< ${targetMs} ms`, ok: median < targetMs },
      { name: 'journal step, p95', value: inMs(quantile(steps, 0.95)), target: '–', ok: true },
      { name: 'fsynced append, median', value: inMs(quantile(append, 0.5)), target: '–', ok: true },
      { name: 'fsynced append, p95', value: inMs(quantile(append, 0.95)), target: '–', ok: true },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function stepTimes(file: string): Promise<number[]> {
  const journal = openSqliteJournal(file, { clock: systemClock });
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const before = performance.now();
    await journal.step({ name: 'bench', inputs: n }, async () => result);
    times.push(performance.now() - before);
  }
  journal.close();
  return times;
}

function appendTimes(file: string): number[] {
  const handle = openSync(file, 'a');
  const line = `${JSON.stringify(result)}\n`;
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const before = performance.now();
    writeSync(handle, line);
    fsyncSync(handle);
    times.push(performance.now() - before);
  }
  closeSync(handle);
  return times;
}

function quantile(times: number[], q: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * q)] ?? Number.NaN;
}

const inMs = (ms: number): string => `${ms.toFixed(3)} ms`;

if (import.meta.main) {
  for (const { name, value, target, ok } of await journalBench()) {
    process.stdout.write(`${name.padEnd(26)}${value.padStart(10)}  ${target.padEnd(8)} ${ok ? 'ok' : 'MISSED'}\n`);
  }
}
