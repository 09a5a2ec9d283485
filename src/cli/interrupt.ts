import { AgentosError } from '../core/errors.ts';
import { EXIT } from '../core/exit-code.ts';
import type { Interruption, Suspension } from '../run/stops.ts';

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
export function watchInterrupts(): Interruption & { dispose(): void } {
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
    dispose: () => {
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
