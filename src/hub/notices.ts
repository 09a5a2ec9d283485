import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Session } from './database.ts';

interface Listening {
  channels: readonly string[];
  /** Called with each new connection, e.g. to take session locks. */
  onSession?: (session: Session) => Promise<unknown>;
  signal: AbortSignal;
  onNotice: (channel: string, payload: string) => void;
}

interface Notices {
  /** Whether notices arrive. They don't behind a transaction pooler; then the caller has to poll. */
  isHeard(): boolean;
  readonly closed: Promise<void>;
}

/** Wakes loops. A loop takes the promise before it looks for work, so that no ring is missed. */
export function createBell(): { ring(): void; rung(): Promise<void> } {
  let next = Promise.withResolvers<void>();
  return {
    ring() {
      next.resolve();
      next = Promise.withResolvers();
    },
    rung: () => next.promise,
  };
}

const RECONNECT_MS = 500;
const ECHO_MS = 2_000;

/** Listens on a separate connection until the signal fires, and reconnects whenever the connection breaks. */
export function keepListening(database: Database, { channels, onSession, signal, onNotice }: Listening): Notices {
  let isHeard = false;
  const listen = async (session: Session): Promise<void> => {
    const echo = Promise.withResolvers<void>();
    const own = `agentos_echo_${process.pid}_${Math.floor(performance.now())}`;
    session.onNotice((channel, payload) => {
      if (channel === own) echo.resolve();
      else onNotice(channel, payload);
    });
    for (const channel of [own, ...channels]) await session.rows(`LISTEN ${channel}`);
    await onSession?.(session);
    // Sent on another connection: behind a pooler the echo would reach another session.
    await database.rows('SELECT pg_notify($1, $2)', [own, '']);
    const heard = echo.promise.then(() => true);
    isHeard = await Promise.race([heard, sleep(ECHO_MS, false, { ref: false })]);
    // Notices may have been missed while no connection listened.
    for (const channel of channels) onNotice(channel, '');
  };
  const closed = (async () => {
    while (!signal.aborted) {
      const session = await database.session().catch(() => null);
      if (session !== null) {
        const onAbort = (): void => void session.close();
        signal.addEventListener('abort', onAbort, { once: true });
        // The signal may have fired while the connection was opened.
        if (signal.aborted) onAbort();
        await listen(session).then(
          () => session.ended,
          () => session.close(),
        );
        signal.removeEventListener('abort', onAbort);
        await session.close();
      }
      isHeard = false;
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
    }
  })();
  return { isHeard: () => isHeard, closed };
}
