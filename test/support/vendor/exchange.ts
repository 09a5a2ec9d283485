import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../../src/core/clock.ts';
import { type Answer, completeReply, estimateTokens } from './answer.ts';
import type { Call, CallLog } from './calls.ts';
import { type Counters, count, type Outcome } from './counters.ts';
import { deliver } from './delivery.ts';
import type { HeaderTime } from './dialect.ts';
import type { JsonObject } from './json.ts';
import { hashKey, type KeyRing } from './keys.ts';
import { type Lease, QuotaLedger } from './limits.ts';
import type { Script, VendorOptions } from './options.ts';
import { createOverload } from './overload.ts';
import { readBody } from './request-body.ts';
import { keyOf, type Route } from './route.ts';

export type Exchange = (request: IncomingMessage, response: ServerResponse, url: URL, to: Route) => Promise<void>;

interface Place {
  options: VendorOptions;
  clock: Clock;
  keys: KeyRing;
  log: CallLog;
  counters: Counters;
}

/** Refused at the door with an answer, or let in with a lease on the quota. */
type Entry = { answer: Answer; outcome: Outcome | null; lease: null } | { answer: null; lease: Lease };

const echo: Script = (call) => ({ text: `You said ${call.text.length} characters: ${call.text.slice(0, 60)}` });

/**
 * One request for a reply: key, overload and quota are looked at in this order, then the script is asked. It resolves
 * soon after the caller has left, whatever the script does.
 */
export function createExchange({ options, clock, keys, log, counters }: Place): Exchange {
  const startMs = clock.now();
  const elapsedMs = (): number => clock.now() - startMs;
  const quota = new QuotaLedger(options.limits, elapsedMs);
  const isOverloaded = createOverload(options.overload);
  const script = options.script ?? echo;

  const headerTime = (): HeaderTime => {
    const factor = options.headerTime === 'wall' ? (options.dilation ?? 1) : 1;
    const nowMs = options.headerTime === 'wall' ? Date.now() : clock.dateMs();
    return { nowMs: nowMs + (options.limits?.skewMs ?? 0), scale: (ms) => ms / factor, fractions: factor !== 1 };
  };

  function newCall(request: IncomingMessage, url: URL, to: Route, body: JsonObject): Call {
    const key = keyOf(url, request.headers);
    const workflow = request.headers['x-workflow'];
    return {
      ...to.dialect.read(body, to),
      index: log.calls.length,
      vendor: to.dialect.vendor,
      path: url.pathname,
      key,
      keyHash: hashKey(key),
      group: keys.groupOf(key),
      workflow: typeof workflow === 'string' ? workflow : null,
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      body,
      at: Date.now(),
      atMs: elapsedMs(),
      status: null,
      finished: false,
      finishedAtMs: null,
      aborted: false,
      usage: null,
    };
  }

  function enter(call: Call, to: Route, inputTokens: number, malformed: boolean): Entry {
    const refused = keys.refusal(call.key, to.dialect, elapsedMs());
    if (refused !== null) return { answer: refused, outcome: 'badKey', lease: null };
    keys.use(call.key);
    if (malformed) return { answer: { status: 400, message: 'The body is not JSON.' }, outcome: null, lease: null };
    if (isOverloaded(elapsedMs())) return { answer: to.dialect.overloaded, outcome: 'overloaded', lease: null };
    const admitted = quota.admit(call.group, call.model, inputTokens);
    if ('settle' in admitted) return { answer: null, lease: admitted };
    return { answer: to.dialect.denied(admitted, headerTime()), outcome: 'rateLimited', lease: null };
  }

  async function ask(call: Call): Promise<Answer> {
    try {
      return await script(call);
    } catch (error) {
      return { status: 500, message: `The script failed: ${String(error)}` };
    }
  }

  return async (request, response, url, to) => {
    const body = await readBody(request);
    const call = newCall(request, url, to, body ?? {});
    const left = new AbortController();
    const gone = new Promise<Answer>((resolve) => {
      response.once('close', () => {
        if (response.writableFinished) return;
        left.abort();
        resolve({});
      });
    });
    count(counters, call, (tally) => {
      tally.requests += 1;
    });
    log.begin(call);
    const inputTokens = estimateTokens(call.system, JSON.stringify(call.messages));
    const entry = enter(call, to, inputTokens, body === null);
    const answer = entry.answer ?? (await Promise.race([ask(call), gone]));
    const asked = { serial: call.index + 1, model: call.model, inputTokens, nowMs: clock.dateMs() };
    const reply = completeReply(answer, asked);
    call.finished = await deliver(response, {
      dialect: to.dialect,
      answer,
      reply,
      body: call.body,
      streaming: call.streaming && answer.inOnePiece !== true,
      sse: to.sse,
      chunkChars: options.chunkChars ?? 24,
      latencyMs: options.latencyMs ?? 0,
      onHead(status) {
        call.status = status;
        if (status < 300) call.usage = { input: reply.usage.input, output: reply.usage.output };
        return {
          ...to.dialect.identity(call.group, call.index + 1),
          ...to.dialect.quotaHeaders(quota.view(call.group, call.model), headerTime()),
        };
      },
      clock,
      signal: left.signal,
    });
    if (call.finished) call.finishedAtMs = elapsedMs();
    call.aborted = !call.finished && left.signal.aborted && !brokenByVendor(answer);
    // What comes from the prompt cache is not counted against the quota.
    const { input, output, cacheRead } = reply.usage;
    entry.lease?.settle(call.usage === null ? null : { input: input - cacheRead, output });
    count(counters, call, (tally) => {
      if (call.status !== null) tally[(entry.lease === null ? entry.outcome : null) ?? outcomeOf(call.status)] += 1;
      if (call.finishedAtMs !== null && call.usage !== null) tally.finishedAtMs.push(call.finishedAtMs);
      if (call.aborted) tally.aborted += 1;
    });
    log.end(call);
  };
}

function brokenByVendor(answer: Answer): boolean {
  return answer.hangup === true || answer.cutAfterChars !== undefined;
}

function outcomeOf(status: number): Outcome {
  if (status < 300) return 'ok';
  if (status === 429) return 'rateLimited';
  if (status === 401) return 'badKey';
  return status === 529 || status === 503 ? 'overloaded' : 'otherStatus';
}
