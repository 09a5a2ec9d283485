import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { type Contestant, concurrently, gnuParallel, timeOf } from './support/contestant.ts';

const children = 10;
const rounds = 3;
const peakTargetMegabytes = 150;
const megabyte = 1_000_000;
const keys = Array.from({ length: 3 }, (_, n) => `sk-bench-${n}-${'0a1b2c3d'.repeat(5)}`);

interface Row {
  name: string;
  value: string;
  target: string;
  ok: boolean;
}

/**
 * The output of ten children, prefixed and thrown away; start-up included. Everybody runs the same commands, in turns, so
 * that what else the machine does hits them alike; the median counts.
 */
export async function prefixerBench(megabytes = 200): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'agentos-bench-'));
  try {
    writeFileSync(join(folder, 'corpus'), corpus());
    const program = await bundle(folder);
    const ours = (mask: string[]): Contestant => ({
      file: process.execPath,
      args: (command, count) => [program, `${count}`, command, ...mask],
    });
    const peers = { concurrently: concurrently(folder), 'GNU parallel': gnuParallel() };
    const entries: [string, Contestant][] = [
      ['ours', ours([])],
      ['ours, 3 keys masked', ours(keys)],
    ];
    const rows: Row[] = [];
    for (const [name, peer] of Object.entries(peers)) {
      if ('absent' in peer) rows.push({ name, value: `skipped: ${peer.absent}`, target: '–', ok: true });
      else entries.push([name, peer]);
    }
    return [...(await race(entries, folder, megabytes)), ...rows];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function race(entries: readonly [string, Contestant][], folder: string, megabytes: number): Promise<Row[]> {
  const times = new Map<string, number[]>();
  let peakBytes = 0;
  for (let round = 0; round < rounds; round++) {
    for (const [name, contestant] of entries) {
      const { seconds, stderr } = await timeOf(contestant, { command: printing(megabytes), count: children, folder });
      times.set(name, [...(times.get(name) ?? []), seconds]);
      if (name.startsWith('ours')) peakBytes = Math.max(peakBytes, peakIn(stderr));
    }
  }
  const rate = (name: string): number => megabytes / median(times.get(name) ?? []);
  const own = rate('ours');
  const rows = entries.map(([name]) => ({
    name: `prefixing ${megabytes} MB, ${name}`,
    value: `${rate(name).toFixed(0)} MB/s`,
    target: '–',
    ok: true,
  }));
  const ratios = entries
    .filter(([name]) => !name.startsWith('ours'))
    .map(([name]) => {
      const ratio = own / rate(name);
      return { name: `prefixing, ours over ${name}`, value: `${ratio.toFixed(2)} ×`, target: '≥ 1 ×', ok: ratio >= 1 };
    });
  const peak = peakBytes / megabyte;
  const target = `< ${peakTargetMegabytes} MB`;
  const memory = {
    name: 'prefixing, our peak memory',
    value: `${peak.toFixed(0)} MB`,
    target,
    ok: peak < peakTargetMegabytes,
  };
  return [...rows, ...ratios, memory];
}

/** As it is shipped: one file of JavaScript. */
async function bundle(folder: string): Promise<string> {
  const outfile = join(folder, 'prefix-children.mjs');
  const entry = fileURLToPath(import.meta.resolve('./support/prefix-children.ts'));
  await build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', target: 'node24', outfile });
  return outfile;
}

/** A megabyte of lines of 20 to 140 bytes, the same in every run. */
function corpus(): string {
  let seed = 1;
  const next = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  let text = '';
  while (text.length < megabyte) {
    const letters = Array.from({ length: 19 + next(120) }, () => 'abcdefghijklmnop qrstuvwxyz 0123'.charAt(next(32)));
    text += `${letters.join('')}\n`;
  }
  return text;
}

const printing = (megabytes: number): string =>
  `cat ${Array.from({ length: Math.ceil(megabytes / children) }, () => 'corpus').join(' ')}`;

function peakIn(stderr: string): number {
  const report: unknown = JSON.parse(stderr);
  const isReport = typeof report === 'object' && report !== null && 'peakBytes' in report;
  return isReport ? Number(report.peakBytes) : Number.NaN;
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { megabytes: { type: 'string', default: '200' } } });
  for (const { name, value, target, ok } of await prefixerBench(Number(values.megabytes))) {
    process.stdout.write(`${name.padEnd(42)}${value.padStart(10)}  ${target.padEnd(9)} ${ok ? 'ok' : 'MISSED'}\n`);
  }
}
