import { createHash, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { systemClock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { badReply, gatewayErrorIn } from '../models/vendor-failure.ts';
import type { Headers } from './upstream.ts';
import { ERROR_HEADER, failureHeaders, failureOf, type WireFormat } from './wire-format.ts';

/** Where an answer goes: to a caller as it arrives, or into a recording that callers follow. */
export interface AnswerSink {
  /** Queued: nothing is paid yet. Sent: the vendor has the request. */
  phase(phase: 'queued' | 'sent'): void;
  /** An answer starts, or an error of the vendor. */
  head(status: number, headers: Headers): void;
  /** Returns a promise if the receiver is slow: wait for it before the next chunk. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  end(): void;
  /** Instead of an answer, or in the middle of one. */
  fail(error: unknown): void;
}

export function sendWhole(sink: AnswerSink, status: number, headers: Headers, body: Buffer): void {
  sink.head(status, { ...headers, 'content-length': String(body.byteLength) });
  void sink.write(body);
  sink.end();
}

interface CallerOptions {
  vendor: VendorName;
  format: WireFormat;
  /** It asked for a stream: only then can we send keep-alives while it waits. */
  streaming: boolean;
  earlyHeadersMs: number;
  keepAliveMs: number;
  /** A caller that reads nothing for this long is considered gone. */
  idleMs: number;
}

export interface Caller extends AnswerSink {
  /** Aborted when the connection closes before the whole answer was written. */
  readonly gone: AbortSignal;
}

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';
const EARLY_HEADERS = { 'content-type': EVENT_STREAM, 'cache-control': 'no-cache' };

/** Chunks written this far apart are read one by one. */
const APART_MS = 50;

/**
 * The caller's side of one request.
 *
 * silent    nothing written yet; a caller that asked for a stream gets early headers after a while
 * early     our own headers and keep-alives are written; whatever follows must be written inside the stream
 * streaming the vendor's bytes are written as they arrive
 * ended     nothing more may be written
 *
 * silent → early → streaming → ended; any state may be skipped.
 */
export function createCaller(response: ServerResponse, options: CallerOptions): Caller {
  const { vendor, format, streaming, earlyHeadersMs, keepAliveMs, idleMs } = options;
  const gone = new AbortController();
  let state: 'silent' | 'early' | 'streaming' | 'ended' = 'silent';
  let lastByte = '\n';
  let timer: NodeJS.Timeout | undefined;

  const keepAlive = (): void => {
    if (state === 'silent') {
      response.writeHead(200, EARLY_HEADERS);
      state = 'early';
    }
    response.write(format.keepAlive);
    timer = setTimeout(keepAlive, keepAliveMs);
  };
  if (streaming) timer = setTimeout(keepAlive, earlyHeadersMs);

  response.once('close', () => {
    clearTimeout(timer);
    if (!response.writableFinished) {
      state = 'ended';
      gone.abort();
    }
  });

  const finish = (data?: string | Buffer): void => {
    clearTimeout(timer);
    state = 'ended';
    response.end(data);
  };

  const drained = (): Promise<void> =>
    new Promise((resolve) => {
      const stuck = systemClock.timer(idleMs, () => response.destroy());
      const done = (): void => {
        stuck.stop();
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.once('drain', done).once('close', done);
    });

  const caller: Caller = {
    gone: gone.signal,
    phase: () => {},
    head(status, headers) {
      if (state === 'early' && !headers['content-type']?.startsWith('text/event-stream')) {
        const refusal = gatewayErrorIn(headers[ERROR_HEADER] ?? null);
        return caller.fail(refusal ?? badReply(vendor, `the vendor sent no stream, but status ${status}`));
      }
      if (state === 'silent') response.writeHead(status, headers);
      if (state !== 'ended') state = 'streaming';
    },
    write(chunk) {
      if (state !== 'streaming' || chunk.byteLength === 0) return undefined;
      clearTimeout(timer);
      lastByte = String.fromCharCode(chunk.at(-1) ?? 0);
      return response.write(chunk) ? undefined : drained();
    },
    end() {
      if (state === 'streaming') finish();
    },
    fail(error) {
      if (state === 'ended') return;
      const failure = failureOf(error, format);
      if (state === 'silent') {
        response.writeHead(failure.status, failureHeaders(failure));
        finish(JSON.stringify(format.errorBody(failure)));
      } else if (streaming) {
        // An incomplete event is ended first, or it would swallow this one.
        const event = `${lastByte === '\n' ? '' : '\n\n'}${format.errorEvent(failure)}`;
        const preface = format.errorPreface?.(failure);
        if (preface === undefined) return finish(event);
        clearTimeout(timer);
        state = 'ended';
        response.write(preface);
        timer = setTimeout(() => response.end(event), APART_MS);
      } else {
        clearTimeout(timer);
        response.destroy();
      }
    },
  };
  return caller;
}

/** The longest reply has about 100,000 tokens; as events that is less than this. */
const MAX_RECORDING_BYTES = 32 * 1024 * 1024;

/** Identifies an answer: a relay may only join two pieces of the same one. */
export const ANSWER_HEADER = 'x-agentos-answer';

/** The same step with another body is another question. */
interface Question {
  item: string;
  step: string;
  vendor: VendorName;
  path: string;
  body: Uint8Array;
}

type Recording = ReturnType<typeof createRecording>;

/** An answer that is recorded as it arrives, so that its caller may die and its successor asks again. */
function createRecording({ step, vendor, path, body }: Question) {
  const unwanted = new AbortController();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let head: { status: number; headers: Headers } | null = null;
  let ending: { failure: unknown } | 'complete' | null = null;
  let phase: 'queued' | 'sent' = 'queued';
  let owned = true;
  let callers = 0;
  let news = Promise.withResolvers<void>();

  const wakeReaders = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const giveUpIfUnwanted = (): void => {
    if (callers === 0 && (phase === 'queued' || !owned)) unwanted.abort();
  };

  const deliver = async (caller: Caller): Promise<void> => {
    const left = new Promise<void>((resolve) => caller.gone.addEventListener('abort', () => resolve(), { once: true }));
    let begun = false;
    let at = 0;
    while (!caller.gone.aborted) {
      const chunk = chunks[at];
      if (head !== null && !begun) {
        begun = true;
        caller.head(head.status, head.headers);
      } else if (chunk !== undefined) {
        at += 1;
        await caller.write(chunk);
      } else if (ending !== null) {
        return ending === 'complete' ? caller.end() : caller.fail(ending.failure);
      } else {
        await Promise.race([news.promise, left]);
      }
    }
  };

  const sink: AnswerSink = {
    phase(next) {
      phase = next;
      giveUpIfUnwanted();
    },
    head(status, headers) {
      head = { status, headers: { ...headers, [ANSWER_HEADER]: randomUUID() } };
      wakeReaders();
    },
    write(chunk) {
      bytes += chunk.byteLength;
      if (bytes > MAX_RECORDING_BYTES) {
        throw new AgentosError({ code: 'reply-too-large', provider: vendor, limitBytes: MAX_RECORDING_BYTES });
      }
      chunks.push(chunk);
      wakeReaders();
      return undefined;
    },
    end() {
      ending ??= 'complete';
      wakeReaders();
    },
    fail(failure) {
      ending ??= { failure };
      wakeReaders();
    },
  };
  return {
    sink,
    question: createHash('sha256').update(`${step}\0${vendor}\0${path}\0`).update(body).digest('hex'),
    /** Aborted when no caller wants it and nothing was paid yet, or nobody may come back for it. */
    unwanted: unwanted.signal,
    /** Sends the caller what is recorded, then what arrives, at its own pace. Resolves when the caller has everything or is gone. */
    async deliverTo(caller: Caller): Promise<void> {
      callers += 1;
      try {
        await deliver(caller);
      } finally {
        callers -= 1;
        giveUpIfUnwanted();
      }
    },
    /** From now on the call continues only while a caller waits for it. */
    disown(): void {
      owned = false;
      giveUpIfUnwanted();
    },
  };
}

/**
 * The answer to the last question of each item, until the item forgets it: the successor of a caller that died gets what is already
 * paid for. An item asks for one durable step after the other, so its earlier answers are stored. Failures are not kept.
 */
export function createAnswers() {
  const answers = new Map<string, Recording>();

  const drop = (item: string, recording: Recording | undefined): void => {
    if (answers.get(item) === recording) answers.delete(item);
    recording?.disown();
  };
  return {
    /** Returns the answer that is recorded or in flight. Otherwise calls `ask`, which resolves to whether its answer is worth keeping. */
    join(
      question: Question,
      ask: (sink: AnswerSink, unwanted: AbortSignal) => Promise<boolean>,
    ): { recording: Recording; reused: boolean } {
      const { item } = question;
      const last = answers.get(item);
      const recording = createRecording(question);
      if (last?.question === recording.question && !last.unwanted.aborted) return { recording: last, reused: true };
      drop(item, last);
      answers.set(item, recording);
      void ask(recording.sink, recording.unwanted).then((isWorthKeeping) => {
        if (!isWorthKeeping) drop(item, recording);
      });
      return { recording, reused: false };
    },
    /** Drops the item's answer. A call in flight continues only while a caller waits for it. */
    forget: (item: string): void => drop(item, answers.get(item)),
  };
}
