import type { Readable, Writable } from 'node:stream';
import { AgentosError } from '../core/errors.ts';
import { maskedForms } from '../core/mask.ts';
import { type LineRules, ShownLines, toByteString } from './shown-lines.ts';
import { paintLabel, printable } from './terminal.ts';

type StreamName = 'stdout' | 'stderr';

/** Where finished lines go. */
export interface Sink {
  /** Takes whole lines. False: its buffer is full, and nothing is written until `drained`. Never throws. */
  write(chunk: Buffer): boolean | void;
  /** Settles when the sink takes more; a rejection says that it never will. */
  drained?(): Promise<void>;
}

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
  /** Shows what is there and stops listening; later output is read and dropped, so that no child blocks on it. */
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
  readonly #streams = new Set<Readable>();
  /** Streams that have an error handler for good: a worker's are attached again for each of its items. */
  readonly #guarded = new WeakSet<Readable>();
  #full = false;
  #gone = false;

  constructor(options: OutputPrefixerOptions) {
    this.#options = options;
    this.#rules = {
      secrets: maskedForms(options.mask ?? []).map(toByteString),
      colour: options.colour,
      maxLineBytes: options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES,
    };
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
    this.#write(this.#linesOf(label).push(Buffer.from(text.endsWith('\n') ? text : `${text}\n`)));
  }

  #linesOf(label: string, onLine?: (line: string) => void): ShownLines {
    const prefix = paintLabel(this.#options, label, `[${printable(label).replaceAll('\n', ' ')}]`);
    return new ShownLines(this.#rules, `${prefix} `, onLine);
  }

  #follow(label: string, name: StreamName, stream: Readable | null): Attachment {
    if (!stream || stream.destroyed || stream.readableEnded)
      return { done: Promise.resolve(), detach: () => undefined };
    const { onLine } = this.#options;
    const lines = this.#linesOf(label, onLine && ((line) => onLine(label, name, line)));
    const { promise: done, resolve } = Promise.withResolvers<void>();
    let isOpen = true;
    const take = (chunk: Buffer | string): void => {
      this.#write(lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
      // To the end of the queue: after a pause, each stream has its turn.
      this.#streams.delete(stream);
      this.#streams.add(stream);
      // Node resumes a child's streams by itself when the child exits, while a grandchild may still write to them.
      if (this.#full) stream.pause();
    };
    const detach = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#streams.delete(stream);
      for (const event of ENDS) stream.off(event, detach);
      stream.off('data', take);
      this.#write(lines.end());
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

  #write(lines: string): void {
    if (lines === '' || this.#gone) return;
    const hasRoom = this.#options.write(Buffer.from(lines, 'latin1')) !== false;
    if (hasRoom || this.#full || !this.#options.drained) return;
    this.#full = true;
    for (const stream of this.#streams) stream.pause();
    const resume = (gone: boolean): void => {
      this.#gone = gone;
      this.#full = false;
      for (const stream of this.#streams) stream.resume();
    };
    this.#options.drained().then(
      () => resume(false),
      () => resume(true),
    );
  }
}

/** A stream as a sink. One that was closed never drains, so nothing waits for it. */
export function sinkOf(stream: Writable): Required<Sink> {
  return {
    write: (chunk) => stream.write(chunk),
    drained: () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const settle = (): void => {
        for (const event of ['drain', 'close', 'error']) stream.off(event, settle);
        if (stream.writable) resolve();
        else reject(closed(stream.errored));
      };
      for (const event of ['drain', 'close', 'error']) stream.on(event, settle);
      if (!stream.writable || !stream.writableNeedDrain) settle();
      return promise;
    },
  };
}

function closed(cause: Error | null | undefined): AgentosError {
  const reason = cause?.message ?? 'closed';
  return new AgentosError({ code: 'output-unwritable', path: 'stream', reason }, { cause });
}
