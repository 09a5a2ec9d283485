import { setTimeout as sleep } from 'node:timers/promises';
import type { ParallelCoordinator } from '../coordinator/coordinator.ts';
import { systemClock } from '../core/clock.ts';
import { type AgentosError, isDiskReason, type Problem } from '../core/errors.ts';
import type { Subscriber } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import { isItemId } from '../core/ids.ts';
import { fieldsOf, parseJson } from '../core/json.ts';
import type { RunPaths } from '../core/paths.ts';
import { diskFault, textIfReadable } from '../process/files.ts';
import type { Emitter } from './recording.ts';

/** How a user stops a run: the first signal stops it politely, the second kills it. */
export interface Interruption {
  /** Aborted with an `interrupted` error at the first signal. */
  polite: AbortSignal;
  /** Aborted at the second. */
  now: AbortSignal;
  by: () => NodeJS.Signals | null;
  /** Registers what to suspend and resume together with the program (Ctrl+Z). */
  onStopped: (suspension: Suspension) => void;
}

export interface Suspension {
  suspend(): void;
  resume(): void;
}

/** Shorter suspensions are not reported. */
const NOTABLE_SUSPENSION_MS = 5_000;

/** How long the coordinator may take to end after the second signal; then the summary is written in any case. */
const LAST_WORDS_MS = 700;

/** Stops the coordinator at signals, and emits events about them. */
export function followInterrupts(interrupt: Interruption, coordinator: ParallelCoordinator, emitter: Emitter) {
  const onInterrupt = (): void => {
    emitter.run({ type: 'interrupted', signal: interrupt.by() ?? 'SIGINT' });
    coordinator.stop(interrupt.polite.reason as AgentosError);
  };
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  const onKill = (): void => {
    coordinator.kill();
    void sleep(LAST_WORDS_MS, undefined, { ref: false }).then(resolve);
  };
  interrupt.polite.addEventListener('abort', onInterrupt, { once: true });
  interrupt.now.addEventListener('abort', onKill, { once: true });
  if (interrupt.now.aborted) onKill();
  if (interrupt.polite.aborted) onInterrupt();
  interrupt.onStopped(coordinator);
  const stopWatching = systemClock.onSuspended((forMs) => {
    if (forMs >= NOTABLE_SUSPENSION_MS) emitter.run({ type: 'suspended', forMs });
  });
  return {
    /** Resolves some time after the second signal. */
    killed,
    /** From here on a signal has no effect on the run. */
    dispose(): void {
      stopWatching();
      interrupt.polite.removeEventListener('abort', onInterrupt);
      interrupt.now.removeEventListener('abort', onKill);
    },
  };
}

type DiskProblem = Extract<Problem, { code: 'disk-unwritable' }>;

/** Notices that a disk is full or read-only, from whatever failed because of it. Reports it once. */
export function createDiskWatch(folders: readonly string[]) {
  let found: DiskProblem | null = null;
  let listener: (problem: DiskProblem) => void = () => undefined;
  const report = (directory: string, reason: string): void => {
    if (found !== null) return;
    found = { code: 'disk-unwritable', directory, reason };
    listener(found);
  };
  /** A file of the run could not be written. */
  const refused = (path: string, reason: string): void => {
    if (isDiskReason(reason)) report(folders.find((folder) => path.startsWith(folder)) ?? path, reason);
  };
  /** Looks at the disk when an item fails: git, tests and agents have words of their own for a full one. */
  const subscriber: Subscriber = (event) => {
    if (event.type !== 'item-finished' || event.error === null || !isFailure(event.status)) return;
    for (const folder of folders) {
      const fault = diskFault(folder);
      if (fault !== null) report(folder, fault);
    }
    const { problem } = event.error;
    if (problem.code === 'journal-full') refused(problem.file, 'ENOSPC');
    if (problem.code === 'output-unwritable') refused(problem.path, problem.reason);
  };
  return {
    refused,
    subscriber,
    /** Also called if the fault is older. */
    onFault(given: (problem: DiskProblem) => void): void {
      listener = given;
      if (found !== null) given(found);
    },
  };
}

/** A line of a run's `requests.jsonl`. */
export interface CancelRequest {
  at: string;
  type: 'cancel';
  item: string;
  by: string;
}

/** People don't notice a shorter delay. */
const LOOK_EVERY_MS = 500;
const LONGEST_NAME = 200;

/** Calls back for each item that a person wants to cancel, until it is closed. */
export function followCancels(run: RunPaths, onCancel: (id: string, by: string) => void): { close(): void } {
  let read = 0;
  const look = (): void => {
    // A deleted folder or a failing disk does not stop the run; then its items can't be cancelled.
    const lines = (textIfReadable(run.requests) ?? '').split('\n').slice(0, -1);
    for (const line of lines.slice(read)) {
      const { type, item, by } = fieldsOf(parseJson(line));
      if (type === 'cancel' && typeof item === 'string' && isItemId(item) && typeof by === 'string')
        onCancel(item, by.slice(0, LONGEST_NAME));
    }
    read = lines.length;
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  return { close: () => clearInterval(timer) };
}
