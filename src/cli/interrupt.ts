import { AgentosError } from '../core/errors.ts';
import { EXIT } from '../core/exit-code.ts';
import type { Interruption, Suspension } from '../runner/run-plan.ts';

/** How long the program may take to end after a second signal; killing processes takes milliseconds. */
const LAST_MOMENT_MS = 500;

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
    now.abort();
    setTimeout(() => process.exit(received === 'SIGINT' ? EXIT.interrupted : EXIT.terminated), LAST_MOMENT_MS).unref();
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
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return {
    polite: polite.signal,
    now: now.signal,
    by: () => received,
    onStopped: (given) => {
      suspension = given;
    },
    dispose: () => {
      for (const signal of signals) process.off(signal, onSignal);
      process.off('SIGTSTP', onStop).off('SIGCONT', onContinue);
    },
  };
}
