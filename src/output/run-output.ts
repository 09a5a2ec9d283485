import type { Writable } from 'node:stream';
import { systemClock } from '../core/clock.ts';
import type { Subscriber } from '../core/events.ts';
import { createMask } from '../core/mask.ts';
import type { Secret } from '../core/secret.ts';
import { consoleSubscriber, type Level } from './event-lines.ts';
import { createLiveRegion, wantsLiveRegion } from './live-region.ts';
import { OutputPrefixer, type OutputPrefixerOptions, sinkOf } from './prefixer.ts';
import { createTerminal, type Terminal } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface RunOutputOptions {
  stream: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  env: Environment;
  secrets: readonly Secret[];
  level: Level;
  /** Show a live region if the stream can. */
  live: boolean;
}

type OnLine = NonNullable<OutputPrefixerOptions['onLine']>;

/** Everything people see of a run: events as lines, the output of workers, and on a terminal a live region below. */
export interface RunOutput {
  terminal: Terminal;
  subscriber: Subscriber;
  /** For events of the past: they update the live region and print no line. */
  replay: Subscriber;
  /** For the output of workers; `onLine` is called with each line. */
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
  // Durations must not change when the date is set.
  const originMs = systemClock.dateMs() - systemClock.now() - systemClock.suspendedMs();
  const now = (): number => originMs + systemClock.now() + systemClock.suspendedMs();
  const region = createLiveRegion({ stream, env, now, mask });
  // The region shows the steps; only lines worth keeping scroll past it.
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
