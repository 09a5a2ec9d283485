import { flushCompileCache } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '../core/clock.ts';
import { AgentosError, codeOf, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { WorkflowName } from '../core/paths.ts';
import { parseTraceparent } from '../core/traceparent.ts';
import { wordingOf } from '../core/wording.ts';
import type { Journal } from '../journal/port.ts';
import { openSqliteJournal } from '../journal/sqlite.ts';
import { isHolderAlive, readHolder } from '../process/lock.ts';
import { capturesContent } from '../telemetry/settings.ts';
import { tracedJournal } from '../telemetry/traced.ts';
import { below, createWorkerSpans } from '../telemetry/tracer.ts';
import { createIdleCollection } from './idle-collection.ts';
import type { Task, TaskContext } from './protocol.ts';
import {
  type FromWorker,
  type ItemStart,
  type JournalAnswer,
  type JournalRequest,
  KEEP_COMPILED_CODE,
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
 * What it needs for an item is loaded while it waits for one, so that a warm worker starts within milliseconds.
 */

/** Resolves when the message was handed over, so that nothing is lost by an exit right after it. */
function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || !process.send) return resolve();
    process.send(message, undefined, undefined, () => resolve());
  });
}

function post(message: FromWorker): void {
  void send(message);
}

const HEARTBEAT_EVERY_MS = 250;
let lastHeartbeat = 0;

/** Chunks of an answer come in hundreds a second; the parent needs to hear of life, not of each of them. */
function heartbeat(): void {
  const now = performance.now();
  if (now - lastHeartbeat < HEARTBEAT_EVERY_MS) return;
  lastHeartbeat = now;
  post({ type: 'alive' });
}

const spans = createWorkerSpans((records) => post({ type: 'spans', spans: records }), capturesContent(process.env));

/** Below the span that the parent began for the attempt, where it did. */
function inTrace<T>({ traceparent }: ItemStart, work: () => T): T {
  const attempt = parseTraceparent(traceparent);
  return attempt === null ? work() : below(spans, attempt, work);
}

interface Running {
  stop: AbortController;
  abort: AbortController;
}

let running: Running | null = null;

function revive({ problem, retry }: ErrorRecord): AgentosError {
  return new AgentosError(problem, { retry });
}

const idleCollection = createIdleCollection(() => {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
});

function emit(event: ItemEvent): void {
  post({ type: 'event', event });
  idleCollection.onEvent(event);
}

async function loadTask(reference: TaskReference): Promise<Task> {
  if ('builtIn' in reference) return loadBuiltIn(reference.builtIn);
  if ('userTask' in reference) return (await import('./user-task.ts')).loadUserTask(reference.userTask);
  const module: Record<string, unknown> = await import(reference.module);
  const task = module[reference.export];
  if (typeof task === 'function') return task as Task;
  throw new AgentosError({ code: 'task-missing', module: reference.module, export: reference.export });
}

async function loadBuiltIn(workflow: WorkflowName): Promise<Task> {
  switch (workflow) {
    case 'lld':
      return (await import('./document-tasks.ts')).lldTask;
    case 'issue':
      return (await import('./document-tasks.ts')).issueTask;
    case 'eval':
      return (await import('./eval-task.ts')).evalTask;
    case 'land':
      return (await import('./land-task.ts')).landTask;
    case 'react':
      return (await import('./react-task.ts')).reactTask;
    case 'implement':
      return (await import('./implement-task.ts')).implementTask;
  }
}

/** Stored results are still returned, but no new step starts once the signal has fired. */
function stoppableJournal(journal: Journal, stop: AbortSignal): Journal {
  return {
    location: journal.location,
    step: (key, run) =>
      journal.step(key, (step) => {
        stop.throwIfAborted();
        return run(step);
      }),
    has: (key) => journal.has(key),
    steps: () => journal.steps(),
    last: (name) => journal.last(name),
    check: () => journal.check?.(),
    remove: () => journal.remove(),
    close: () => journal.close(),
  };
}

/** Answers that the parent owes us, by the number of the call. */
const owed = new Map<number, (answer: JournalAnswer) => void>();
let calls = 0;

async function openJournal({ checkpoint, steps, task }: ItemStart): Promise<Journal> {
  if (checkpoint !== null)
    return openSqliteJournal(checkpoint, {
      clock: systemClock,
      ...(steps === null ? {} : { known: new Map(steps) }),
      onStep: (made) => post({ type: 'steps', steps: made }),
      isAlone: () => 'builtIn' in task && isRunning(checkpoint),
    });
  const [{ openStoredJournal }, { parentStore }] = await Promise.all([
    import('../journal/stored.ts'),
    import('./parent-store.ts'),
  ]);
  const ask = (request: JournalRequest): Promise<JournalAnswer> =>
    new Promise((resolve) => {
      calls += 1;
      owed.set(calls, resolve);
      post({ type: 'journal', call: calls, request });
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
        journal: stoppableJournal(tracedJournal(journal), stop.signal),
        signal: abort.signal,
        emit,
        heartbeat,
        group: (leader, ended) => post({ type: 'group', leader, ended }),
      };
      const result = await inTrace(item, () => task(context));
      // An item that waits for a decision has stored its question; without a step there is nothing to resume.
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
  idleCollection.cancel();
  spans.flush();
  await drained();
  keepCompiledCode();
  await send({ type: 'ended', outcome, rssBytes: process.memoryUsage.rss() });
}

/** No other run has the item, by its lock: whatever else writes to its journal is another program. */
function isRunning(checkpoint: string): boolean {
  const holder = readHolder(join(dirname(dirname(checkpoint)), 'locks', `${basename(checkpoint, '.db')}.lock`));
  return holder === null || holder.pid === process.ppid || !isHolderAlive(holder);
}

/** What the item was for is there: a checkpoint that can't be removed doesn't change that. The next run removes it. */
async function removeJournal(journal: Journal): Promise<void> {
  try {
    await journal.remove();
  } catch (error) {
    if (codeOf(error) === 'journal-fenced') throw error;
    emit({
      type: 'notice',
      text: `done, but its checkpoint stays behind: ${wordingOf(toErrorRecord(error).problem).message}`,
    });
  }
}

let compiledCodeKept = false;

/** Node keeps it at an exit of its own, which a worker never has. One worker of a run does, when it knows what an item needs. */
function keepCompiledCode(): void {
  if (compiledCodeKept || process.argv[3] !== KEEP_COMPILED_CODE) return;
  compiledCodeKept = true;
  flushCompileCache();
}

/** What the item printed is in the pipes before the parent hears that it ended. */
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
      running?.stop.abort(revive(message.error));
      return;
    case 'abort':
      running?.stop.abort(revive(message.error));
      running?.abort.abort(revive(message.error));
      return;
    case 'journal':
      owed.get(message.call)?.(message.answer);
      owed.delete(message.call);
  }
});

// Nothing outlives the parent: this process leads a group, and everything it started is in it.
process.on('disconnect', () => {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    process.exit(1);
  }
});

// An uncaught error leaves unknown state behind: report it to the parent, and end this process.
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

// Read at the start of this process; programs that the item starts must not write their caches into our folder.
delete process.env['NODE_COMPILE_CACHE'];
delete process.env['MALLOC_ARENA_MAX'];
post({ type: 'ready' });
// An error while warming up is not lost: loading again for the item raises it again.
void Promise.allSettled([loadTask(JSON.parse(process.argv[2] ?? 'null') as TaskReference)]);
