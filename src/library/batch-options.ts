import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { LONGEST_MS } from '../core/duration.ts';
import { usageError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import type { ExportReference } from '../worker/protocol.ts';

export interface BatchItem<Input = unknown> {
  /** 1 to 64 letters, digits, hyphens and underscores; no two items share one. */
  id: string;
  /** The task's input, as JSON. */
  input?: Input;
}

/** An event of one item. */
export type BatchEvent = { at: string; item: string } & ItemEvent;

export interface BatchOptions<Input = unknown> {
  items: readonly BatchItem<Input>[];
  /** The module that exports the workflow, since a function can't be sent to another process. */
  task: {
    /** A URL (`new URL('./my-task.js', import.meta.url)`, `import.meta.resolve('a-package')`) or an absolute path. */
    module: URL | string;
    /** Default: `default`. */
    export?: string;
  };
  /** How many items at once, each in its own process. Default: 3, or the number of cores if less; at most 10. */
  parallel?: number;
  /** The folder for state. Default: `.agentos` in the current directory. */
  baseDir?: string;
  /** Separates batches that share a base directory. Default: the name of the export. */
  name?: string;
  /** More attempts after a temporary failure. Default: 3. */
  maxRetries?: number;
  /** For one item, all its attempts together. Default: an hour. */
  timeoutMs?: number;
  /** Without an event, a line of output or a heartbeat. Default: five minutes. */
  idleTimeoutMs?: number;
  /** For the whole batch. Default: none. */
  globalTimeoutMs?: number;
  /** Start nothing new after this many failed items. Default: continue to the end. */
  haltAfter?: number;
  /** Should not throw: if it does, the batch stops, and `runBatch` rejects with the error. */
  onEvent?: (event: BatchEvent) => void;
  /** Gets the lines that the tasks print, each with the `[id]` of its item in front. Default: none. */
  output?: (Writable & { isTTY?: boolean }) | null;
  /** Values to mask in the output. */
  secrets?: readonly string[];
  /** Stops the batch: nothing new starts, and running items stop at their next step or within seconds. */
  signal?: AbortSignal;
  /** The environment of the processes. Default: that of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The working directory of the processes. Default: that of this process. */
  cwd?: string;
}

export interface SettledItem {
  id: ItemId;
  input: unknown;
  /** A hash of task and input: a stored result is for exactly these. */
  key: string;
}

const DEFAULT_PARALLEL = 3;

/** The options with every default filled in. */
export type SettledOptions = ReturnType<typeof settleOptions>;

/** Throws before anything is touched if an option is wrong or unknown. */
export function settleOptions(options: BatchOptions) {
  const { items, task, parallel, baseDir, name, maxRetries, timeoutMs, idleTimeoutMs, globalTimeoutMs, ...more } =
    options;
  const { haltAfter, onEvent, output, secrets, signal, env, cwd, ...unknown } = more;
  const [unknownName] = Object.keys(unknown satisfies Record<string, never>);
  if (unknownName !== undefined) throw usageError(`runBatch has no option ${JSON.stringify(unknownName)}.`);
  const settledTask = settleTask(task);
  const usual = Math.min(DEFAULT_PARALLEL, availableParallelism());
  return {
    items: settleItems(items, settledTask),
    task: settledTask,
    parallel: Math.min(MAX_PARALLEL, wholeNumber('parallel', parallel ?? usual, 1)),
    baseDir: resolve(baseDir ?? '.agentos'),
    name: parseItemId(name ?? nameOf(settledTask)),
    maxRetries: wholeNumber('maxRetries', maxRetries ?? 3, 0),
    timeoutMs: wholeNumber('timeoutMs', timeoutMs ?? 3_600_000, 1, LONGEST_MS),
    idleTimeoutMs: wholeNumber('idleTimeoutMs', idleTimeoutMs ?? 300_000, 1, LONGEST_MS),
    globalTimeoutMs:
      globalTimeoutMs === undefined ? null : wholeNumber('globalTimeoutMs', globalTimeoutMs, 1, LONGEST_MS),
    haltAfter: haltAfter === undefined ? Infinity : wholeNumber('haltAfter', haltAfter, 1),
    onEvent,
    output,
    secrets: secrets ?? [],
    signal,
    env: definedOnly(env ?? process.env),
    cwd: resolve(cwd ?? '.'),
  };
}

function settleTask(task: BatchOptions['task'] | undefined): ExportReference {
  if (task?.module === undefined) throw usageError('task takes { module, export }.');
  return { module: moduleUrl(task.module), export: task.export ?? 'default' };
}

/** The name of an export need not be a valid folder name. */
function nameOf(task: ExportReference): string {
  return isItemId(task.export) ? task.export : `task-${sha256(task.export).slice(0, 12)}`;
}

function settleItems(items: readonly BatchItem[], task: ExportReference): SettledItem[] {
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
