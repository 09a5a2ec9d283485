import type { Readable } from 'node:stream';
import type { Clock } from '../core/clock.ts';
import { type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { StepStore } from '../journal/port.ts';
import type { AttemptTrace } from '../telemetry/span.ts';
import { answerFrom, type FromWorker, type ItemStart, type TaskResult } from '../worker/protocol.ts';
import type { WorkerProcess } from '../worker/spawn.ts';
import type { WorkerPool } from './worker-pool.ts';

/** How long each stage of stopping lasts: see `runAttempt`. */
const FINISH_STEP_MS = 2_000;
const ABORT_MS = 1_000;
const TERM_MS = 1_000;
/** A busy machine may take this long to start a process; that does not count as idleness. */
const START_UP_MS = 15_000;

interface AttemptOptions {
  pool: WorkerPool;
  item: ItemStart;
  /** The item's steps, if the worker has to ask us for them; null: it opens a file. */
  store: StepStore | null;
  idleTimeoutMs: number;
  clock: Clock;
  onEvent: (event: ItemEvent) => void;
  /** Called with steps of its journal, each with its seal. */
  onSteps: (steps: readonly (readonly [id: string, seal: string])[]) => void;
  /** Null: nothing is traced. */
  trace: AttemptTrace | null;
  /** Shows what the process prints; `detach` is called after its last output for this item. */
  attachOutput: (worker: WorkerProcess) => { detach: () => void };
  /** Whether the item waits for something outside, such as quota: then its silence is not idleness. */
  isWaiting: () => boolean;
  /** Aborted with the reason why the item has to stop. */
  stop: AbortSignal;
  /** Aborted to kill the worker at once. */
  kill: AbortSignal;
  /** How long a step in flight may still take; called when the item has to stop. */
  finishStepMs?: (() => number) | undefined;
}

export type AttemptOutcome = { result: TaskResult } | { error: ErrorRecord };

/**
 * One attempt of one item in one worker, from the start message to an outcome. Always resolves.
 *
 *   running  – the worker says `ended`: its outcome; it dies: crashed; no sign of life in time: stopping, as stalled
 *   stopping – first asked to start no further step (2 s), then to abort the call in flight (1 s), then SIGTERM (1 s), then
 *              SIGKILL for its whole group. The outcome is the reason for stopping, unless the item ended well meanwhile.
 */
export async function runAttempt(options: AttemptOptions): Promise<AttemptOutcome> {
  const { pool, item, idleTimeoutMs, clock, onEvent, stop, kill, store } = options;
  const worker = pool.take();
  const output = options.attachOutput(worker);
  const timers = new Set<NodeJS.Timeout>();
  const undo: (() => void)[] = [];
  const later = (ms: number, run: () => void): void => {
    timers.add(setTimeout(run, ms));
  };
  const startedAt = clock.now();
  let lastLife = startedAt;
  let rssBytes = 0;
  let because: ErrorRecord | null = null;

  const outcome = await new Promise<AttemptOutcome>((resolve) => {
    const beginStopping = (error: ErrorRecord, finishMs: number): void => {
      if (because !== null) return;
      because = error;
      if (finishMs > 0) worker.send({ type: 'stop', error });
      later(finishMs, () => worker.send({ type: 'abort', error }));
      later(finishMs + ABORT_MS, () => worker.signal('SIGTERM'));
      later(finishMs + ABORT_MS + TERM_MS, () => worker.signal('SIGKILL'));
    };
    const onStop = (): void => beginStopping(toErrorRecord(stop.reason), options.finishStepMs?.() ?? FINISH_STEP_MS);
    const onKill = (): void => worker.signal('SIGKILL');
    stop.addEventListener('abort', onStop, { once: true });
    kill.addEventListener('abort', onKill, { once: true });
    undo.push(
      () => stop.removeEventListener('abort', onStop),
      () => kill.removeEventListener('abort', onKill),
    );

    const watch = setInterval(
      () => {
        const isStarting = !worker.isReady && clock.now() - startedAt < START_UP_MS;
        if (isStarting || options.isWaiting()) lastLife = clock.now();
        if (because !== null || clock.now() - lastLife < idleTimeoutMs) return;
        // A worker without a sign of life is not asked to finish its step.
        beginStopping({ problem: { code: 'item-stalled', afterMs: idleTimeoutMs }, retry: 'idle' }, 0);
      },
      Math.min(1_000, Math.max(20, idleTimeoutMs / 4)),
    );
    timers.add(watch);

    const onOutput = (): void => {
      lastLife = clock.now();
    };
    for (const stream of [worker.stdout, worker.stderr]) {
      stream.on('data', onOutput);
      undo.push(() => stream.off('data', onOutput));
    }

    worker.onMessage = (message: FromWorker) => {
      lastLife = clock.now();
      switch (message.type) {
        case 'ready':
        case 'alive':
          return;
        case 'event':
          onEvent(message.event);
          return;
        case 'spans':
          options.trace?.spans(message.spans);
          return;
        case 'steps':
          options.onSteps(message.steps);
          return;
        case 'group':
          pool.noteGroup(worker, message.leader, message.ended);
          return;
        case 'journal':
          if (store === null) throw new TypeError('a worker asked for a journal that it has itself');
          void answerFrom(store, message.request).then(
            (steps) => worker.send({ type: 'journal', call: message.call, answer: { steps } }),
            (error: unknown) =>
              worker.send({ type: 'journal', call: message.call, answer: { error: toErrorRecord(error) } }),
          );
          return;
        case 'ended':
          rssBytes = message.rssBytes;
          resolve(because !== null && 'error' in message.outcome ? { error: because } : message.outcome);
      }
    };
    worker.onGone = ({ exitCode, signal }) => {
      const crashed: ErrorRecord = {
        problem: { code: 'worker-crashed', exitCode, signal, detail: '' },
        retry: 'transient',
      };
      resolve({ error: because ?? crashed });
    };
    if (stop.aborted) onStop();
    worker.send({ type: 'start', item });
  });

  for (const timer of timers) clearTimeout(timer);
  for (const step of undo) step();
  worker.onMessage = null;
  worker.onGone = null;
  if ('error' in outcome) {
    await pool.discard(worker);
    output.detach();
  } else {
    await drained([worker.stdout, worker.stderr]);
    output.detach();
    pool.giveBack(worker, rssBytes);
  }
  return outcome;
}

const QUIET_TURNS = 2;
const MOST_TURNS = 2_000;

/**
 * Resolves when all output of a writer that has stopped writing was read. What it wrote is already in the pipe, so it arrives
 * within the next turns of the event loop; two turns without data mean the end.
 */
async function drained(streams: readonly Readable[]): Promise<void> {
  let heard = false;
  const listen = (): void => {
    heard = true;
  };
  for (const stream of streams) stream.on('data', listen);
  for (let turn = 0, silent = 0; turn < MOST_TURNS && silent < QUIET_TURNS; turn++) {
    heard = streams.some((stream) => !stream.destroyed && stream.isPaused() && stream.readableLength > 0);
    await new Promise<void>((resolve) => setImmediate(resolve));
    silent = heard ? 0 : silent + 1;
  }
  for (const stream of streams) stream.off('data', listen);
}
