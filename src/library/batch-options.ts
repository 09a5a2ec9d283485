import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { LONGEST_MS } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import type { ExportReference } from '../worker/protocol.ts';

export interface BatchItem<Input = unknown> {
  /** 1 to 64 letters, digits, hyphens and underscores; no two items share one. */
  id: string;
  /** For the task; JSON. */
  input?: Input;
}

/** What happens to one item, as it happens. */
export type BatchEvent = { at: string; item: string } & ItemEvent;

export interface BatchOptions<Input = unknown> {
  items: readonly BatchItem<Input>[];
  /** The workflow, by the module that exports it, since a function can't cross processes. */
  task: {
    /** A URL (`new URL('./my-task.js', import.meta.url)`, `import.meta.resolve('a-package')`) or an absolute path. */
    module: URL | string;
    /** Default: `default`. */
    export?: string;
  };
  /** How many items at once, each in a process of its own. Default: 3, or the number of cores if less; at most 10. */
  parallel?: number;
  /** Where state is kept. Default: `.agentos` in the current directory. */
  baseDir?: string;
  /** Keeps batches apart that share a base directory. Default: the name of the export. */
  name?: string;
  /** Further attempts after a failure that may pass. Default: 3. */
  maxRetries?: number;
  /** For one item, all its attempts together. Default: an hour. */
  timeoutMs?: number;
  /** Without an event, a line of output or a heartbeat. Default: five minutes. */
  idleTimeoutMs?: number;
  /** For the whole batch. Default: none. */
  globalTimeoutMs?: number;
  /** Start nothing new after so many failed items. Default: continue to the end. */
  haltAfter?: number;
  /** Never throws in good order: if it does, the batch is stopped and `runBatch` rejects with what was thrown. */
  onEvent?: (event: BatchEvent) => void;
  /** Where the lines of all tasks go, each behind the `[id]` of its item. Default: nowhere. */
  output?: (Writable & { isTTY?: boolean }) | null;
  /** Values that must not be seen in the output. */
  secrets?: readonly string[];
  /** Stops the batch: no new work, running items end at their next step or within seconds. */
  signal?: AbortSignal;
  /** The environment of the processes. Default: that of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The working directory of the processes. Default: that of this process. */
  cwd?: string;
}

/** An item that can be worked on. */
export interface SettledItem {
  id: ItemId;
  input: unknown;
  /** Changes with the task and with the input: a stored result is for exactly these. */
  key: string;
}

/** Options that were checked, with every default filled in. */
export interface SettledOptions {
  items: SettledItem[];
  task: ExportReference;
  parallel: number;
  baseDir: string;
  name: ItemId;
  maxRetries: number;
  timeoutMs: number;
  idleTimeoutMs: number;
  globalTimeoutMs: number | null;
  haltAfter: number;
  env: Record<string, string>;
  cwd: string;
}

const FEW = 3;
const OPTION_NAMES: Record<keyof BatchOptions, true> = {
  items: true,
  task: true,
  parallel: true,
  baseDir: true,
  name: true,
  maxRetries: true,
  timeoutMs: true,
  idleTimeoutMs: true,
  globalTimeoutMs: true,
  haltAfter: true,
  onEvent: true,
  output: true,
  secrets: true,
  signal: true,
  env: true,
  cwd: true,
};

/** Refuses what can't work before anything is touched; a misspelt option is an error, not a setting without effect. */
export function settleOptions(options: BatchOptions): SettledOptions {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(OPTION_NAMES, name));
  if (unknown !== undefined) throw usage(`runBatch has no option ${JSON.stringify(unknown)}.`);
  const task = settleTask(options.task);
  const few = Math.min(FEW, availableParallelism());
  const { globalTimeoutMs, haltAfter } = options;
  return {
    items: settleItems(options.items, task),
    task,
    parallel: Math.min(MAX_PARALLEL, wholeNumber('parallel', options.parallel ?? few, 1)),
    baseDir: resolve(options.baseDir ?? '.agentos'),
    name: parseItemId(options.name ?? nameOf(task)),
    maxRetries: wholeNumber('maxRetries', options.maxRetries ?? 3, 0),
    timeoutMs: wholeNumber('timeoutMs', options.timeoutMs ?? 3_600_000, 1, LONGEST_MS),
    idleTimeoutMs: wholeNumber('idleTimeoutMs', options.idleTimeoutMs ?? 300_000, 1, LONGEST_MS),
    globalTimeoutMs:
      globalTimeoutMs === undefined ? null : wholeNumber('globalTimeoutMs', globalTimeoutMs, 1, LONGEST_MS),
    haltAfter: haltAfter === undefined ? Infinity : wholeNumber('haltAfter', haltAfter, 1),
    env: definedOnly(options.env ?? process.env),
    cwd: resolve(options.cwd ?? '.'),
  };
}

function settleTask(task: BatchOptions['task'] | undefined): ExportReference {
  if (task?.module === undefined) throw usage('task takes { module, export }.');
  return { module: moduleUrl(task.module), export: task.export ?? 'default' };
}

/** An export may have a name that can't name a folder. */
function nameOf(task: ExportReference): string {
  return isItemId(task.export) ? task.export : `task-${sha256(task.export).slice(0, 12)}`;
}

function settleItems(items: readonly BatchItem[], task: ExportReference): SettledItem[] {
  if (!Array.isArray(items)) throw usage('items takes an array of { id, input }.');
  const seen = new Set<string>();
  return items.map(({ id: text, input = null }) => {
    // Who writes JavaScript may bring a number, which the pattern of an id would take for text.
    if (typeof text !== 'string') throw usage(`Ids are text: write '${String(text)}' in quotes.`);
    const id = parseItemId(text);
    if (seen.has(id)) throw usage(`Two items have the id ${id}.`);
    seen.add(id);
    return { id, input, key: sha256(`${task.module}\0${task.export}\0${jsonOf(id, input)}`) };
  });
}

function jsonOf(id: ItemId, input: unknown): string {
  try {
    return JSON.stringify(input) ?? 'null';
  } catch (error) {
    throw usage(`The input of item ${id} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A relative path or a bare name would be looked for beside the worker program, not beside the caller. */
function moduleUrl(module: URL | string): string {
  const url = module instanceof URL ? module : isAbsolute(module) ? pathToFileURL(module) : URL.parse(module);
  if (url === null) {
    throw usage(
      `"${String(module)}" does not say where the task's module is.`,
      "Write new URL('./my-task.js', import.meta.url), import.meta.resolve('a-package'), or an absolute path.",
    );
  }
  if (url.protocol === 'file:' && !existsSync(fileURLToPath(url))) throw usage(`There is no file ${url.href}.`);
  return url.href;
}

function wholeNumber(name: string, value: number, from: number, to = Number.MAX_SAFE_INTEGER): number {
  if (Number.isInteger(value) && value >= from && value <= to) return value;
  throw usage(`${name} takes a whole number from ${from} to ${to}, not ${String(value)}.`);
}

function usage(reason: string, hint?: string): AgentosError {
  return new AgentosError({ code: 'usage', reason, ...(hint === undefined ? {} : { hint }) });
}
