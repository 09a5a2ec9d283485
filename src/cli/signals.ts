import { AgentosError, systemCode } from '../core/errors.ts';
import { EXIT } from '../core/exit-code.ts';
import type { Interruption, Suspension } from '../run/stops.ts';
import { printProblem } from './print.ts';

/** How long the program may take to end after a second signal, its summary included. */
const LAST_MOMENT_MS = 3_000;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * A signal ends the program with its own exit code, from the first moment on; while a run watches for interrupts, the run
 * decides.
 */
export function endOnSignals(): void {
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // A command that has ended has its exit code: a late signal can't change what was done.
      if (process.listenerCount(signal) === 1) process.exit(process.exitCode ?? exitCodeFor(signal));
    });
  }
}

/**
 * The first Ctrl+C, SIGTERM or SIGHUP asks to stop at the next safe point, the second one ends everything at once. Ctrl+Z
 * stops all that the run has started together with it, until it is continued.
 */
export function watchInterrupts(): Interruption & Disposable {
  const polite = new AbortController();
  const now = new AbortController();
  let received: NodeJS.Signals | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (received === null) {
      received = signal;
      polite.abort(new AgentosError({ code: 'interrupted', signal }));
      return;
    }
    const exitCode = exitCodeFor(received);
    now.abort();
    setTimeout(() => process.exit(exitCode), LAST_MOMENT_MS).unref();
  };
  let suspension: Suspension | null = null;
  let isSuspended = false;
  const onStop = (): void => {
    if (!isSuspended) suspension?.suspend();
    isSuspended = true;
    // The live region tidies up first and sends the signal once more.
    if (process.listenerCount('SIGTSTP') === 1) process.kill(process.pid, 'SIGSTOP');
  };
  const onContinue = (): void => {
    if (isSuspended) suspension?.resume();
    isSuspended = false;
  };
  process.prependListener('SIGTSTP', onStop).on('SIGCONT', onContinue);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    polite: polite.signal,
    now: now.signal,
    by: () => received,
    onStopped: (given) => {
      suspension = given;
    },
    [Symbol.dispose]: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
      process.off('SIGTSTP', onStop).off('SIGCONT', onContinue);
      // Everything was killed, and summed up: nothing is left to wait for.
      const signal = received;
      if (signal !== null && now.signal.aborted) setImmediate(() => process.exit(exitCodeFor(signal)));
    },
  };
}

export function exitCodeFor(signal: NodeJS.Signals | null): number {
  return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
}

/**
 * A reader that goes away (`| head`) is no error of ours: nothing more is shown to it, and the work continues or ends. If
 * stdout can't take what is written for another reason (a full disk), what was asked for is not there: that is a failure.
 */
export function closedPipeEndsQuietly(): void {
  const isGone = (error: unknown): boolean => ['EPIPE', 'EIO'].includes(systemCode(error) ?? '');
  // When stderr fails, there is nowhere to report it.
  process.stderr.on('error', () => undefined);
  let failed = false;
  process.stdout.on('error', (error) => {
    if (failed || isGone(error)) return;
    failed = true;
    printProblem({ code: 'output-unwritable', path: 'stdout', reason: systemCode(error) ?? String(error) });
    process.once('exit', () => {
      process.exitCode = EXIT.failed;
    });
  });
}
