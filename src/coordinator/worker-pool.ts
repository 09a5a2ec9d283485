import { type ChildProcess, spawn } from 'node:child_process';
import { signalTree } from '../process/process-tree.ts';
import { endTagged, WORKER_TAG } from '../process/remains.ts';
import { spawnWorker, type WorkerProcess, type WorkerSettings } from '../worker/spawn.ts';

/** A worker that has grown past this is replaced after its item, so that leaks don't add up over a long batch. */
const LARGEST_RSS_BYTES = 300 * 1024 * 1024;

export type WorkerPool = ReturnType<typeof createWorkerPool>;

/**
 * Worker processes, busy and warm. A worker goes
 *
 *   starting → warm → busy → warm    the item ended well and the process has not grown
 *                    busy → gone     the item failed or was stopped, or the process died or grew
 *
 * `warmUp` starts new ones in place of those that are gone.
 */
export function createWorkerPool(settings: WorkerSettings, runTag: string, orphanGuard: OrphanGuard) {
  /** Each with the process groups that it started. */
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

  /** Kills a worker with everything it started. Resolves when it is gone. */
  const discard = async (worker: WorkerProcess): Promise<void> => {
    signalGroups(worker, 'SIGKILL');
    await worker.gone;
    await endTagged(worker.tag);
    for (const leader of all.get(worker) ?? []) orphanGuard.remove(leader);
    if (worker.pid !== undefined) orphanGuard.remove(worker.pid);
    all.delete(worker);
  };

  return {
    /** Starts processes ahead of need, up to this many in all. */
    warmUp(wanted: number): void {
      while (all.size < wanted) warm.push(start());
    },
    take: (): WorkerProcess => warm.shift() ?? start(),
    giveBack(worker: WorkerProcess, rssBytes: number): void {
      if (rssBytes > LARGEST_RSS_BYTES) void discard(worker);
      else warm.push(worker);
    },
    discard,
    /** Notes a process group that a worker started, or that has ended. */
    noteGroup(worker: WorkerProcess, leader: number, ended: boolean): void {
      if (ended) {
        all.get(worker)?.delete(leader);
        orphanGuard.remove(leader);
      } else {
        all.get(worker)?.add(leader);
        orphanGuard.add(leader);
      }
    },
    signalAll(signal: NodeJS.Signals): void {
      for (const worker of all.keys()) signalGroups(worker, signal);
    },
    /** Kills every worker and what they left behind. */
    async close(): Promise<void> {
      const workers = [...all.keys()];
      for (const worker of workers) signalGroups(worker, 'SIGKILL');
      await Promise.all(workers.map((worker) => worker.gone));
      if (count > 0) await endTagged(`${runTag}-`);
    },
  };
}

/*
 * If the coordinator is killed with SIGKILL, it can't clean up, and a worker whose event loop is blocked does not notice. So a
 * small shell holds the other end of a pipe: when the pipe closes without `bye`, it kills every process group that it knows, and
 * every process that carries the run's tag. It runs in its own session, so that Ctrl+C or a closing terminal does not reach it.
 */
const SCRIPT = `
trap '' INT TERM HUP QUIT
tag=$1
groups=' '
while read -r verb pid; do
  case $verb in
    add) groups="$groups$pid " ;;
    del) case $groups in *" $pid "*) groups="\${groups%% $pid *} \${groups#* $pid }" ;; esac ;;
    bye) exit 0 ;;
  esac
done
for group in $groups; do kill -KILL -- "-$group" 2>/dev/null; done
[ -d /proc/self ] || exit 0
for round in 1 2 3; do
  for file in $(grep -lsz "^${WORKER_TAG}=$tag" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}" 2>/dev/null
  done
done
`;

type OrphanGuard = ReturnType<typeof startOrphanGuard>;

export function startOrphanGuard(tag: string) {
  const child: ChildProcess = spawn('sh', ['-c', SCRIPT, 'agentos-orphan-guard', tag], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    cwd: '/',
  });
  // Without the guard, only a kill -9 of the run leaves orphans.
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  child.unref();
  return {
    add: (group: number) => child.stdin?.write(`add ${group}\n`),
    remove: (group: number) => child.stdin?.write(`del ${group}\n`),
    dismiss: () => child.stdin?.end('bye\n'),
  };
}
