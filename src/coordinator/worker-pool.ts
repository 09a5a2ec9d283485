import { signalTree } from '../process/process-tree.ts';
import { endTagged } from '../process/remains.ts';
import { spawnWorker, type WorkerProcess, type WorkerSettings } from '../worker/spawn.ts';
import type { OrphanGuard } from './orphan-guard.ts';

/** A worker that has grown past this is replaced after its item: a leak must not add up over a long batch. */
const LARGEST_RSS_BYTES = 300 * 1024 * 1024;

/**
 * Workers, busy and warm. A worker goes
 *
 *   starting → warm → busy → warm    the item ended well and the process has not grown
 *                    busy → gone     the item failed, was stopped, or the process died or grew
 *
 * and a new one is started in the place of one that is gone, as long as there is work for it.
 */
export interface WorkerPool {
  /** Starts processes ahead of need, up to this many in all. */
  warmUp(count: number): void;
  take(): WorkerProcess;
  giveBack(worker: WorkerProcess, rssBytes: number): void;
  /** Ends a worker with everything it started. Resolves when it is gone. */
  discard(worker: WorkerProcess): Promise<void>;
  /** A process group that a worker started; null: it ended. */
  noteGroup(worker: WorkerProcess, leader: number, ended: boolean): void;
  /** To every worker and everything it started. */
  signalAll(signal: NodeJS.Signals): void;
  /** Ends every worker and what they left behind. */
  close(): Promise<void>;
}

export function createWorkerPool(settings: WorkerSettings, runTag: string, orphanGuard: OrphanGuard): WorkerPool {
  const all = new Map<WorkerProcess, Set<number>>();
  const warm: WorkerProcess[] = [];
  let count = 0;

  const start = (): WorkerProcess => {
    count += 1;
    const worker = spawnWorker(settings, `${runTag}-${count}.`);
    all.set(worker, new Set());
    if (worker.pid !== undefined) orphanGuard.add(worker.pid);
    void worker.gone.then(() => {
      const index = warm.indexOf(worker);
      if (index >= 0) warm.splice(index, 1);
    });
    return worker;
  };

  const signalGroups = (worker: WorkerProcess, signal: NodeJS.Signals): void => {
    worker.signal(signal);
    for (const leader of all.get(worker) ?? []) signalTree(leader, signal);
  };

  const discard = async (worker: WorkerProcess): Promise<void> => {
    signalGroups(worker, 'SIGKILL');
    await worker.gone;
    await endTagged(worker.tag);
    for (const leader of all.get(worker) ?? []) orphanGuard.remove(leader);
    if (worker.pid !== undefined) orphanGuard.remove(worker.pid);
    all.delete(worker);
  };

  return {
    warmUp(wanted) {
      while (all.size < wanted) warm.push(start());
    },
    take: () => warm.shift() ?? start(),
    giveBack(worker, rssBytes) {
      if (rssBytes > LARGEST_RSS_BYTES) void discard(worker);
      else warm.push(worker);
    },
    discard,
    noteGroup(worker, leader, ended) {
      if (ended) {
        all.get(worker)?.delete(leader);
        orphanGuard.remove(leader);
      } else {
        all.get(worker)?.add(leader);
        orphanGuard.add(leader);
      }
    },
    signalAll(signal) {
      for (const worker of all.keys()) signalGroups(worker, signal);
    },
    async close() {
      const workers = [...all.keys()];
      for (const worker of workers) signalGroups(worker, 'SIGKILL');
      await Promise.all(workers.map((worker) => worker.gone));
      if (count > 0) await endTagged(`${runTag}-`);
    },
  };
}
