import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../src/core/clock.ts';
import { type Answer, breakPoint, type Fault, type Reply } from './answer.ts';
import type { Dialect } from './dialect.ts';
import type { JsonObject } from './json.ts';

const BATCH_CHARS = 65_536;

export interface Delivery {
  dialect: Dialect;
  answer: Answer;
  reply: Reply;
  body: JsonObject;
  streaming: boolean;
  sse: boolean;
  chunkChars: number;
  latencyMs: number;
  /** Told the status when the head is written; gives the headers for identity and quota, as of that moment. */
  onHead: (status: number) => Record<string, string>;
  clock: Clock;
  /** Fires when the caller has left. */
  signal: AbortSignal;
}

/**
 * Writes the answer, or does what its fault says. Resolves when there is nothing more to write: for a stall, only when
 * the caller has left. True: the response is whole.
 */
export async function deliver(response: ServerResponse, delivery: Delivery): Promise<boolean> {
  const { answer, clock, signal } = delivery;
  const faulty = answer.redirectTo !== undefined || answer.html || answer.emptyBody || (answer.status ?? 200) >= 400;
  const latencyMs = answer.latencyMs ?? (faulty || answer.hangup ? 0 : delivery.latencyMs);
  if (latencyMs > 0) await clock.sleep(latencyMs, signal);
  if (signal.aborted) return false;
  if (answer.hangup === true) {
    response.destroy();
    return false;
  }
  if (faulty) return sendFault(response, delivery);
  if (delivery.streaming) return sendStream(response, delivery);
  if (answer.errorInStream !== undefined) {
    return sendFault(response, { ...delivery, answer: { ...answer, status: 500, ...answer.errorInStream } });
  }
  return sendWhole(response, delivery);
}

function sendFault(response: ServerResponse, { dialect, answer, reply, onHead }: Delivery): Promise<boolean> {
  const head = (status: number, type: string, more: Record<string, string> = {}): void => {
    response.writeHead(status, { 'content-type': type, ...onHead(status), ...more, ...answer.headers });
  };
  if (answer.redirectTo !== undefined) {
    head(answer.status ?? 307, 'text/plain', { location: answer.redirectTo });
    return finish(response, '');
  }
  if (answer.html === true) {
    const title = answer.message ?? '502 Bad Gateway';
    head(answer.status ?? 502, 'text/html; charset=utf-8');
    return finish(
      response,
      `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body>${title}</body></html>\n`,
    );
  }
  if (answer.emptyBody === true) {
    head(answer.status ?? 200, 'application/json');
    return finish(response, '');
  }
  const fault: Fault = { ...answer, status: answer.status ?? 500, model: reply.model };
  head(fault.status, 'application/json', dialect.faultHeaders(fault));
  return finish(response, JSON.stringify(dialect.fault(fault)));
}

async function sendWhole(response: ServerResponse, { dialect, answer, reply, onHead, signal }: Delivery) {
  const body = JSON.stringify(dialect.whole(reply));
  const status = answer.status ?? 200;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...onHead(status),
    ...answer.headers,
  });
  const breakAt = breakPoint(answer, reply.text);
  if (breakAt === null) return finish(response, body);
  // The text stands somewhere inside the JSON; half of the whole is in the middle whatever the format.
  await write(response, body.slice(0, Math.floor(body.length / 2)), signal);
  return broken(response, answer, signal);
}

async function sendStream(response: ServerResponse, delivery: Delivery): Promise<boolean> {
  const { dialect, answer, reply, clock, signal, onHead, sse } = delivery;
  const status = answer.status ?? 200;
  response.writeHead(status, {
    'content-type': sse ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8',
    'cache-control': 'no-cache',
    ...onHead(status),
    ...answer.headers,
  });
  const breakAt = breakPoint(answer, reply.text);
  const delayMs = answer.chunkDelayMs ?? 0;
  let dueMs = clock.now();
  let sent = 0;
  let batch = '';
  for (const frame of dialect.stream(reply, { chunkChars: delivery.chunkChars, breakAt, sse }, delivery.body)) {
    if (breakAt !== null && sent >= breakAt && (sent > 0 || frame.chars > 0)) {
      const torn = answer.cutAfterChars === undefined ? '' : frame.data.slice(0, Math.floor(frame.data.length / 2));
      await write(response, batch + torn, signal);
      return broken(response, answer, signal, dialect);
    }
    if (frame.chars > 0 && delayMs > 0) {
      // Due times, not pauses: timers that fire late would add up over a long stream.
      dueMs += delayMs;
      await write(response, batch, signal);
      batch = '';
      const waitMs = dueMs - clock.now();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      if (signal.aborted) return false;
    }
    batch += frame.data;
    sent += frame.chars;
    if (batch.length >= BATCH_CHARS) {
      await write(response, batch, signal);
      batch = '';
      if (signal.aborted) return false;
    }
  }
  if (breakAt !== null) {
    await write(response, batch, signal);
    return broken(response, answer, signal, dialect);
  }
  return finish(response, batch);
}

async function broken(response: ServerResponse, answer: Answer, signal: AbortSignal, dialect?: Dialect) {
  if (answer.cutAfterChars !== undefined) {
    response.destroy();
  } else if (answer.stallAfterChars !== undefined) {
    if (!signal.aborted) await once(signal, 'abort');
  } else if (answer.errorInStream !== undefined && dialect !== undefined) {
    await finish(response, dialect.faultInStream(answer.errorInStream));
  }
  return false;
}

/** Resolves when the operating system has taken the data, so that what follows (a cut) can't overtake it. */
function write(response: ServerResponse, data: string, signal: AbortSignal): Promise<void> {
  if (data === '' || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      signal.removeEventListener('abort', done);
      resolve();
    };
    signal.addEventListener('abort', done);
    response.write(data, done);
  });
}

/** False when the caller left before the end. */
function finish(response: ServerResponse, data: string): Promise<boolean> {
  return new Promise((resolve) => {
    response.once('close', () => resolve(response.writableFinished));
    response.once('finish', () => resolve(true));
    response.end(data);
  });
}
