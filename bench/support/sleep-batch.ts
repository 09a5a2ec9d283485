/**
 * A batch of sleeping items through the built library, as a program of its own so that its start-up counts. Its argument
 * is a `BatchRequest` as JSON; it prints one line of JSON, a `BatchReport`.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRunTrace } from '../../src/telemetry/run-trace.ts';
import { privateOf, workersOf } from './process-memory.ts';
import { quantile } from './row.ts';

export interface BatchRequest {
  /** The URL of the built library. */
  library: string;
  /** The URL of the bundled sleeping task; null: our own worker, which gets nothing to do. */
  task: string | null;
  /** Holds the journals. */
  folder: string;
  items: number;
  parallel: number;
  steps: number;
  ms: number;
  /** How long workers are given to get warm before the first item. */
  warmMs?: number;
  /** Nothing new is started after this long. */
  stopAfterMs?: number;
  /** The program of the exporter's thread: the batch is a trace, if the environment names a collector. */
  exporterScript?: string;
}

export interface BatchReport {
  succeeded: number;
  /** From the call to the first item's first line. */
  firstStartMs: number;
  /** From the end of an item to the first line of the next, median; means something with one worker only. */
  dispatchMs: number;
  /** Private bytes of the largest worker; null: none was there. */
  warmWorkerBytes: number | null;
  busyWorkerBytes: number | null;
  /** Of this process. */
  peakBytes: number;
}

const SAMPLE_EVERY_MS = 100;

const request = JSON.parse(process.argv[2] ?? '') as BatchRequest;
const { library, task, folder, items, parallel, steps, ms, warmMs = 0, stopAfterMs, exporterScript } = request;
const { ParallelCoordinator, workerScript, AgentosError }: typeof import('../../src/index.ts') = await import(library);

const gaps: number[] = [];
let began = 0;
let freeSince = 0;
let firstStartMs = 0;
let busyWorkerBytes: number | null = null;
const largestWorker = (): number | null =>
  workersOf(process.pid).reduce<number | null>((most, pid) => Math.max(most ?? 0, privateOf(pid) ?? 0) || null, null);
let peakBytes = 0;
const watch = setInterval(() => {
  peakBytes = Math.max(peakBytes, privateOf(process.pid) ?? 0);
}, SAMPLE_EVERY_MS);

const trace =
  exporterScript === undefined
    ? null
    : openRunTrace({
        env: process.env,
        exporterScript,
        version: 'bench',
        name: 'bench',
        attributes: {},
        follows: null,
        mask: (text) => text,
      });
const coordinator = new ParallelCoordinator({
  task: task === null ? { builtIn: 'lld' } : { module: task, export: 'sleepTask' },
  parallel,
  worker: {
    script: workerScript(),
    env: { PATH: process.env['PATH'] ?? '' },
    cwd: folder,
    compileCache: null,
  },
  maxRetries: 0,
  timeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  globalTimeoutMs: null,
  haltAfter: null,
  runTag: `bench-${process.pid}`,
  traceAttempt: (id, attempt) => trace?.attempt({ id, workflow: 'lld' }, attempt) ?? null,
  onEvent: (id, event) => {
    const { type } = event;
    trace?.subscriber({ at: '', item: id, workflow: 'lld', ...event });
    const now = performance.now();
    if (type === 'item-finished') freeSince = now;
    if (type !== 'item-started') return;
    if (freeSince > 0) gaps.push(now - freeSince);
    else if (firstStartMs === 0) firstStartMs = now - began;
  },
});
coordinator.warmUp(parallel);
await sleep(warmMs);
const warmWorkerBytes = largestWorker();
if (stopAfterMs !== undefined) {
  setTimeout(() => {
    busyWorkerBytes = largestWorker();
    coordinator.stop(new AgentosError({ code: 'run-timeout', afterMs: stopAfterMs }));
  }, stopAfterMs);
}
began = performance.now();
const ends = await coordinator.run(
  Array.from({ length: items }, (_, index) => ({
    id: `item-${index}`,
    checkpoint: join(folder, 'checkpoints', `item-${index}.db`),
    input: { steps, ms },
  })),
);
await trace?.close({ exitCode: 0, giveUp: new AbortController().signal });
clearInterval(watch);
const report: BatchReport = {
  succeeded: ends.filter((end) => end.status === 'succeeded').length,
  firstStartMs,
  dispatchMs: quantile(gaps, 0.5),
  warmWorkerBytes,
  busyWorkerBytes,
  peakBytes: Math.max(peakBytes, privateOf(process.pid) ?? 0),
};
process.stdout.write(`${JSON.stringify(report)}\n`);
