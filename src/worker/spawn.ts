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
