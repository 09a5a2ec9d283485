import type { Readable } from 'node:stream';
import { type Clock, untilAborted } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, nextAttemptDelayMs, toErrorRecord } from '../core/errors.ts';
import { type ItemEnd, statusOfError } from '../core/item.ts';
import { answerFrom, type FromWorker, type TaskResult } from '../worker/protocol.ts';
import type { CoordinatedItem, CoordinatorOptions } from './coordinator.ts';
import type { WorkerPool, WorkerProcess } from './worker-pool.ts';

/** A running item, over all its attempts. */
export interface ActiveItem {
  item: CoordinatedItem;
  attempts: number;
  startedAt: number;
  /** When it times out. */
  endMs: number;
  /** Aborted with the reason when the item times out or is cancelled. */
  deadline: AbortController;
  /** The steps that its journal may hold, each with its seal; null until the first attempt opens it. */
  steps: Map<string, string> | null;
  /** Releases the item; called once, at its end. */
  close: () => void;
}

/** Claims the item and starts its deadline. Throws if the claim is refused. */
export function beginItem(item: CoordinatedItem, options: CoordinatorOptions, clock: Clock): ActiveItem {
  const release = options.claim?.(item.id);
  const { timeoutMs } = item.bounds ?? options;
  const startedAt = clock.now();
  const deadline = new AbortController();
  const timeOut = (): void => deadline.abort(new AgentosError({ code: 'item-timeout', afterMs: timeoutMs }));
  const timer = clock.timer(timeoutMs, timeOut);
  const close = (): void => {
    timer.stop();
    release?.();
  };
  return { item, attempts: 0, startedAt, endMs: startedAt + timeoutMs, deadline, steps: null, close };
}

/** Null: no further attempt, or it would begin after the deadline: then the item ends now with this error. */
export function retryDelayMs(
  { item, attempts }: ActiveItem,
  { problem, retry }: ErrorRecord,
  options: CoordinatorOptions,
  leftMs: number,
): number | null {
  const { random = Math.random } = options;
  const { maxRetries } = item.bounds ?? options;
  const retryAfterMs = problem.code === 'provider-quota' ? problem.retryAfterMs : null;
  const delayMs = nextAttemptDelayMs({ retry, attempts, maxRetries, retryAfterMs, random: random() });
  return delayMs === null || delayMs >= leftMs ? null : delayMs;
}

export type AttemptOutcome = { result: TaskResult } | { error: ErrorRecord };

/** The end of an item whose last attempt had this outcome. */
export function outcomeAsEnd(outcome: AttemptOutcome): Pick<ItemEnd, 'status' | 'reason' | 'error' | 'outputs'> {
  if ('error' in outcome)
    return { status: statusOfError(outcome.error), reason: null, error: outcome.error, outputs: [] };
  const { status, reason, outputs } = outcome.result;
  return { status, reason, error: null, outputs };
}

interface Around {
  options: CoordinatorOptions;
  clock: Clock;
  pool: WorkerPool;
  /** Aborted with the reason why the item has to stop. */
  stop: AbortSignal;
  /** Aborted to kill the worker at once. */
  kill: AbortSignal;
}

/** One attempt, unless another run has finished the item, and what this process does after it. Always resolves. */
export async function attemptItem(active: ActiveItem, around: Around): Promise<AttemptOutcome> {
  const { item, attempts, deadline } = active;
  const { complete, alreadyDone } = around.options;
  const stop = AbortSignal.any([around.stop, deadline.signal]);
  try {
    // If this fails, the attempt runs into the same error.
    const done = attempts > 0 ? null : await alreadyDone?.(item.id).catch(() => null);
    const outcome = done ? { result: done } : await runAttempt(active, { ...around, stop });
    if (complete === undefined || 'error' in outcome) return outcome;
    return { result: await untilAborted(stop, complete(item.id, outcome.result, stop)) };
  } catch (error) {
    return { error: toErrorRecord(error) };
  }
}

/** How long each stage of stopping lasts: see `runAttempt`. */
const FINISH_STEP_MS = 2_000;
const ABORT_MS = 1_000;
const TERM_MS = 1_000;
/** A busy machine may take this long to start a process; that does not count as idleness. */
const START_UP_MS = 15_000;

