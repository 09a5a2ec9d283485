import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type CoordinatedEnd, ParallelCoordinator } from '../coordinator/coordinator.ts';
import { AgentosError, type ErrorCode, type ErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { ItemStatus } from '../core/item.ts';
import { wordingOf } from '../core/wording.ts';
import { deleteDatabase } from '../journal/database-files.ts';
import { OutputPrefixer, sinkOf } from '../output/prefixer.ts';
import { wantsColour } from '../output/terminal.ts';
import { packageRoot } from '../process/package-root.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import { readUserResult, type UserTaskInput } from '../worker/user-task.ts';
import { type BatchOptions, type SettledItem, type SettledOptions, settleOptions } from './batch-options.ts';

/**
 * Works off the items, each in a process of its own, and resolves when every one of them has ended, however that was. It
 * rejects when nothing could be started, or with what `onEvent` threw.
 *
 * Run again with the same base directory, it resumes: finished items are skipped with the result they had, the
 * others continue after their last finished step. When all have succeeded, the batch is over, and the next run starts
 * from scratch.
 */
export async function runBatch<Input = unknown, Result = unknown>(
  options: BatchOptions<Input>,
): Promise<BatchResult<Result>> {
  const settled = settleOptions(options);
  const paths = batchPaths(settled.baseDir, settled.name);
  await prepareStateFolder(settled.baseDir);

  const results = await finishedBefore(settled.items, paths);
  const open = settled.items.filter(({ id }) => !results.has(id));
  const keys = new Map<string, string>(open.map(({ id, key }) => [id, key]));
  for (const end of await workOff(open, settled, paths, options)) {
    const file = paths.result(parseItemId(end.id));
    const stored = end.status === 'succeeded' ? await readUserResult(file, keys.get(end.id) ?? '') : null;
    results.set(end.id, itemResultOf(end, stored?.result ?? null));
  }
  const items = settled.items.flatMap(({ id }) => results.get(id) ?? []);
  if (items.every(({ status }) => status === 'succeeded' || status === 'skipped')) {
    for (const { id } of settled.items) await rm(paths.result(id), { force: true });
  }
  // Who names a type for the results vouches for what the task returns.
  return { items: items as BatchItemResult<Result>[], counts: countsOf(items), parallel: settled.parallel };
}

async function finishedBefore(items: readonly SettledItem[], paths: BatchPaths): Promise<Map<string, BatchItemResult>> {
  const results = new Map<string, BatchItemResult>();
  // Listed once: most batches have none, and asking for each item would cost more than all the rest.
  const files = new Set(await readdir(paths.results).catch(() => []));
  for (const { id, key } of items) {
    const stored = files.has(`${id}.json`) ? await readUserResult(paths.result(id), key) : null;
    if (stored === null) continue;
    deleteDatabase(paths.checkpoint(id));
    const reason = 'finished in an earlier run of this batch';
    const plain = { id, attempts: 0, durationMs: 0, reason, error: null, outputs: [] };
    results.set(id, itemResultOf({ ...plain, status: 'skipped' }, stored.result));
  }
  return results;
}

async function workOff(
  open: readonly SettledItem[],
  settled: SettledOptions,
  paths: BatchPaths,
  { onEvent, output, secrets, signal }: BatchOptions,
): Promise<CoordinatedEnd[]> {
  if (open.length === 0) return [];
  // Loaded here, because a task that imports us for one class should not pay in every worker for what locks need.
  const { acquireLock } = await import('../process/lock.ts');
  const prefixer = output
    ? new OutputPrefixer({
        ...sinkOf(output),
        mask: secrets ?? [],
        colour: wantsColour(process.env, output.isTTY === true),
      })
    : null;
  const thrown: unknown[] = [];
  const tell = (item: string, event: ItemEvent): void => {
    if (event.type === 'notice') prefixer?.line(item, event.text);
    try {
      onEvent?.({ at: now(), item, ...event });
    } catch (error) {
      thrown.push(error);
      // Not from inside the coordinator's own call, which is in the middle of its books.
      queueMicrotask(() => coordinator.stop(new AgentosError({ code: 'interrupted', signal: 'an error in onEvent' })));
    }
  };
  const { task, cwd, env, parallel, maxRetries, timeoutMs, idleTimeoutMs, globalTimeoutMs, haltAfter } = settled;
  const coordinator = new ParallelCoordinator({
    task: { userTask: task },
    parallel,
    maxRetries,
    timeoutMs,
    idleTimeoutMs,
    globalTimeoutMs,
    haltAfter,
    worker: { script: workerScript(), env, cwd, compileCache: null },
    onEvent: tell,
    claim: (id) => {
      const lock = acquireLock(paths.lock(parseItemId(id)), { workflow: settled.name, id });
      return () => lock.release();
    },
    ...(prefixer && { attachOutput: (id, { stdout, stderr }) => prefixer.attach(id, stdout, stderr) }),
    runTag: `batch-${randomUUID()}`,
  });
  const onAbort = (): void => coordinator.stop(new AgentosError({ code: 'interrupted', signal: 'the caller' }));
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  try {
    const ends = await coordinator.run(
      open.map(({ id, input, key }) => {
        const sent: UserTaskInput = { input, resultFile: paths.result(id), key };
        return { id, checkpoint: paths.checkpoint(id), input: sent };
      }),
    );
    if (thrown.length > 0) throw thrown[0];
    return ends;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

function now(): string {
  return new Date().toISOString();
}

interface BatchPaths {
  results: string;
  result(id: ItemId): string;
  checkpoint(id: ItemId): string;
  lock(id: ItemId): string;
}

/** Where a batch keeps what it knows, apart from that of every other batch. */
function batchPaths(baseDir: string, name: ItemId): BatchPaths {
  const own = join(baseDir, 'batches', name);
  return {
    results: join(own, 'results'),
    result: (id) => join(own, 'results', `${id}.json`),
    checkpoint: (id) => join(own, 'checkpoints', `${id}.db`),
    lock: (id) => join(own, 'locks', `${id}.lock`),
  };
}

/** The program that a `ParallelCoordinator` starts as its workers. */
export function workerScript(): string {
  return join(packageRoot(), 'dist', 'worker.js');
}

/** Why an item failed: the code to match on, words for people, and the facts. */
export interface BatchItemError extends ErrorRecord {
  code: ErrorCode;
  message: string;
}

export interface BatchItemResult<Result = unknown> {
  id: string;
  /** `skipped`: finished in an earlier run of this batch; `result` is what it returned then. */
  status: ItemStatus;
  /** Made in this run. */
  attempts: number;
  durationMs: number;
  reason: string | null;
  /** What the task returned; null unless the item succeeded or was skipped. */
  result: Result | null;
  error: BatchItemError | null;
}

export interface BatchResult<Result = unknown> {
  /** In the order in which they were given. */
  items: BatchItemResult<Result>[];
  /** How many ended how; a status that did not occur is absent. */
  counts: { total: number } & Partial<Record<ItemStatus, number>>;
  /** How many ran at once at most, after the cap. */
  parallel: number;
}

function itemResultOf(end: CoordinatedEnd, result: unknown): BatchItemResult {
  const { id, status, attempts, durationMs, reason, error } = end;
  return {
    id,
    status,
    attempts,
    durationMs,
    reason,
    result,
    error: error && { code: error.problem.code, message: wordingOf(error.problem).message, ...error },
  };
}

function countsOf(items: readonly BatchItemResult[]): BatchResult['counts'] {
  const counts: BatchResult['counts'] = { total: items.length };
  for (const { status } of items) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
