import { flushCompileCache } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '../core/clock.ts';
import { codeOf, type ErrorRecord, revived, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { WorkflowName } from '../core/paths.ts';
import { parseTraceparent } from '../core/traceparent.ts';
import { messageOf } from '../core/wording.ts';
import { openStoredJournal } from '../journal/journal.ts';
import type { Journal } from '../journal/port.ts';
import { openSqliteJournal } from '../journal/sqlite.ts';
import type { BatchTask } from '../library/batch.ts';
import { livingHolder } from '../process/lock.ts';
import { closeInheritedFiles } from '../process/own-process.ts';
import { below, capturesContent, createWorkerSpans, traced } from '../telemetry/tracer.ts';
import {
  type FromWorker,
  type ItemStart,
  type JournalAnswer,
  type JournalRequest,
  KEEP_COMPILED_CODE,
  parentStore,
  type Task,
  type TaskContext,
  type TaskReference,
  type TaskResult,
  type ToWorker,
} from './protocol.ts';

/*
 * The child's composition root: runs one item at a time, as the parent asks over IPC.
 *
 *   starting → ready → running → ready (the item ended; the parent may send the next one)
 *   any      → gone    the parent disconnects or dies, or an uncaught error
 *
 * The modules of its task are loaded before the first item arrives, so that a warm worker starts within milliseconds.
 */

/** Resolves when the message is in the pipe: an exit right after that loses nothing. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) return resolve();
    process.send(message, undefined, undefined, () => resolve());
  });
}

const HEARTBEAT_EVERY_MS = 250;
let lastHeartbeat = 0;

/** An answer has hundreds of chunks a second; the parent needs only a sign of life now and then. */
function heartbeat(): void {
  const now = performance.now();
  if (now - lastHeartbeat < HEARTBEAT_EVERY_MS) return;
  lastHeartbeat = now;
  void send({ type: 'alive' });
}

const spans = createWorkerSpans(
  (records) => void send({ type: 'spans', spans: records }),
  capturesContent(process.env),
);

/** Spans of the work become children of the span that the parent started for the attempt, if it traces. */
function inTrace<T>({ traceparent }: ItemStart, work: () => T): T {
  const attempt = parseTraceparent(traceparent);
  return attempt === null ? work() : below(spans, attempt, work);
}

interface Running {
  stop: AbortController;
  abort: AbortController;
}

let running: Running | null = null;

/**
 * Garbage is collected once in each long call of a model: many workers wait for minutes, and memory counts once per worker. A
 * collection takes as long as all other computing of an item, so it runs only after some seconds of waiting.
 */
const COLLECT_AFTER_MS = 3_000;
let collection: NodeJS.Timeout | undefined;

function emit(event: ItemEvent): void {
  void send({ type: 'event', event });
  if (event.type !== 'step-started' && event.type !== 'step-finished') return;
  clearTimeout(collection);
  if (event.type === 'step-finished' || event.model === null) return;
  collection = setTimeout(() => {
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, COLLECT_AFTER_MS).unref();
}

async function loadTask(reference: TaskReference): Promise<Task> {
  if ('builtIn' in reference) return loadBuiltIn(reference.builtIn);
  const { importExport, taskOfUser } = await import('./user-task.ts');
  if ('userTask' in reference) return taskOfUser(await importExport<BatchTask>(reference.userTask));
  return importExport<Task>(reference);
}

async function loadBuiltIn(workflow: WorkflowName): Promise<Task> {
  if (workflow === 'lld' || workflow === 'issue' || workflow === 'eval')
    return (await import('./document-tasks.ts'))[`${workflow}Task`];
  return (await import('./worktree-tasks.ts'))[`${workflow}Task`];
}

/**
 * Has a span for every step that runs; a replayed one takes no time, and is an event of its attempt. Starts no further step once
 * the signal has fired; stored results are still returned.
 */
function itemJournal(journal: Journal, stop: AbortSignal): Journal {
  return {
    ...journal,
    step: (key, run) =>
      journal.step(key, (step) => {
        stop.throwIfAborted();
        const attributes = { 'agentos.step': key.name, 'agentos.step.earlier_starts': step.earlierStarts };
        return traced(`step ${key.name}`, { attributes }, () => run(step));
      }),
  };
}

/** Requests to the parent's journal that are not answered yet, by the number of the call. */
const pending = new Map<number, (answer: JournalAnswer) => void>();
let calls = 0;

async function openJournal({ checkpoint, steps, task }: ItemStart): Promise<Journal> {
  if (checkpoint !== null)
    return openSqliteJournal(checkpoint, {
      clock: systemClock,
      ...(steps === null ? {} : { known: new Map(steps) }),
      onStep: (made) => void send({ type: 'steps', steps: made }),
      isAlone: () => 'builtIn' in task && isOurs(checkpoint),
    });
  const ask = (request: JournalRequest): Promise<JournalAnswer> =>
    new Promise((resolve) => {
      calls += 1;
      pending.set(calls, resolve);
      void send({ type: 'journal', call: calls, request });
    });
  return openStoredJournal(parentStore(ask), systemClock);
}

async function runItem(item: ItemStart): Promise<void> {
  const stop = new AbortController();
  const abort = new AbortController();
  running = { stop, abort };
  let outcome: { result: TaskResult } | { error: ErrorRecord };
  try {
    const task = await loadTask(item.task);
    const journal = await openJournal(item);
    try {
      const context: TaskContext = {
        id: item.id,
        attempt: item.attempt,
        input: item.input,
        journal: itemJournal(journal, stop.signal),
        signal: abort.signal,
        emit,
        heartbeat,
        group: (leader, ended) => void send({ type: 'group', leader, ended }),
      };
      const result = await inTrace(item, () => task(context));
      // An item in DISCUSS has stored its question.
      const isNeeded = result.status === 'discuss' || result.keepsCheckpoint === true;
      if (!isNeeded || journal.steps().length === 0) await removeJournal(journal);
      outcome = { result };
    } finally {
      journal.close();
    }
  } catch (error) {
    outcome = { error: toErrorRecord(error) };
  }
  running = null;
  clearTimeout(collection);
  spans.flush();
  await drained();
  keepCompiledCode();
  await send({ type: 'ended', outcome, rssBytes: process.memoryUsage.rss() });
}

/** By the item's lock file no other run works on it: then only a program of the item can have changed the journal. */
function isOurs(checkpoint: string): boolean {
  const holder = livingHolder(join(dirname(dirname(checkpoint)), 'locks', `${basename(checkpoint, '.db')}.lock`));
  return holder === null || holder.pid === process.ppid;
}

/** The item is done even if its checkpoint can't be removed; the next run removes it. */
async function removeJournal(journal: Journal): Promise<void> {
  try {
    await journal.remove();
  } catch (error) {
    if (codeOf(error) === 'journal-fenced') throw error;
    emit({
      type: 'notice',
      text: `done, but its checkpoint stays behind: ${messageOf(error)}`,
    });
  }
}

let isCompiledCodeKept = process.argv[3] !== KEEP_COMPILED_CODE;

/** Node stores compiled code when a process exits by itself, and a worker is killed: one worker of a run stores it after its first item. */
function keepCompiledCode(): void {
  if (isCompiledCodeKept) return;
  isCompiledCodeKept = true;
  flushCompileCache();
}

/** Flushes what the item printed before the parent hears that it ended. */
async function drained(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  }
}

process.on('message', (message: ToWorker) => {
  switch (message.type) {
    case 'start':
      void runItem(message.item);
      return;
    case 'stop':
      running?.stop.abort(revived(message.error));
      return;
    case 'abort':
      running?.stop.abort(revived(message.error));
      running?.abort.abort(revived(message.error));
      return;
    case 'journal':
      pending.get(message.call)?.(message.answer);
      pending.delete(message.call);
  }
});

// The parent is gone: this process leads a group, so that everything it started ends with it.
process.on('disconnect', () => {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(1);
  }
});

// The state after an uncaught error is unknown: report it to the parent and exit.
const onFatal = (error: unknown): void => {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const record: ErrorRecord = {
    problem: { code: 'worker-crashed', detail, exitCode: null, signal: null },
    retry: 'transient',
  };
  spans.flush();
  void send({ type: 'ended', outcome: { error: record }, rssBytes: 0 }).then(() => process.exit(70));
};
process.on('uncaughtException', onFatal);
process.on('unhandledRejection', onFatal);
process.on('SIGTERM', () => process.exit(143));
// The terminal's Ctrl+C is the parent's to handle.
process.on('SIGINT', () => undefined);

// Node has read these; programs of the item must not inherit them, or they would write into our compile cache.
delete process.env['NODE_COMPILE_CACHE'];
delete process.env['MALLOC_ARENA_MAX'];
closeInheritedFiles();
void send({ type: 'ready' });
// Warm-up. A module that can't be loaded fails again, and is reported, when an item needs it.
void Promise.allSettled([loadTask(JSON.parse(process.argv[2] ?? 'null') as TaskReference)]);
