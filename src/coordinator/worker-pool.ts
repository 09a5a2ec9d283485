import { type ChildProcess, spawn } from 'node:child_process';
import { signalTree } from '../process/process-tree.ts';
import { endTagged, WORKER_TAG } from '../process/remains.ts';
import { spawnWorker, type WorkerProcess, type WorkerSettings } from '../worker/spawn.ts';

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

/*
 * The coordinator can be killed so that it can't clean up, and a worker whose event loop is blocked can't notice. So a
 * small shell holds the other end of a pipe: when the pipe closes without `bye`, it kills every
 * process group it knows of, and every process that carries the run's tag. It is its own session, so that no Ctrl+C
 * and no closing terminal reaches it first.
 */
const SCRIPT = `
trap '' INT TERM HUP QUIT
tag=$1
groups=' '
while read -r verb pid; do
  case $verb in
    add) groups="$groups$pid " ;;
    del) groups=$(printf %s "$groups" | sed "s/ $pid / /") ;;
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

interface OrphanGuard {
  add(group: number): void;
  remove(group: number): void;
  dismiss(): void;
}

export function startOrphanGuard(tag: string): OrphanGuard {
  if (process.platform === 'win32') return { add: () => undefined, remove: () => undefined, dismiss: () => undefined };
  const child: ChildProcess = spawn('sh', ['-c', SCRIPT, 'agentos-orphan-guard', tag], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    cwd: '/',
  });
  // Without it the run is only less safe against kill -9.
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  child.unref();
  const tell = (line: string): void => {
    child.stdin?.write(`${line}\n`);
  };
  return {
    add: (group) => tell(`add ${group}`),
    remove: (group) => tell(`del ${group}`),
    dismiss: () => {
      child.stdin?.end('bye\n');
    },
  };
}
