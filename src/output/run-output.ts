import type { Writable } from 'node:stream';
import { systemClock } from '../core/clock.ts';
import type { Subscriber } from '../core/events.ts';
import { createMask } from '../core/mask.ts';
import type { Secret } from '../core/secret.ts';
import type { Level } from './lines.ts';
import { consoleSubscriber } from './lines.ts';
import { createLiveRegion, wantsLiveRegion } from './live-region.ts';
import { OutputPrefixer, type OutputPrefixerOptions, sinkOf } from './prefixer.ts';
import { createTerminal, type Terminal } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface RunOutputOptions {
  stream: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  env: Environment;
  secrets: readonly Secret[];
  level: Level;
  /** Whether a live region may be shown, if the stream can. */
  live: boolean;
}

type OnLine = NonNullable<OutputPrefixerOptions['onLine']>;

/** All that people see of a run: events as lines, what workers print, and on a terminal a live region below. */
export interface RunOutput {
  terminal: Terminal;
  subscriber: Subscriber;
  /** For what happened before: it is in the live region and has no line. */
  replay: Subscriber;
  /** For what workers print; each line is also given to `onLine`. */
  prefixer: (onLine: OnLine) => OutputPrefixer;
  /** Removes the live region; lines can still be printed. */
  close(): void;
}

export function createRunOutput({ stream, env, secrets, level, live }: RunOutputOptions): RunOutput {
  const mask = createMask(secrets);
  const values = secrets.map((secret) => secret.reveal());
  if (!live || !wantsLiveRegion(stream, env, level === 'quiet')) {
    const terminal = createTerminal(stream, env, mask);
    return {
      terminal,
      subscriber: consoleSubscriber(terminal, level),
      replay: () => undefined,
      prefixer: (onLine) => new OutputPrefixer({ ...sinkOf(stream), mask: values, colour: terminal.colour, onLine }),
      close: () => undefined,
    };
  }
  // Durations must not change when the system's date is set.
  const originMs = systemClock.dateMs() - systemClock.now() - systemClock.suspendedMs();
  const now = (): number => originMs + systemClock.now() + systemClock.suspendedMs();
  const region = createLiveRegion({ stream, env, now, mask });
  // Steps are in the region; what scrolls past it is worth keeping.
  const lines = consoleSubscriber(region, level === 'normal' ? 'live' : level);
  return {
    terminal: region,
    subscriber: (event) => {
      region.subscriber({ ...event, at: new Date(now()).toISOString() });
      lines(event);
    },
    replay: region.subscriber,
    prefixer: (onLine) =>
      new OutputPrefixer({
        write: (chunk) => region.line(String(chunk).replace(/\n$/, '')),
        mask: values,
        colour: region.colour,
        onLine,
      }),
    close: () => region.close(),
  };
}
