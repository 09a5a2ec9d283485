import type { Readable } from 'node:stream';
import { LineSplitter } from './line-splitter.ts';
import { createPrefix, PrefixedLines } from './prefixed-lines.ts';
import { SecretFinder } from './secret-finder.ts';
import type { Sink } from './sink.ts';
import { paintLabel, printable } from './terminal.ts';
import { fromByteString, type LineRules } from './unfinished-line.ts';

type StreamName = 'stdout' | 'stderr';

export interface OutputPrefixerOptions extends Sink {
  /** Values that must never be seen. */
  mask?: readonly string[];
  /** Whether the target shows colour. If not, none is passed on. */
  colour: boolean;
  /** How much of one line is shown; the rest of it is dropped and counted. */
  maxLineBytes?: number;
  /** Every line of an attached stream, masked and without colour: for a log file beside the console. */
  onLine?: (label: string, stream: StreamName, line: string) => void;
}

export interface Attachment {
  /** All that the two streams said has been handed to the sink. Never rejects: a stream that fails has ended. */
  readonly done: Promise<void>;
  /** Shows what is there and listens no more; what still comes is read and dropped, so that no child blocks on it. */
  detach(): void;
}

const DEFAULT_MAX_LINE_BYTES = 64 * 1024;
const ENDS = ['end', 'close', 'error'];

/**
 * Puts `[label] ` in front of every line of many children's raw output. Lines are written whole, so those of different
 * children never mix, and each stream keeps its order. Nothing that moves the cursor or clears the screen passes.
 *
 * While the sink is full, all streams are paused: a slow terminal slows the children down, and the memory stays flat.
 * A sink that is gone (`drained` rejected) loses only itself: children are still read, and `onLine` is still called.
 */
export class OutputPrefixer {
  readonly #options: OutputPrefixerOptions;
  readonly #rules: LineRules;
  readonly #lines: PrefixedLines;
  readonly #streams = new Set<Readable>();
  /** Streams whose errors are heard after a detach too: a worker's are attached again for each of its items. */
  readonly #guarded = new WeakSet<Readable>();
  #full = false;
  #gone = false;

  constructor(options: OutputPrefixerOptions) {
    this.#options = options;
    this.#rules = {
      secrets: new SecretFinder(options.mask ?? []),
      colour: options.colour,
      maxLineBytes: options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES,
    };
    this.#lines = new PrefixedLines(this.#rules);
  }

  attach(label: string, stdout: Readable | null, stderr: Readable | null): Attachment {
    const followed = [this.#follow(label, 'stdout', stdout), this.#follow(label, 'stderr', stderr)];
    return {
      done: Promise.all(followed.map(({ done }) => done)).then(() => undefined),
      detach: () => {
        for (const stream of followed) stream.detach();
      },
    };
  }

  /** A line of our own; several if the text has several. */
  line(label: string, text: string): void {
    this.#splitter(label).push(Buffer.from(text.endsWith('\n') ? text : `${text}\n`));
    this.#write();
  }

  #splitter(label: string, onLine?: (line: string) => void): LineSplitter {
    const prefix = createPrefix(`${paintLabel(this.#options, label, `[${printable(label).replaceAll('\n', ' ')}]`)} `);
    const lines = this.#lines;
    return new LineSplitter(this.#rules, {
      line({ shown, plain }) {
        lines.line(prefix, shown);
        onLine?.(fromByteString(plain));
      },
      block(bytes, from, last) {
        const before = lines.length;
        const next = lines.block(prefix, bytes, from, last);
        if (onLine) for (const line of lines.textSince(before, prefix)) onLine(line);
        return next;
      },
    });
  }

  #follow(label: string, name: StreamName, stream: Readable | null): Attachment {
    if (!stream || stream.destroyed || stream.readableEnded)
      return { done: Promise.resolve(), detach: () => undefined };
    const { onLine } = this.#options;
    const splitter = this.#splitter(label, onLine && ((line) => onLine(label, name, line)));
    const { promise: done, resolve } = Promise.withResolvers<void>();
    let isOpen = true;
    const take = (chunk: Buffer | string): void => {
      splitter.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
      this.#write();
      // The one that was read goes to the end of the queue: after a pause, each has its turn.
      this.#streams.delete(stream);
      this.#streams.add(stream);
      // Node resumes a child's streams by itself when the child exits; a grandchild may go on writing to them.
      if (this.#full) stream.pause();
    };
    const detach = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#streams.delete(stream);
      for (const event of ENDS) stream.off(event, detach);
      stream.off('data', take);
      splitter.end();
      this.#write();
      stream.resume();
      resolve();
    };
    this.#streams.add(stream);
    for (const event of ENDS) stream.on(event, detach);
    if (!this.#guarded.has(stream)) stream.on('error', () => undefined);
    this.#guarded.add(stream);
    stream.on('data', take);
    if (this.#full) stream.pause();
    else stream.resume();
    return { done, detach };
  }

  #write(): void {
    const { bytes } = this.#lines;
    if (bytes.length === 0) return;
    const hasRoom = this.#gone || this.#hand(bytes);
    this.#lines.clear();
    if (hasRoom || this.#full || !this.#options.drained) return;
    this.#full = true;
    for (const stream of this.#streams) stream.pause();
    const goOn = (gone: boolean): void => {
      this.#gone = gone;
      this.#full = false;
      for (const stream of this.#streams) stream.resume();
    };
    this.#options.drained().then(
      () => goOn(false),
      () => goOn(true),
    );
  }

  /** The sink gets the memory itself if it is known to be done with it at once, and a copy otherwise. */
  #hand(bytes: Buffer): boolean {
    const isAtOnce = this.#options.isIdle?.() === true;
    const hasRoom = this.#options.write(isAtOnce ? bytes : Buffer.from(bytes)) !== false;
    if (isAtOnce && !this.#options.isIdle?.()) this.#lines.giveAway();
    return hasRoom;
  }
}
