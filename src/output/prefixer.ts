import type { Readable, Writable } from 'node:stream';
import { AgentosError } from '../core/errors.ts';
import { maskedForms } from '../core/mask.ts';
import { type LineRules, ShownLines, toByteString } from './shown-lines.ts';
import { paintLabel, printable } from './terminal.ts';

type StreamName = 'stdout' | 'stderr';

/** Where finished lines go. */
export interface Sink {
  /** Gets whole lines. False: its buffer is full; nothing more is written until `drained`. Never throws. */
  write(chunk: Buffer): boolean | void;
  /** Resolves when the sink accepts more; rejects if it never will. */
  drained?(): Promise<void>;
}

export interface OutputPrefixerOptions extends Sink {
  /** Secrets to mask. */
  mask?: readonly string[];
  /** Whether the target shows colour; otherwise colours are removed. */
  colour: boolean;
  /** The rest of a longer line is dropped and counted. Default: 64 KB. */
  maxLineBytes?: number;
  /** Called with every line of an attached stream, masked and without colour, e.g. for a log file. */
  onLine?: (label: string, stream: StreamName, line: string) => void;
}

export interface Attachment {
  /** Resolves when all output of both streams was written. Never rejects: a stream that fails has ended. */
  readonly done: Promise<void>;
  /** Shows what has arrived and stops listening; later output is read and dropped, so that no child blocks. */
  detach(): void;
}

const DEFAULT_MAX_LINE_BYTES = 64 * 1024;
const ENDS = ['end', 'close', 'error'];

/**
 * Puts `[label] ` in front of every line that child processes print. Lines are written whole, so lines of different children never
 * mix, and each stream keeps its order. Sequences that move the cursor or clear the screen are removed.
 *
 * While the sink is full, all streams are paused: a slow terminal slows the children down, and memory stays flat. When the sink is
 * gone (`drained` rejected), children are still read and `onLine` is still called.
 */
export class OutputPrefixer {
  readonly #options: OutputPrefixerOptions;
  readonly #rules: LineRules;
  readonly #streams = new Set<Readable>();
  /** Streams with a permanent error handler. A worker's streams are attached again for each of its items. */
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

  /** Prints a text of our own, which may have several lines. */
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
      // To the end of the set: after a pause, each stream gets its turn.
      this.#streams.delete(stream);
      this.#streams.add(stream);
      // Node resumes a child's streams when the child exits, although a grandchild may still write to them.
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

/** A stream as a sink. `drained` rejects if the stream was closed. */
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
