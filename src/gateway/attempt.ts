import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { createMask, createStreamMask } from '../core/mask.ts';
import { Secret } from '../core/secret.ts';
import { detailOf, gistOf } from '../models/detail.ts';
import type { Fields } from '../models/json-fields.ts';
import type { Lease, VendorAnswer } from '../pool/port.ts';
import { traced } from '../telemetry/tracer.ts';
import type { Call } from './call.ts';
import { recordHeader, type Sink } from './caller.ts';
import { type Flight, keyHeader, plainHeaders, responseHeaders, type Upstream } from './upstream.ts';
import { createSseMeter, emptyTally, meterWhole, type Tally, usageOf } from './vendors/format.ts';

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

/** retry: the pool has another key to try, and the caller has seen nothing yet. */
export type Outcome = 'done' | 'retry';

export function newProgress(): Progress {
  return { status: null, begun: false, tally: emptyTally(), refusal: null };
}

interface Attempt {
  call: Call;
  lease: Lease;
  sink: Sink;
  upstream: Upstream;
  progress: Progress;
  signal: AbortSignal;
}

/** One request with one key. The lease is given back whichever way it ends. */
export async function attempt(options: Attempt): Promise<Outcome> {
  const { call, lease, sink, upstream, progress, signal } = options;
  const secret = lease.key.reveal();
  let flight: Flight | undefined;
  try {
    sink.phase('sent');
    const { method, url, body, route } = call;
    const headers = { ...call.headers, ...keyHeader(route.vendor, secret) };
    flight = await upstream.send({ vendor: route.vendor, url, method, headers, body, secret, signal });
    const outcome = await receive({ ...options, flight, secret });
    lease.finished(usageOf(progress.tally));
    return outcome;
  } catch (error) {
    const usage = usageOf(progress.tally);
    if (usage === null) lease.abandon();
    else lease.finished(usage);
    throw error;
  } finally {
    flight?.stop();
  }
}

type Answered = Attempt & { flight: Flight; secret: string };

async function receive(answered: Answered): Promise<Outcome> {
  const { flight, progress } = answered;
  const { statusCode = 0, headers } = flight.response;
  progress.status = statusCode;
  if (statusCode >= 400) return receiveRefusal(answered);
  if (statusCode >= 300) throw redirected(answered);
  const type = headers['content-type'] ?? '';
  if (type.startsWith('text/event-stream')) return receiveStream(answered);
  const bytes = await readUpTo(flight, MAX_WHOLE_BYTES + 1);
  const retry = askPool(answered, { status: statusCode, headers: plainHeaders(headers), body: null });
  return retry ?? receiveWhole(answered, bytes);
}

/** Null: the answer is for the caller, and an error means this much. */
function askPool({ lease, progress }: Attempt, answer: VendorAnswer): 'retry' | null {
  const ruling = lease.answered(answer);
  if (ruling.action === 'fail') throw ruling.error;
  if (ruling.action === 'retry') return 'retry';
  progress.refusal = ruling.error === null ? null : toErrorRecord(ruling.error);
  return null;
}

async function receiveRefusal(answered: Answered): Promise<Outcome> {
  const { call, flight, sink, secret, progress } = answered;
  const { statusCode: status = 0, headers } = flight.response;
  const bytes = await readUpTo(flight, MAX_ERROR_BYTES);
  const text = masked(bytes.toString('utf8'), secret);
  const body = parseJson(text);
  if (askPool(answered, { status, headers: plainHeaders(headers), body }) !== null) return 'retry';
  if (body === null) throw badReply(call, `status ${status} with ${describe(headers['content-type'], text)}`, secret);
  const meaning = progress.refusal === null ? {} : recordHeader(progress.refusal);
  sink.whole(status, { ...responseHeaders(headers, secret), ...meaning }, Buffer.from(text));
  return 'done';
}

function receiveWhole({ call, flight, sink, secret, progress }: Answered, bytes: Buffer): Outcome {
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
  const shown = createStreamMask(secret);
  sink.whole(statusCode, responseHeaders(headers, secret), Buffer.concat([shown.push(bytes), shown.end()]));
  return 'done';
}

/**
 * The first event is looked at before the caller sees anything: an error in its place is a refusal that came late, and
 * another key may do better. From then on bytes are passed as they come.
 */
async function receiveStream(answered: Answered): Promise<Outcome> {
  const { call, flight, sink, secret, progress } = answered;
  const { format } = call.route;
  const { statusCode: status = 0, headers } = flight.response;
  const meter = createSseMeter(format);
  progress.tally = meter.tally;
  const shown = createStreamMask(secret);
  const held: Buffer[] = [];
  let heldBytes = 0;

  const begin = (first: Fields | null): 'retry' | null => {
    const late = first === null ? null : format.errorStatus(first);
    const body = late === null ? null : parseJson(masked(JSON.stringify(first), secret));
    progress.status = late ?? status;
    const retry = askPool(answered, { status: progress.status, headers: plainHeaders(headers), body });
    progress.begun = retry === null;
    if (retry === null) sink.head(status, responseHeaders(headers, secret));
    return retry;
  };
  for await (const chunk of flight.chunks()) {
    meter.push(chunk);
    let next: Buffer = chunk;
    if (!progress.begun) {
      held.push(chunk);
      heldBytes += chunk.byteLength;
      if (meter.first === null && heldBytes < MAX_HELD_BYTES) continue;
      if (begin(meter.first) !== null) return 'retry';
      next = held.length === 1 ? chunk : Buffer.concat(held);
    }
    const behind = sink.write(shown.push(next));
    if (behind !== undefined) await behind;
  }
  if (!progress.begun) {
    if (begin(null) !== null) return 'retry';
    if (heldBytes === 0) throw badReply(call, 'an empty stream', secret);
    await sink.write(shown.push(Buffer.concat(held)));
  }
  await sink.write(shown.end());
  sink.end();
  return 'done';
}

function masked(text: string, secret: string): string {
  return secret === '' ? text : createMask([new Secret(secret)])(text);
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

function redirected({ call, flight, secret }: Answered): AgentosError {
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

function describe(type: string | undefined, text: string): string {
  if (text.trim() === '') return 'an empty body';
  return `${type ?? 'no content type'} instead of a reply: ${gistOf(text)}`;
}

interface AttemptFacts {
  call: Call;
  keyId: string;
  /** Counted from 1. */
  number: number;
  progress: Progress;
}

/** One request to the vendor with one key; that it is tried again shows in the next one. */
export function tracedAttempt(
  { call, keyId, number, progress }: AttemptFacts,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const attributes = {
    'agentos.vendor': call.route.vendor,
    'agentos.key.id': keyId,
    'agentos.gateway.attempt': number,
    'http.request.method': call.method,
    'server.address': call.url.hostname,
    'url.path': call.url.pathname,
  };
  return traced('gateway attempt', { kind: 'client', attributes }, async (span) => {
    try {
      const outcome = await work();
      span.set({ 'agentos.gateway.outcome': outcome });
      const { refusal, status } = progress;
      if (refusal !== null || outcome !== 'done') span.fail(refusal?.problem.code ?? `status-${status}`);
      return outcome;
    } finally {
      span.set({ 'http.response.status_code': progress.status });
    }
  });
}