/**
 * One attempt of one item in one worker, from the start message to an outcome.
 *
 *   running  – the worker says `ended`: its outcome; it dies: crashed; no sign of life in time: stopping, as stalled
 *   stopping – first asked to start no further step (2 s), then to abort the call in flight (1 s), then SIGTERM (1 s), then
 *              SIGKILL for its whole group. The outcome is the reason for stopping, unless the item ended well meanwhile.
 */
async function runAttempt(active: ActiveItem, around: Around): Promise<AttemptOutcome> {
  const { item } = active;
  const { options, clock, pool, stop, kill } = around;
  const { id, checkpoint, task = options.task, bounds: { idleTimeoutMs } = options } = item;
  stop.throwIfAborted();
  active.attempts += 1;
  const input = await untilAborted(stop, inputOf(item));
  const trace = options.traceAttempt?.(id, active.attempts) ?? null;
  const worker = pool.take();
  const output = options.attachOutput?.(id, worker) ?? discardOutput(worker);
  const timers = new Set<NodeJS.Timeout>();
  const over = new AbortController();
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
    stop.addEventListener('abort', onStop, { once: true, signal: over.signal });
    kill.addEventListener('abort', onKill, { once: true, signal: over.signal });

    const watch = (): void => {
      const isStarting = !worker.isReady && clock.now() - startedAt < START_UP_MS;
      if (isStarting || options.isWaiting?.(id)) lastLife = clock.now();
      if (because !== null || clock.now() - lastLife < idleTimeoutMs) return;
      // A worker without a sign of life is not asked to finish its step.
      beginStopping({ problem: { code: 'item-stalled', afterMs: idleTimeoutMs }, retry: 'idle' }, 0);
    };
    timers.add(setInterval(watch, Math.min(1_000, Math.max(20, idleTimeoutMs / 4))));

    const onOutput = (): void => {
      lastLife = clock.now();
    };
    for (const stream of [worker.stdout, worker.stderr]) {
      stream.on('data', onOutput);
      over.signal.addEventListener('abort', () => stream.off('data', onOutput));
    }

    worker.onMessage = (message: FromWorker) => {
      lastLife = clock.now();
      switch (message.type) {
        case 'ready':
        case 'alive':
          return;
        case 'event':
          options.onEvent(id, message.event);
          return;
        case 'spans':
          trace?.spans(message.spans);
          return;
        case 'steps':
          active.steps ??= new Map();
          for (const [step, seal] of message.steps) active.steps.set(step, seal);
          return;
        case 'group':
          pool.noteGroup(worker, message.leader, message.ended);
          return;
        case 'journal': {
          const { call, request } = message;
          if (typeof checkpoint === 'string') throw new TypeError('a worker asked for a journal that it has itself');
          void answerFrom(checkpoint, request).then((answer) => worker.send({ type: 'journal', call, answer }));
          return;
        }
        case 'ended':
          rssBytes = message.rssBytes;
          resolve(because !== null && 'error' in message.outcome ? { error: because } : message.outcome);
      }
    };
    worker.onGone = ({ exitCode, signal }) => {
      const crashed = { code: 'worker-crashed', exitCode, signal, detail: '' } as const;
      resolve({ error: because ?? { problem: crashed, retry: 'transient' } });
    };
    if (stop.aborted) onStop();
    worker.send({
      type: 'start',
      item: {
        task,
        id,
        attempt: active.attempts,
        checkpoint: typeof checkpoint === 'string' ? checkpoint : null,
        steps: active.steps === null ? null : [...active.steps],
        input,
        ...(trace && { traceparent: trace.traceparent }),
      },
    });
  });

  for (const timer of timers) clearTimeout(timer);
  over.abort();
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
  trace?.ended('error' in outcome ? outcome.error : null);
  return outcome;
}

async function inputOf({ input }: CoordinatedItem): Promise<unknown> {
  return typeof input === 'function' ? (input as () => unknown)() : input;
}

function discardOutput({ stdout, stderr }: WorkerProcess): { detach: () => void } {
  stdout.resume();
  stderr.resume();
  return { detach: () => undefined };
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
