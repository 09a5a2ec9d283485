import { type ChildProcess, fork, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { endTagged, signalTree, WORKER_TAG } from '../process/process-tree.ts';
import { type FromWorker, KEEP_COMPILED_CODE, type TaskReference, type ToWorker } from '../worker/protocol.ts';

export interface WorkerSettings {
  /** The bundled worker program. */
  script: string;
  task: TaskReference;
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** The folder of compiled code; null: none is stored. */
  compileCache: string | null;
}

interface WorkerExit {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

/** A worker as its parent sees it. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  readonly tag: string;
  /** It has sent its first message: the idle timeout counts from here. */
  isReady: boolean;
  readonly stdout: Readable;
  readonly stderr: Readable;
  send(message: ToWorker): void;
  /** The current item's listener. */
  onMessage: ((message: FromWorker) => void) | null;
  /** Resolves when the process has exited and its streams are closed. */
  readonly gone: Promise<WorkerExit>;
  /** For the current item: a callback on the promise would keep every earlier item in memory. */
  onGone: ((exit: WorkerExit) => void) | null;
  signal(signal: NodeJS.Signals): void;
}

const QUIET = '--disable-warning=ExperimentalWarning';

/** A small young generation means more collections, which is cheap in a process that mostly waits. */
const ANY_TASK = [QUIET, '--max-semi-space-size=2'];

/*
 * Memory counts once per worker, and ours wait for models nearly all the time: code is not optimised beyond the first
 * tier, and the HTTP parser of `fetch`, which is WebAssembly, not at all. That saves a fifth of the private memory in a call
 * (57 to 46 MB) and a tenth of an item's processor time, because it ends before the optimising compilers pay off. Tasks of
 * users may compute all the time, so they get none of this; nor does a V8 that may not know the flags.
 */
const OWN_TASK = [
  QUIET,
  // With SIGUSR1 an agent could open a debugger and change what the journal knows.
  '--disable-sigusr1',
  '--max-semi-space-size=1',
  '--expose-gc',
  ...(process.versions.v8.startsWith('13.') ? ['--max-opt=1', '--liftoff-only'] : []),
];

/** Starts a worker in a process group of its own, so that it can be killed with all that it started. */
function spawnWorker({ script, task, env, cwd, compileCache }: WorkerSettings, tag: string): WorkerProcess {
  const isFirst = tag.endsWith('-1.');
  const child: ChildProcess = fork(script, [JSON.stringify(task), ...(isFirst ? [KEEP_COMPILED_CODE] : [])], {
    cwd,
    detached: true,
    execArgv: 'builtIn' in task ? OWN_TASK : ANY_TASK,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...env,
      [WORKER_TAG]: tag,
      // Otherwise glibc has a heap per thread, which no other thread can use.
      MALLOC_ARENA_MAX: '1',
      ...(compileCache === null ? {} : { NODE_COMPILE_CACHE: compileCache }),
    },
  });
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new TypeError('a worker is started with pipes');
  const worker: WorkerProcess = {
    pid: child.pid,
    tag,
    isReady: false,
    stdout,
    stderr,
    send: (message) => {
      // A message to a worker that has exited is lost; its exit is reported.
      if (child.connected) child.send(message, () => undefined);
    },
    onMessage: null,
    onGone: null,
    gone: new Promise((resolve) => {
      let exit: WorkerExit | null = null;
      child.on('error', () => {
        if (child.pid === undefined) resolve({ exitCode: null, signal: null });
      });
      child.on('exit', (exitCode, signal) => {
        exit = { exitCode, signal };
        // Programs that it started may hold the pipes open.
        setTimeout(() => resolve({ exitCode, signal }), 500).unref();
      });
      child.on('close', () => resolve(exit ?? { exitCode: null, signal: null }));
    }),
    signal: (signal) => {
      signalTree(child.pid, signal);
    },
  };
  void worker.gone.then((exit) => worker.onGone?.(exit));
  child.on('message', (message: FromWorker) => {
    worker.isReady = true;
    worker.onMessage?.(message);
  });
  return worker;
}

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
export function createWorkerPool(settings: WorkerSettings, runTag: string) {
  const orphanGuard = startOrphanGuard(`${runTag}-`);
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
      orphanGuard.dismiss();
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

function startOrphanGuard(tag: string) {
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
