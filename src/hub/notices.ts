import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Session } from './database.ts';

interface Listening {
  channels: readonly string[];
  /** Called with each new connection, for what belongs to a session. */
  onSession?: (session: Session) => Promise<unknown>;
  signal: AbortSignal;
  onNotice: (channel: string, payload: string) => void;
}

interface Notices {
  /** Notices come. Behind a pooler that gives connections away between two statements they don't, and who waits has to poll. */
  isHeard(): boolean;
  readonly closed: Promise<void>;
}

const RECONNECT_MS = 500;
const ECHO_MS = 2_000;

/** Listens on a connection of its own until the signal fires, over every break of the connection. */
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
    // Sent on another connection: a pooler would deliver it to whatever session has the listening one now.
    await database.rows('SELECT pg_notify($1, $2)', [own, '']);
    const heard = echo.promise.then(() => true);
    isHeard = await Promise.race([heard, sleep(ECHO_MS, false, { ref: false })]);
    // What was said while no connection listened.
    for (const channel of channels) onNotice(channel, '');
  };
  const closed = (async () => {
    while (!signal.aborted) {
      const session = await database.session().catch(() => null);
      if (session !== null) {
        const onAbort = (): void => void session.close();
        signal.addEventListener('abort', onAbort, { once: true });
        // It may have fired while the connection was made.
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
