import { join } from 'node:path';
import { type CoordinatedEnd, type CoordinatedItem, ParallelCoordinator } from '../coordinator/coordinator.ts';
import { AgentosError } from '../core/errors.ts';
import { createLineReader } from '../core/lines.ts';
import { compiledCodeFolder, packageRoot } from '../process/own-process.ts';
import type { HeldItem } from './held-item.ts';
import type { MachineOptions } from './machine.ts';
import type { Relay } from './relay.ts';

/** How long a step in flight may still take when the machine is drained. */
const DRAIN_MS = 20_000;
const FINISH_STEP_MS = 2_000;

export interface MachineWorkers {
  /** Works on an item; resolves with its end. */
  work: (item: CoordinatedItem) => Promise<CoordinatedEnd>;
  cancel: (id: string, reason: AgentosError) => void;
  stop: () => void;
  kill: () => void;
  close: () => Promise<void>;
}

/** The coordinator of a local run, without a plan: items join while the machine holds them. */
export function startMachineWorkers(
  { base, parallel, childEnv, drain, now }: MachineOptions,
  runTag: string,
  held: ReadonlyMap<string, HeldItem>,
  relay: Pick<Relay, 'isWaiting'>,
): MachineWorkers {
  const ends = new Map<string, (end: CoordinatedEnd) => void>();
  const coordinator = new ParallelCoordinator({
    task: { builtIn: 'lld' },
    parallel,
    worker: {
      script: join(packageRoot(), 'dist', 'worker.js'),
      env: childEnv,
      cwd: base,
      compileCache: compiledCodeFolder(),
    },
    // These are overridden by the bounds of each item's run.
    maxRetries: 0,
    timeoutMs: 3_600_000,
    idleTimeoutMs: 300_000,
    globalTimeoutMs: null,
    // The hub decides when a run halts: it sees all items of the run.
    haltAfter: Number.POSITIVE_INFINITY,
    finishStepMs: () => (drain.aborted && !now.aborted ? DRAIN_MS : FINISH_STEP_MS),
    onEvent: (id, event) => held.get(id)?.onEvent(event),
    isWaiting: (id) => relay.isWaiting(held.get(id)?.token ?? ''),
    attachOutput: (id, output) => {
      const streams = ['stdout', 'stderr'] as const;
      const readers = streams.map((stream) => {
        const reader = createLineReader((line) => held.get(id)?.onEvent({ type: 'output-line', stream, line }));
        const onData = (chunk: Buffer): void => reader.push(chunk);
        output[stream].on('data', onData);
        return () => {
          output[stream].off('data', onData);
          reader.end();
        };
      });
      return { detach: () => readers.forEach((detach) => detach()) };
    },
    runTag,
  });
  const run = coordinator.run([], {
    isOpen: true,
    next: (end) => {
      ends.get(end.id)?.(end);
      ends.delete(end.id);
      return [];
    },
  });
  coordinator.warmUp(parallel);
  const stop = (): void => coordinator.stop(new AgentosError({ code: 'interrupted', signal: 'SIGTERM' }));
  return {
    work: (item) =>
      new Promise((resolve) => {
        ends.set(item.id, resolve);
        coordinator.add(item);
      }),
    cancel: (id, reason) => coordinator.cancel(id, reason),
    stop,
    kill: () => coordinator.kill(),
    async close() {
      coordinator.close();
      if (!drain.aborted) stop();
      await run;
    },
  };
}
