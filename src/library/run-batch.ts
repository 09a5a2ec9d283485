import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type CoordinatedEnd, ParallelCoordinator } from '../coordinator/coordinator.ts';
import { LONGEST_MS } from '../core/duration.ts';
import { AgentosError, usageError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import { wordingOf } from '../core/wording.ts';
import { deleteDatabase } from '../journal/database.ts';
import { OutputPrefixer, sinkOf } from '../output/prefixer.ts';
import { wantsColour } from '../output/terminal.ts';
import { acquireLock } from '../process/lock.ts';
import { packageRoot } from '../process/own-process.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import type { ExportReference } from '../worker/protocol.ts';
import { readUserResult, type UserTaskInput } from '../worker/user-task.ts';
import type { BatchItem, BatchItemResult, BatchOptions, BatchResult } from './batch.ts';

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
  const batch = settled(options);
  const paths = batchPaths(batch.baseDir, batch.name);
  await prepareStateFolder(batch.baseDir);

  const results = await finishedBefore(batch.items, paths);
  const open = batch.items.filter(({ id }) => !results.has(id));
  const keys = new Map<string, string>(open.map(({ id, key }) => [id, key]));
  for (const end of await runItems(open, batch, paths)) {
    const file = paths.result(parseItemId(end.id));
    const stored = end.status === 'succeeded' ? await readUserResult(file, keys.get(end.id) ?? '') : null;
    results.set(end.id, itemResultOf(end, stored?.result ?? null));
  }
  const items = batch.items.flatMap(({ id }) => results.get(id) ?? []);
  if (items.every(({ status }) => status === 'succeeded' || status === 'skipped')) {
    for (const { id } of batch.items) await rm(paths.result(id), { force: true });
  }
  // The caller's type parameter says what the task returns.
  return { items: items as BatchItemResult<Result>[], counts: countsOf(items), parallel: batch.parallel };
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
  batch: SettledOptions,
  paths: BatchPaths,
): Promise<CoordinatedEnd[]> {
  if (open.length === 0) return [];
  const { name: workflow, onEvent, output, secrets, signal } = batch;
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
  const { task, cwd, env, parallel, maxRetries, timeoutMs, idleTimeoutMs, globalTimeoutMs, haltAfter } = batch;
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
      const lock = acquireLock(paths.lock(parseItemId(id)), { workflow, id });
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

/** An item with a hash of task and input: a stored result is for exactly these. */
interface SettledItem {
  id: ItemId;
  input: unknown;
  key: string;
}

const DEFAULT_PARALLEL = 3;

/** The options with every default filled in. */
type SettledOptions = ReturnType<typeof settled>;

/** Throws before anything is touched if an option is wrong or unknown. */
function settled(options: BatchOptions) {
  const { items, task, parallel, baseDir, name, maxRetries, timeoutMs, idleTimeoutMs, globalTimeoutMs, ...more } =
    options;
  const { haltAfter, onEvent, output, secrets = [], signal, env, cwd, ...unknown } = more;
  const [unknownName] = Object.keys(unknown satisfies Record<string, never>);
  if (unknownName !== undefined) throw usageError(`runBatch has no option ${JSON.stringify(unknownName)}.`);
  if (task?.module === undefined) throw usageError('task takes { module, export }.');
  const reference = { module: moduleUrl(task.module), export: task.export ?? 'default' };
  // The name of an export need not be a valid folder name.
  const usualName = isItemId(reference.export) ? reference.export : `task-${sha256(reference.export).slice(0, 12)}`;
  const usual = Math.min(DEFAULT_PARALLEL, availableParallelism());
  const bound = (option: string, value: number): number => wholeNumber(option, value, 1, LONGEST_MS);
  return {
    items: settledItems(items, reference),
    task: reference,
    parallel: Math.min(MAX_PARALLEL, wholeNumber('parallel', parallel ?? usual, 1)),
    baseDir: resolve(baseDir ?? '.agentos'),
    name: parseItemId(name ?? usualName),
    maxRetries: wholeNumber('maxRetries', maxRetries ?? 3, 0),
    timeoutMs: bound('timeoutMs', timeoutMs ?? 3_600_000),
    idleTimeoutMs: bound('idleTimeoutMs', idleTimeoutMs ?? 300_000),
    globalTimeoutMs: globalTimeoutMs === undefined ? null : bound('globalTimeoutMs', globalTimeoutMs),
    haltAfter: haltAfter === undefined ? Infinity : wholeNumber('haltAfter', haltAfter, 1),
    onEvent,
    output,
    secrets,
    signal,
    env: definedOnly(env ?? process.env),
    cwd: resolve(cwd ?? '.'),
  };
}

function settledItems(items: readonly BatchItem[], task: ExportReference): SettledItem[] {
  if (!Array.isArray(items)) throw usageError('items takes an array of { id, input }.');
  const seen = new Set<string>();
  return items.map(({ id: text, input = null }) => {
    // In JavaScript it may be a number, which the pattern of an id would accept.
    if (typeof text !== 'string') throw usageError(`Ids are text: write '${String(text)}' in quotes.`);
    const id = parseItemId(text);
    if (seen.has(id)) throw usageError(`Two items have the id ${id}.`);
    seen.add(id);
    return { id, input, key: sha256(`${task.module}\0${task.export}\0${jsonOf(id, input)}`) };
  });
}

function jsonOf(id: ItemId, input: unknown): string {
  try {
    return JSON.stringify(input) ?? 'null';
  } catch (error) {
    throw usageError(`The input of item ${id} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A relative path or a bare name would be resolved from the worker program, not from the caller. */
function moduleUrl(module: URL | string): string {
  const url = module instanceof URL ? module : isAbsolute(module) ? pathToFileURL(module) : URL.parse(module);
  if (url === null) {
    throw usageError(
      `"${String(module)}" does not say where the task's module is.`,
      "Write new URL('./my-task.js', import.meta.url), import.meta.resolve('a-package'), or an absolute path.",
    );
  }
  if (url.protocol === 'file:' && !existsSync(fileURLToPath(url))) throw usageError(`There is no file ${url.href}.`);
  return url.href;
}

function wholeNumber(name: string, value: number, from: number, to = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= from && value <= to) return value;
  throw usageError(`${name} takes a whole number from ${from} to ${to}, not ${String(value)}.`);
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
