import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type CoordinatedEnd, ParallelCoordinator } from '../coordinator/coordinator.ts';
import { AgentosError, type ErrorCode, type ErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { ItemStatus } from '../core/item.ts';
import { wordingOf } from '../core/wording.ts';
import { deleteDatabase } from '../journal/database.ts';
import { OutputPrefixer, sinkOf } from '../output/prefixer.ts';
import { wantsColour } from '../output/terminal.ts';
import { packageRoot } from '../process/own-process.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import { readUserResult, type UserTaskInput } from '../worker/user-task.ts';
import { type BatchOptions, type SettledItem, type SettledOptions, settleOptions } from './batch-options.ts';

/**
 * Runs the task for each item in its own process, and resolves when every item has ended, however it ended. Rejects if nothing could
 * be started, or with the error that `onEvent` threw.
 *
 * A second run with the same base directory resumes: finished items are skipped with their stored result, the others continue after
 * their last finished step. When all items have succeeded the batch is over, and the next run starts from scratch.
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
  for (const end of await runItems(open, settled, paths)) {
    const file = paths.result(parseItemId(end.id));
    const stored = end.status === 'succeeded' ? await readUserResult(file, keys.get(end.id) ?? '') : null;
    results.set(end.id, itemResultOf(end, stored?.result ?? null));
  }
  const items = settled.items.flatMap(({ id }) => results.get(id) ?? []);
  if (items.every(({ status }) => status === 'succeeded' || status === 'skipped')) {
    for (const { id } of settled.items) await rm(paths.result(id), { force: true });
  }
  // The caller's type parameter says what the task returns.
  return { items: items as BatchItemResult<Result>[], counts: countsOf(items), parallel: settled.parallel };
}

async function finishedBefore(items: readonly SettledItem[], paths: BatchPaths): Promise<Map<string, BatchItemResult>> {
  const results = new Map<string, BatchItemResult>();
  // Listed once, because a look-up for each item would be slow.
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

async function runItems(
  open: readonly SettledItem[],
  settled: SettledOptions,
  paths: BatchPaths,
): Promise<CoordinatedEnd[]> {
  if (open.length === 0) return [];
  const { onEvent, output, secrets, signal } = settled;
  // Loaded here, so that a task that imports one class of ours does not load it in every worker.
  const { acquireLock } = await import('../process/lock.ts');
  const colour = wantsColour(process.env, output?.isTTY === true);
  const prefixer = output ? new OutputPrefixer({ ...sinkOf(output), mask: secrets, colour }) : null;
  const thrown: unknown[] = [];
  const tell = (item: string, event: ItemEvent): void => {
    if (event.type === 'notice') prefixer?.line(item, event.text);
    try {
      onEvent?.({ at: new Date().toISOString(), item, ...event });
    } catch (error) {
      thrown.push(error);
      // Deferred, because the coordinator is in the middle of this call.
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

type BatchPaths = ReturnType<typeof batchPaths>;

function batchPaths(baseDir: string, name: ItemId) {
  const own = join(baseDir, 'batches', name);
  return {
    results: join(own, 'results'),
    result: (id: ItemId): string => join(own, 'results', `${id}.json`),
    checkpoint: (id: ItemId): string => join(own, 'checkpoints', `${id}.db`),
    lock: (id: ItemId): string => join(own, 'locks', `${id}.lock`),
  };
}

/** The script for the workers of a `ParallelCoordinator`. */
export function workerScript(): string {
  return join(packageRoot(), 'dist', 'worker.js');
}

/** Why an item failed: a code to match on, a message for people, and the facts. */
export interface BatchItemError extends ErrorRecord {
  code: ErrorCode;
  message: string;
}

export interface BatchItemResult<Result = unknown> {
  id: string;
  /** `skipped`: finished in an earlier run of this batch; `result` is the stored one. */
  status: ItemStatus;
  /** In this run. */
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
  /** By status; a status that did not occur is absent. */
  counts: { total: number } & Partial<Record<ItemStatus, number>>;
  /** How many items could run at once. */
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
