import type { Writable } from 'node:stream';
import type { ItemEvent } from '../core/events.ts';

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
