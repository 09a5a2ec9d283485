import { type ChildProcess, fork } from 'node:child_process';
import type { Readable } from 'node:stream';
import { signalTree } from '../process/process-tree.ts';
import { WORKER_TAG } from '../process/remains.ts';
import { type FromWorker, KEEP_COMPILED_CODE, type TaskReference, type ToWorker } from './protocol.ts';

export interface WorkerSettings {
  /** The bundled worker program. */
  script: string;
  task: TaskReference;
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Where compiled code may be kept; null: nowhere. */
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
  /** It has sent its first message: from here on silence counts as idling. */
  isReady: boolean;
  readonly stdout: Readable;
  readonly stderr: Readable;
  send(message: ToWorker): void;
  /** One listener at a time: the current item's. */
  onMessage: ((message: FromWorker) => void) | null;
  /** Resolves when the process is gone and its streams are closed. */
  readonly gone: Promise<WorkerExit>;
  /** The same for the current item; callbacks on the promise would keep every earlier item in memory. */
  onGone: ((exit: WorkerExit) => void) | null;
  signal(signal: NodeJS.Signals): void;
}

const QUIET = '--disable-warning=ExperimentalWarning';

/** A small young generation costs a little more collecting, which a process that mostly waits doesn't feel. */
const ANY_TASK = [QUIET, '--max-semi-space-size=2'];

/*
 * Memory counts once per worker, and ours wait for models nearly all the time: code is not optimised beyond the first
 * tier, and the HTTP parser of `fetch`, which is WebAssembly, not at all. In a call that takes a fifth off the private
 * memory (57 to 46 MB). An item takes a tenth less processor time, too: it is over before the optimising compilers, which
 * run beside it, have paid for themselves. The tasks of others may be busy all the time, so they get none of this, and
 * neither does a V8 that may not know it.
 */
const OWN_TASK = [
  QUIET,
  '--max-semi-space-size=1',
  '--expose-gc',
  ...(process.versions.v8.startsWith('13.') ? ['--max-opt=1', '--liftoff-only'] : []),
];

/** Starts a worker in a process group of its own, so that it can be ended with all that it started. */
export function spawnWorker({ script, task, env, cwd, compileCache }: WorkerSettings, tag: string): WorkerProcess {
  const isFirst = tag.endsWith('-1.');
  const child: ChildProcess = fork(script, [JSON.stringify(task), ...(isFirst ? [KEEP_COMPILED_CODE] : [])], {
    cwd,
    detached: true,
    execArgv: 'builtIn' in task ? OWN_TASK : ANY_TASK,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...env,
      [WORKER_TAG]: tag,
      // Otherwise glibc keeps a heap per thread, and what one frees no other can use.
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
      // A worker that is gone says so by its exit; a message to it is lost with it.
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
        // What it started may hold the pipes open, so its end is not waited for without a bound.
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
