/**
 * All benches in turn, or those that are named:
 *
 *     npm run bench
 *     npm run bench -- coordinator memory
 *     npm run bench -- repositories <folder with repositories>   (only where it is named)
 *
 * Prints one table; exits 1 if a target was missed.
 */
import { loadavg } from 'node:os';
import type { BenchRow } from './support/row.ts';

const BENCHES: Record<string, () => Promise<BenchRow[]>> = {
  start: async () => (await import('./start.ts')).startBench(),
  documents: async () => (await import('./documents.ts')).documentsBench(),
  journal: async () => (await import('./journal.ts')).journalBench(),
  coordinator: async () => (await import('./coordinator.ts')).coordinatorBench(),
  tracing: async () => (await import('./tracing.ts')).tracingBench(),
  memory: async () => (await import('./memory.ts')).memoryBench(),
  implement: async () => (await import('./implement.ts')).implementBench(),
  context: async () => (await import('./context.ts')).contextBench(),
  sandbox: async () => (await import('./sandbox.ts')).sandboxBench(),
  prefixer: async () => (await import('./prefixer.ts')).prefixerBench(),
  'gateway-server': async () => (await import('./gateway-server.ts')).gatewayServerBench(),
  ui: async () => (await import('./ui.ts')).uiBench(),
  repositories: async () => (await import('./repositories.ts')).repositoriesBench(),
  hub: async () => (await import('./hub.ts')).hubBench(),
  'hub-scale': async () => (await import('./hub-scale.ts')).hubScaleBench(),
  'gateway-pool': async () => (await import('./gateway-pool.ts')).gatewayPoolBench(),
};

/** Needs a folder of real repositories, and hours for many. */
const NAMED_ONLY = 'repositories';
const isNamed = process.argv[2] === NAMED_ONLY;
const wanted = process.argv.slice(2, isNamed ? 3 : undefined);
const unknown = wanted.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0) {
  process.stderr.write(`No such bench: ${unknown.join(', ')}. There are: ${Object.keys(BENCHES).join(', ')}.\n`);
  process.exit(2);
}

const rows: BenchRow[] = [];
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 ? !wanted.includes(name) : name === NAMED_ONLY) continue;
  process.stderr.write(`${name} … (load ${loadavg()[0]?.toFixed(1) ?? '?'})\n`);
  rows.push(...(await bench()));
}
process.stdout.write(table(rows));
process.exitCode = rows.every((row) => row.ok) ? 0 : 1;

function table(shown: readonly BenchRow[]): string {
  const lines = [
    ['what', 'figure', 'target', ''],
    ...shown.map(({ name, value, target, ok }) => [name, value, target, target === '–' ? '' : ok ? 'ok' : 'MISSED']),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0), 3));
  const print = (cells: string[]): string =>
    `| ${cells.map((cell, column) => (column === 1 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join(' | ')} |\n`;
  const rule = `|${widths.map((width, column) => (column === 1 ? `${'-'.repeat(width + 1)}:` : '-'.repeat(width + 2))).join('|')}|\n`;
  return [print(lines[0] ?? []), rule, ...lines.slice(1).map(print)].join('');
}
