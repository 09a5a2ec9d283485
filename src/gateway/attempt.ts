import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { type Fields, parseJson } from '../core/json.ts';
import { createMask, createStreamMask } from '../core/mask.ts';
import { detailOf } from '../core/reason.ts';
import { badReply } from '../models/vendor-failure.ts';
import type { VendorAnswer } from '../pool/answer.ts';
import type { Lease } from '../pool/pool.ts';
import { traced } from '../telemetry/tracer.ts';
import { type AnswerSink, EVENT_STREAM, sendWhole } from './answer.ts';
import type { Call } from './call.ts';
import { keyHeader, plainHeaders, responseHeaders, type Upstream, type VendorResponse } from './upstream.ts';
import { createSseMeter, emptyTally, meterWhole, recordHeader, type Tally, usageOf } from './wire-format.ts';

const MAX_ERROR_BYTES = 256 * 1024;
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
/** A stream whose first event is longer is passed on unread. */
const MAX_HELD_BYTES = 64 * 1024;

/** What is known about an attempt so far, even if it ends in an error. */
export interface AttemptState {
  status: number | null;
  /** The vendor has started to answer: from here on it costs money. */
  begun: boolean;
  tally: Tally;
  /** Our classification of a refusal that was passed on to the caller. */
  refusal: ErrorRecord | null;
}

export function newAttemptState(): AttemptState {
  return { status: null, begun: false, tally: emptyTally(), refusal: null };
}

/** retry: the pool may have another key, and the caller has seen nothing yet. */
type Outcome = 'done' | 'retry';

interface Attempt {
  call: Call;
  lease: Lease;
  /** Counted from 1. */
  number: number;
  sink: AnswerSink;
  upstream: Upstream;
  state: AttemptState;
  signal: AbortSignal;
}

/** One request to the vendor with one key. The lease is given back however it ends. */
export function attempt(options: Attempt): Promise<Outcome> {
  const { call, lease, number, state } = options;
  const attributes = {
    'agentos.vendor': call.route.vendor,
    'agentos.key.id': lease.keyId,
    'agentos.gateway.attempt': number,
    'http.request.method': call.method,
    'server.address': call.url.hostname,
    'url.path': call.url.pathname,
  };
  return traced('gateway attempt', { kind: 'client', attributes }, async (span) => {
    try {
      const outcome = await ask(options);
      span.set({ 'agentos.gateway.outcome': outcome });
      const { refusal, status } = state;
      if (refusal !== null || outcome !== 'done') span.fail(refusal?.problem.code ?? `status-${status}`);
      return outcome;
    } finally {
      span.set({ 'http.response.status_code': state.status });
    }
  });
}

async function ask(options: Attempt): Promise<Outcome> {
  const { call, lease, sink, upstream, state, signal } = options;
  const { method, url, body, route } = call;
  const secret = lease.key.reveal();
  const headers = { ...call.headers, ...keyHeader(route.vendor, secret) };
  let received: VendorResponse | undefined;
  try {
    sink.phase('sent');
    received = await upstream.send({ vendor: route.vendor, url, method, headers, body, secret, signal });
    return await receive({ ...options, received, secret });
  } finally {
    lease.finished(usageOf(state.tally));
    received?.stop();
  }
}

type Answered = Attempt & { received: VendorResponse; secret: string };

async function receive(answered: Answered): Promise<Outcome> {
  const { call, received, state } = answered;
  const { status, headers } = received;
  const { format } = call.route;
  state.status = status;
  if (status >= 300 && status < 400) throw redirected(answered);
  if (status < 300 && headers['content-type']?.startsWith('text/event-stream')) return receiveStream(answered);
  const bytes = await received.read(status < 300 ? MAX_WHOLE_BYTES + 1 : MAX_ERROR_BYTES);
  if (status >= 400) return receiveRefusal(answered, status, bytes);
  const metered = meterWhole(format, bytes.toString('utf8'));
  const late = metered === null ? null : format.errorStatus(metered.body);
  return late === null ? receiveWhole(answered, bytes, metered) : receiveRefusal(answered, late, bytes);
}

/** Null: the answer goes to the caller, with the error in the state if it is one. */
function askPool({ lease, state }: Attempt, answer: VendorAnswer): 'retry' | null {
  const ruling = lease.answered(answer);
  if (ruling.action === 'fail') throw ruling.error;
  if (ruling.action === 'retry') return 'retry';
  state.refusal = ruling.error === null ? null : toErrorRecord(ruling.error);
  return null;
}

