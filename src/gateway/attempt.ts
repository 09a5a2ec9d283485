import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { MASK } from '../core/mask.ts';
import { detailOf } from '../models/detail.ts';
import type { Fields } from '../models/json-fields.ts';
import { readRetryAfterMs } from '../models/retry-after.ts';
import { vendorFailure } from '../models/vendor-failure.ts';
import type { Lease, VendorAnswer } from '../pool/port.ts';
import type { Call } from './call.ts';
import { keyHeader, plainHeaders, responseHeaders } from './headers.ts';
import { createArrayMeter, createSseMeter, meterWhole, parseJson } from './meter.ts';
import type { Sink } from './sink.ts';
import type { Flight, Upstream } from './upstream.ts';
import { createUsageEventFilter } from './usage-event-filter.ts';
import { emptyTally, type Tally } from './vendors/format.ts';

const MAX_ERROR_BYTES = 256 * 1024;
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
/** A stream whose first event is longer is passed on without looking at it. */
const MAX_HELD_BYTES = 64 * 1024;

/** What is known of an attempt so far, also when it ends in an error. */
export interface Progress {
  status: number | null;
  /** The vendor began to answer what was asked: from here on it costs. */
  begun: boolean;
  tally: Tally;
  /** What the vendor's refusal means, where the caller was given it as it came. */
  refusal: ErrorRecord | null;
}

/**
 * again: the pool has another key to try. overloaded: the vendor has too much to do, whatever the key, and names a delay or
 * none. In both cases the caller has seen nothing yet.
 */
export type Outcome = { is: 'done' } | { is: 'again' } | { is: 'overloaded'; retryAfterMs: number | null };

export function newProgress(): Progress {
  return { status: null, begun: false, tally: emptyTally(), refusal: null };
}

interface Attempt {
  call: Call;
  lease: Lease;
  sink: Sink;
  upstream: Upstream;
  progress: Progress;
  /** An overloaded vendor is not asked again: the caller gets its answer. */
  isLast: boolean;
  signal: AbortSignal;
}

/** One request with one key. The lease is given back whichever way it ends. */
export async function attempt(options: Attempt): Promise<Outcome> {
  const { call, lease, sink, upstream, progress, signal } = options;
  const secret = lease.key.reveal();
  if (!/^[\x21-\x7e]*$/.test(secret)) {
    const ruled = rule(options, { status: 401, headers: {}, body: UNSENDABLE });
    lease.finished(null);
    return ruled ?? rejectedKey(call);
  }
  let flight: Flight | undefined;
  try {
    sink.phase('sent');
    const { method, url, body, route } = call;
    const headers = { ...call.headers, ...keyHeader(route.vendor, secret) };
    flight = await upstream.send({ vendor: route.vendor, url, method, headers, body, secret, signal });
    const outcome = await receive({ ...options, flight, secret });
    lease.finished(progress.tally.usage);
    return outcome;
  } catch (error) {
    if (progress.tally.usage === null) lease.abandon();
    else lease.finished(progress.tally.usage);
    throw error;
  } finally {
    flight?.stop();
  }
}

/** A header can't hold it, and the error for that would show it. */
const UNSENDABLE = {
  error: {
    type: 'authentication_error',
    code: 'invalid_api_key',
    message: 'the key holds characters that no key has: spaces, line breaks or letters beyond ASCII',
  },
};

function rejectedKey({ route }: Call): never {
  throw new AgentosError({
    code: 'provider-rejected-key',
    provider: route.vendor,
    status: null,
    detail: UNSENDABLE.error.message,
  });
}

type Reception = Attempt & { flight: Flight; secret: string };

const DONE: Outcome = { is: 'done' };

async function receive(reception: Reception): Promise<Outcome> {
  const { call, flight, progress } = reception;
  const { statusCode = 0, headers } = flight.response;
  progress.status = statusCode;
  if (statusCode >= 400) return receiveRefusal(reception);
  if (statusCode >= 300) throw redirected(reception);
  const type = headers['content-type'] ?? '';
  const streams = type.startsWith('text/event-stream') || (call.route.streaming && !call.route.sse);
  if (streams && !isPage(type)) return receiveStream(reception);
  const bytes = await readUpTo(flight, MAX_WHOLE_BYTES + 1);
  const ruled = rule(reception, { status: statusCode, headers: plainHeaders(headers), body: null });
  return ruled ?? receiveWhole(reception, bytes);
}

/** 529 is Anthropic's, 503 the others'. Other faults of theirs are told to the caller. */
const OVERLOADED = new Set([503, 529]);

/** Null: the answer is for the caller. */
function rule({ lease, isLast }: Attempt, answer: VendorAnswer): Outcome | null {
  const ruling = lease.answered(answer);
  if (ruling.verdict === 'fail') throw ruling.error;
  if (ruling.verdict === 'again') return { is: 'again' };
  if (isLast || !OVERLOADED.has(answer.status)) return null;
  return { is: 'overloaded', retryAfterMs: readRetryAfterMs({ ...answer, message: '' }, Date.now()) };
}

