import { fileURLToPath } from 'node:url';
import { traced } from '../src/telemetry/tracer.ts';
import { openCollector } from '../test/support/collector.ts';
import { withFolder } from './support/folder.ts';
import { type BenchRow, below, inMs, median, shown } from './support/row.ts';
import { createSleepProgram } from './support/sleep-program.ts';

const EXPORTER = fileURLToPath(new URL('../dist/span-exporter.js', import.meta.url));
/** The batch of the coordinator's bench. */
const BATCH = { items: 60, parallel: 10, steps: 5, ms: 100 };
const ROUNDS = 7;
const CALLS = 1_000_000;
/** Nobody could see less in the makespan of a batch. */
const NOT_MEASURABLE = 0.0001;

const inPercent = (share: number): string => `${(share * 100).toFixed(Math.abs(share) < 0.001 ? 4 : 1)} %`;

/** What a trace of a whole batch costs it, and what the places for spans cost where there is none. */
export async function tracingBench(): Promise<BenchRow[]> {
  const collector = await openCollector();
  try {
    return await withFolder(async (folder) => {
      const program = await createSleepProgram(folder);
      const on = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
      const off = { OTEL_EXPORTER_OTLP_ENDPOINT: '' };
      const times: Record<'on' | 'off', number[]> = { on: [], off: [] };
      const run = async (env: Record<string, string>): Promise<number> =>
        (await program.run({ ...BATCH, env, exporterScript: EXPORTER })).wallMs;
      await run(on);
      // In turns, and each as often first as second: what else the machine does hits both alike.
      for (let round = 0; round < ROUNDS; round++) {
        const order = round % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const);
        for (const name of order) times[name].push(await run(name === 'on' ? on : off));
      }
      // Not the best of each: that compares two lucky rounds.
      const typical = { on: median(times.on), off: median(times.off) };
      const offShare = ((await hookNs()) * BATCH.items * BATCH.steps) / (typical.off * 1e6);
      const spans = Math.round(collector.spans.length / (ROUNDS + 1));
      return [
        below(`tracing of ${BATCH.items} items, over none`, typical.on / typical.off - 1, 0.03, inPercent),
        shown('  makespan with and without, median', `${inMs(typical.on)}, ${inMs(typical.off)}`),
        shown('  spans of a batch that arrived', `${spans}`),
        below('tracing that is off, of the makespan', offShare, NOT_MEASURABLE, inPercent),
      ];
    });
  } finally {
    await collector.close();
  }
}

/** What a place for a span adds to a step where nothing is traced. */
async function hookNs(): Promise<number> {
  const work = async (): Promise<number> => 1;
  const time = async (call: () => Promise<number>): Promise<number> => {
    const began = performance.now();
    for (let index = 0; index < CALLS; index++) await call();
    return ((performance.now() - began) * 1e6) / CALLS;
  };
  const bare: number[] = [];
  const hooked: number[] = [];
  for (let round = 0; round < 5; round++) {
    bare.push(await time(work));
    hooked.push(await time(() => traced('step', {}, work)));
  }
  return Math.max(0, Math.min(...hooked) - Math.min(...bare));
}