function receiveRefusal(answered: Answered, status: number, bytes: Buffer): Outcome {
  const { call, lease, received, sink, secret, state } = answered;
  const { headers } = received;
  const text = createMask([lease.key])(bytes.toString('utf8'));
  const body = parseJson(text);
  state.status = status;
  if (askPool(answered, { status, headers: plainHeaders(headers), body }) !== null) return 'retry';
  if (body === null) throw unreadable(call, `status ${status} with ${describe(headers['content-type'], text)}`, secret);
  const meaning = state.refusal === null ? {} : recordHeader(state.refusal);
  sendWhole(sink, status, { ...responseHeaders(headers, lease.key), ...meaning }, Buffer.from(text));
  return 'done';
}

function receiveWhole(answered: Answered, bytes: Buffer, metered: ReturnType<typeof meterWhole>): Outcome {
  const { call, lease, received, sink, secret, state } = answered;
  const { status, headers } = received;
  const { format, vendor, kind } = call.route;
  if (askPool(answered, { status, headers: plainHeaders(headers), body: null }) !== null) return 'retry';
  state.begun = true;
  if (bytes.byteLength > MAX_WHOLE_BYTES) {
    throw new AgentosError({ code: 'reply-too-large', provider: vendor, limitBytes: MAX_WHOLE_BYTES });
  }
  if (metered === null) throw unreadable(call, describe(headers['content-type'], bytes.toString('utf8')), secret);
  state.tally = metered.tally;
  const shown = createStreamMask(secret);
  const mask = (given: Buffer): Buffer => Buffer.concat([shown.push(given), shown.end()]);
  const passed = responseHeaders(headers, lease.key);
  if (!call.facts.streaming || kind !== 'generate' || !metered.tally.complete) {
    sendWhole(sink, status, passed, mask(bytes));
  } else {
    if (format.streamOf === undefined) throw notStreamed(call);
    sink.head(status, { ...passed, 'content-type': EVENT_STREAM });
    void sink.write(mask(Buffer.from(format.streamOf(metered.body))));
    sink.end();
  }
  return 'done';
}

/**
 * We read the first event before the caller sees anything: an error there is a late refusal, and another key may do better. From
 * then on, bytes are passed on as they arrive.
 */
async function receiveStream(answered: Answered): Promise<Outcome> {
  const { call, lease, received, sink, secret, state } = answered;
  const { format } = call.route;
  const { status, headers } = received;
  const meter = createSseMeter(format);
  state.tally = meter.tally;
  const shown = createStreamMask(secret);
  const held: Buffer[] = [];
  let heldBytes = 0;

  const begin = (first: Fields | null): 'retry' | null => {
    const late = first === null ? null : format.errorStatus(first);
    const body = late === null ? null : parseJson(createMask([lease.key])(JSON.stringify(first)));
    state.status = late ?? status;
    const retry = askPool(answered, { status: state.status, headers: plainHeaders(headers), body });
    state.begun = retry === null;
    if (retry === null) sink.head(status, responseHeaders(headers, lease.key));
    return retry;
  };
  for await (const chunk of received.chunks()) {
    meter.push(chunk);
    let next: Buffer = chunk;
    if (!state.begun) {
      held.push(chunk);
      heldBytes += chunk.byteLength;
      if (meter.first === null && heldBytes < MAX_HELD_BYTES) continue;
      if (begin(meter.first) !== null) return 'retry';
      next = held.length === 1 ? chunk : Buffer.concat(held);
    }
    const behind = sink.write(shown.push(next));
    if (behind !== undefined) await behind;
  }
  if (!state.begun) {
    if (begin(null) !== null) return 'retry';
    if (heldBytes === 0) throw unreadable(call, 'an empty stream', secret);
    await sink.write(shown.push(Buffer.concat(held)));
  }
  await sink.write(shown.end());
  sink.end();
  return 'done';
}

function redirected({ call, received, secret }: Answered): AgentosError {
  const { status, headers } = received;
  const target = URL.parse(headers.location ?? '', call.url.href)?.host ?? 'nowhere';
  const detail = detailOf(`${call.url.host} redirects to ${target} (${status}); redirects are not followed`, secret);
  return new AgentosError({ code: 'provider-bad-reply', provider: call.route.vendor, detail });
}

/** It was paid, and the next answer would be no different. */
function notStreamed({ route, url }: Call): AgentosError {
  const detail = `${url.host} sent its answer in one piece, although a stream was requested`;
  return new AgentosError({ code: 'provider-bad-reply', provider: route.vendor, detail });
}

function unreadable({ route }: Call, what: string, secret: string): AgentosError {
  return badReply(route.vendor, detailOf(`the vendor sent ${what}`, secret));
}

/** The title of a page, or the start of other text. */
function describe(type: string | undefined, text: string): string {
  if (text.trim() === '') return 'an empty body';
  const start = text
    .replaceAll(/<[^>]*>/g, ' ')
    .trim()
    .slice(0, 120);
  return `${type ?? 'no content type'} instead of a reply: ${/<title[^>]*>([^<]*)/i.exec(text)?.[1] ?? start}`;
}