async function receiveRefusal(reception: Reception): Promise<Outcome> {
  const { call, flight, sink, secret, progress } = reception;
  const { statusCode: status = 0, headers } = flight.response;
  const bytes = await readUpTo(flight, MAX_ERROR_BYTES);
  const text = masked(bytes.toString('utf8'), secret);
  const body = parseJson(text);
  const answer = { status, headers: plainHeaders(headers), body };
  const ruled = rule(reception, answer);
  if (ruled !== null) return ruled;
  if (body === null) throw badReply(call, `status ${status} with ${describe(headers['content-type'], text)}`, secret);
  progress.refusal = refusalOf(reception, answer);
  sink.whole(status, responseHeaders(headers, secret), Buffer.from(text));
  return DONE;
}

function receiveWhole({ call, flight, sink, secret, progress }: Reception, bytes: Buffer): Outcome {
  const { statusCode = 0, headers } = flight.response;
  const { format, vendor } = call.route;
  progress.begun = true;
  if (bytes.byteLength > MAX_WHOLE_BYTES) {
    throw new AgentosError({ code: 'reply-too-large', provider: vendor, limitBytes: MAX_WHOLE_BYTES });
  }
  const text = bytes.toString('utf8');
  const metered = meterWhole(format, text);
  if (metered === null) throw badReply(call, describe(headers['content-type'], text), secret);
  progress.tally = metered.tally;
  sink.whole(statusCode, responseHeaders(headers, secret), bytes);
  return DONE;
}

/**
 * The first event is looked at before the caller sees anything: an error in its place is a refusal that came late, and
 * another key may do better. From then on bytes are passed as they come.
 */
async function receiveStream(reception: Reception): Promise<Outcome> {
  const { call, flight, sink, secret, progress } = reception;
  const { format, sse } = call.route;
  const { statusCode: status = 0, headers } = flight.response;
  const meter = sse ? createSseMeter(format) : createArrayMeter(format);
  const filter = call.hidesUsage ? createUsageEventFilter() : null;
  progress.tally = meter.tally;
  const held: Buffer[] = [];
  let heldBytes = 0;

  const begin = (first: Fields | null): Outcome | null => {
    const late = first === null ? null : format.errorStatus(first);
    const body = late === null ? null : parseJson(masked(JSON.stringify(first), secret));
    const answer = { status: late ?? status, headers: plainHeaders(headers), body };
    progress.status = answer.status;
    const ruled = rule(reception, answer);
    progress.begun = ruled === null;
    if (ruled === null && late !== null) progress.refusal = refusalOf(reception, answer);
    if (ruled === null) sink.head(status, responseHeaders(headers, secret));
    return ruled;
  };
  for await (const chunk of flight.chunks()) {
    meter.push(chunk);
    let next: Uint8Array = chunk;
    if (!progress.begun) {
      held.push(chunk);
      heldBytes += chunk.byteLength;
      if (meter.first === null && heldBytes < MAX_HELD_BYTES) continue;
      const ruled = begin(meter.first);
      if (ruled !== null) return ruled;
      next = held.length === 1 ? chunk : Buffer.concat(held);
    }
    const behind = sink.write(filter === null ? next : filter.push(next));
    if (behind !== undefined) await behind;
  }
  if (!progress.begun) {
    const ruled = begin(null);
    if (ruled !== null) return ruled;
    if (heldBytes === 0) throw badReply(call, 'an empty stream', secret);
    await sink.write(Buffer.concat(held));
  }
  if (filter !== null) await sink.write(filter.end());
  meter.end();
  sink.end();
  return DONE;
}

function refusalOf({ call, secret }: Reception, answer: VendorAnswer): ErrorRecord {
  const fallback = `status ${answer.status}`;
  return toErrorRecord(vendorFailure({ ...answer, provider: call.route.vendor, fallback, secret, nowMs: Date.now() }));
}

function masked(text: string, secret: string): string {
  return secret === '' ? text : text.replaceAll(secret, MASK);
}

async function readUpTo(flight: Flight, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of flight.chunks()) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

function redirected({ call, flight, secret }: Reception): AgentosError {
  const { statusCode, headers } = flight.response;
  const target = URL.parse(headers.location ?? '', call.url.href)?.host ?? 'nowhere';
  const detail = `${call.url.host} redirects to ${target} (${statusCode}); redirects are not followed`;
  return new AgentosError({
    code: 'provider-bad-reply',
    provider: call.route.vendor,
    detail: detailOf(detail, secret),
  });
}

function badReply({ route }: Call, what: string, secret: string): AgentosError {
  const detail = detailOf(`the vendor sent ${what}`, secret);
  return new AgentosError({ code: 'provider-bad-reply', provider: route.vendor, detail }, { retry: 'transient' });
}

function isPage(type: string): boolean {
  return /^text\/html\b/i.test(type);
}

/** Of a page the title, of other text the beginning. */
function describe(type: string | undefined, text: string): string {
  if (text.trim() === '') return 'an empty body';
  const gist =
    /<title[^>]*>([^<]*)/i.exec(text)?.[1] ??
    text
      .replaceAll(/<[^>]*>/g, ' ')
      .trim()
      .slice(0, 120);
  return `${type ?? 'no content type'} instead of a reply: ${gist}`;
}
