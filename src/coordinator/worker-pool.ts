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

/** A worker as its parent sees it: a process group of its own, so that it can be killed with all that it started. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly tag: string;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Further process groups that it started. */
  readonly groups = new Set<number>();
  /** Resolves when the process has exited and its streams are closed. */
  readonly gone: Promise<WorkerExit>;
  /** It has sent its first message: the idle timeout counts from here. */
  isReady = false;
  /** The current item's listener. */
  onMessage: ((message: FromWorker) => void) | null = null;
  /** For the current item: a callback on the promise would keep every earlier item in memory. */
  onGone: ((exit: WorkerExit) => void) | null = null;

  constructor({ script, task, env, cwd, compileCache }: WorkerSettings, tag: string) {
    const isFirst = tag.endsWith('-1.');
    const child = fork(script, [JSON.stringify(task), ...(isFirst ? [KEEP_COMPILED_CODE] : [])], {
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
    if (!child.stdout || !child.stderr) throw new TypeError('a worker is started with pipes');
    this.#child = child;
    this.tag = tag;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    this.gone = new Promise((resolve) => {
      let exit: WorkerExit = { exitCode: null, signal: null };
      child.on('error', () => {
        if (child.pid === undefined) resolve(exit);
      });
      child.on('exit', (exitCode, signal) => {
        exit = { exitCode, signal };
        // Programs that it started may hold the pipes open.
        setTimeout(() => resolve(exit), 500).unref();
      });
      child.on('close', () => resolve(exit));
    });
    void this.gone.then((exit) => this.onGone?.(exit));
    child.on('message', (message: FromWorker) => {
      this.isReady = true;
      this.onMessage?.(message);
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** A message to a worker that has exited is lost; its exit is reported. */
  send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  signal(signal: NodeJS.Signals): void {
    signalTree(this.pid, signal);
  }

  signalAll(signal: NodeJS.Signals): void {
    this.signal(signal);
    for (const leader of this.groups) signalTree(leader, signal);
  }
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
  const all = new Set<WorkerProcess>();
  const warm = new Set<WorkerProcess>();
  let count = 0;

  const start = (): WorkerProcess => {
    count += 1;
    const worker = new WorkerProcess(settings, `${runTag}-${count}.`);
    all.add(worker);
    if (worker.pid !== undefined) orphanGuard.add(worker.pid);
    void worker.gone.then(() => warm.delete(worker));
    return worker;
  };
  /** Kills a worker with everything it started. Resolves when it is gone. */
  const discard = async (worker: WorkerProcess): Promise<void> => {
    worker.signalAll('SIGKILL');
    await worker.gone;
    await endTagged(worker.tag);
    for (const leader of worker.groups) orphanGuard.remove(leader);
    if (worker.pid !== undefined) orphanGuard.remove(worker.pid);
    all.delete(worker);
  };
  return {
    /** Starts processes ahead of need, up to this many in all. */
    warmUp(wanted: number): void {
      while (all.size < wanted) warm.add(start());
    },
    take(): WorkerProcess {
      const [worker = start()] = warm;
      warm.delete(worker);
      return worker;
    },
    giveBack(worker: WorkerProcess, rssBytes: number): void {
      if (rssBytes > LARGEST_RSS_BYTES) void discard(worker);
      else warm.add(worker);
    },
    discard,
    /** Notes a process group that a worker started, or that has ended. */
    noteGroup(worker: WorkerProcess, leader: number, ended: boolean): void {
      if (ended) worker.groups.delete(leader);
      else worker.groups.add(leader);
      if (ended) orphanGuard.remove(leader);
      else orphanGuard.add(leader);
    },
    signalAll(signal: NodeJS.Signals): void {
      for (const worker of all) worker.signalAll(signal);
    },
    /** Kills every worker and what they left behind. */
    async close(): Promise<void> {
      for (const worker of all) worker.signalAll('SIGKILL');
      await Promise.all([...all].map((worker) => worker.gone));
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
