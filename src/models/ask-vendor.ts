import { untilAborted } from '../core/clock.ts';
import { AgentosError, systemCode } from '../core/errors.ts';
import { fieldsOf, parseJson, textOf } from '../core/json.ts';
import type { VendorSpec } from '../core/model-spec.ts';
import { isPlausible, NO_USAGE, type Usage } from '../core/money.ts';
import { detailOf } from '../core/reason.ts';
import type { Secret } from '../core/secret.ts';
import { currentTraceparent } from '../telemetry/tracer.ts';
import { type CallLimits, MAX_REPLY_BYTES, withinBounds } from './port.ts';
import { badReply, connectionLost, gatewayError, gatewayErrorIn, vendorFailure } from './vendor-failure.ts';
import {
  type FinishPart,
  VENDORS,
  type VendorCall,
  type VendorMarks,
  type VendorPrompt,
  type VendorTool,
} from './vendors.ts';

/** How to reach a model: the same for all calls of an item. */
export interface VendorAccess extends CallLimits {
  spec: VendorSpec;
  /** The item's token for the gateway. */
  token: Secret;
  /** The gateway's base URL for the vendor. */
  endpoint: string;
}

export interface VendorQuestion {
  /** `cacheMark` goes on what the vendor should cache; undefined: it needs no mark. */
  promptWith: (cacheMark: VendorMarks | undefined) => VendorPrompt;
  tools: readonly VendorTool[];
  /** False: the tools are listed only because earlier turns called them. */
  mayCall: boolean;
  stepId: string;
  signal: AbortSignal;
  /** Called on every sign of life. */
  onProgress: (outputChars: number) => void;
}

export interface AnswerWords {
  type: 'text' | 'reasoning';
  text: string;
  /** The vendor wants it back with the next call: signatures of thoughts, ids of items. */
  providerOptions?: VendorMarks;
}

export interface AnswerCall {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  /** Meant to be JSON. */
  input: string;
  providerOptions?: VendorMarks;
}

/** One answer of a model, as a journal keeps it: all that the conversation needs later. */
export interface Answer {
  parts: (AnswerWords | AnswerCall)[];
  /** It reached the limit of output tokens, so its end is missing. */
  cut: boolean;
  answered: string | null;
  usage: Usage;
  metered: boolean;
}

export function textOfAnswer({ parts }: Answer): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** One call, streamed to its end, within its bounds. Returns only an answer that the vendor calls finished. */
export function askVendor(
  { spec, token, endpoint, ...limits }: VendorAccess,
  question: VendorQuestion,
): Promise<Answer> {
  const { provider, model } = spec;
  const secret = token.reveal();
  return withinBounds({ what: spec.text, limits, signal: question.signal }, async ({ signal, alive }) => {
    let outputChars = 0;
    const onChars = (more: number): void => {
      outputChars += more;
      if (outputChars > MAX_REPLY_BYTES)
        throw new AgentosError({ code: 'reply-too-large', provider, limitBytes: MAX_REPLY_BYTES });
      alive();
      question.onProgress(outputChars);
    };
    forgetBlankBaseUrls();
    const fetch = createGatewayFetch({ provider, secret, stepId: question.stepId, onBytes: () => onChars(0) });
    const call = await VENDORS[provider]({ model, apiKey: secret, baseURL: endpoint, fetch });
    const failed = (error: unknown): AgentosError => streamFailure(provider, secret, error);
    const answer = readAnswer(provider, call, { ...question, signal }, onChars, failed).catch((error: unknown) => {
      throw failed(error);
    });
    return await untilAborted(signal, answer);
  });
}

/** The packages read these variables and throw if one is blank. We pass the base URL ourselves. */
function forgetBlankBaseUrls(): void {
  for (const name of ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL']) {
    if (process.env[name]?.trim() === '') delete process.env[name];
  }
}

/**
 * Calls the model directly. The SDK's own loop for tools costs each worker megabytes, runs the calls of one answer in parallel, and
 * knows nothing about the journal.
 */
async function readAnswer(
  provider: string,
  call: VendorCall,
  { promptWith, tools, mayCall, signal }: VendorQuestion,
  onChars: (more: number) => void,
  failed: (error: unknown) => AgentosError,
): Promise<Answer> {
  const { stream } = await call.model.doStream({
    ...call.options,
    prompt: promptWith(call.cacheMark),
    ...(tools.length === 0 ? {} : { tools: [...tools] }),
    ...(tools.length === 0 || mayCall ? {} : { toolChoice: { type: 'none' } }),
    abortSignal: signal,
    includeRawChunks: true,
  });
  const parts: Answer['parts'] = [];
  const open = new Map<string, AnswerWords>();
  let answered: string | null = null;
  for await (const part of stream) {
    signal.throwIfAborted();
    onChars('delta' in part ? part.delta.length : 0);
    switch (part.type) {
      case 'error':
        throw failed(part.error);
      case 'raw': {
        const own = gatewayError(part.rawValue);
        if (own !== null) throw own;
        answered ??= answeredModel(part.rawValue);
        break;
      }
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const type = part.type.startsWith('text') ? 'text' : 'reasoning';
        const id = `${type} ${part.id}`;
        let words = open.get(id);
        if (words === undefined) {
          words = { type, text: '' };
          parts.push(words);
          open.set(id, words);
        }
        // The last one counts, because signatures come at the end.
        if (part.providerMetadata !== undefined) words.providerOptions = part.providerMetadata;
        if ('delta' in part) words.text += part.delta;
        // Some vendors reuse ids.
        if (part.type.endsWith('-end')) open.delete(id);
        break;
      }
      case 'tool-call': {
        const { toolCallId, toolName, input, providerMetadata } = part;
        const marks = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
        onChars(input.length);
        parts.push({ type: 'tool-call', toolCallId, toolName, input, ...marks });
        break;
      }
      case 'finish': {
        const end = endOf(provider, part);
        if (end === 'tool-calls' && !mayCall) throw badEnd(provider, part);
        return { parts, cut: end === 'length', answered, ...meter(part.usage) };
      }
      default:
    }
  }
  signal.throwIfAborted();
  throw brokenOff(provider);
}

function meter({ inputTokens: input, outputTokens: output }: FinishPart['usage']): Pick<Answer, 'usage' | 'metered'> {
  const usage = {
    inputTokens: input.total ?? Number.NaN,
    outputTokens: output.total ?? Number.NaN,
    cacheReadTokens: input.cacheRead ?? 0,
    cacheWriteTokens: input.cacheWrite ?? 0,
  };
  return isPlausible(usage) ? { usage, metered: true } : { usage: NO_USAGE, metered: false };
}

/** Anthropic: `message.model`; Google: `modelVersion`; OpenAI: `response.model` or `model`. */
function answeredModel(event: unknown): string | null {
  const { message, response, modelVersion, model } = fieldsOf(event);
  return (
    textOf(fieldsOf(message)['model']) ??
    textOf(modelVersion) ??
    textOf(fieldsOf(response)['model']) ??
    textOf(model) ??
    null
  );
}

/** Some compatible servers say this instead of `stop`. */
const OTHER_WORDS_FOR_STOP = new Set(['eos', 'eos_token', 'end_turn', 'stop_sequence']);

/** How a usable reply ended. Throws for every other end. */
function endOf(provider: string, part: FinishPart): 'stop' | 'tool-calls' | 'length' {
  const { unified: reason, raw } = part.finishReason;
  switch (reason) {
    case 'stop':
    case 'tool-calls':
    case 'length':
      return reason;
    case 'content-filter':
      throw new AgentosError({ code: 'reply-filtered', provider, reason: detailOf(raw ?? 'refusal') });
    case 'other':
      if (raw !== undefined && OTHER_WORDS_FOR_STOP.has(raw)) return 'stop';
      throw raw === undefined ? brokenOff(provider) : badEnd(provider, part);
    case 'interrupted':
      throw brokenOff(provider);
    case 'error':
      throw badEnd(provider, part);
  }
}

export function truncated(provider: string, { metered, usage }: Answer): AgentosError {
  const outputTokens = metered ? usage.outputTokens : null;
  return new AgentosError({ code: 'reply-truncated', provider, outputTokens }, { retry: 'ceiling' });
}

function badEnd(provider: string, { finishReason: { unified, raw } }: FinishPart): AgentosError {
  return badReply(provider, detailOf(`the reply ended with ${raw ?? unified}`));
}

function brokenOff(provider: string): AgentosError {
  return badReply(provider, 'the stream ended before the reply was finished');
}

interface FetchOptions {
  provider: string;
  secret: string;
  /** The gateway records the answer under this id, in case the question is repeated. */
  stepId: string;
  /** Called for every chunk of the answer, including keep-alives. */
  onBytes: () => void;
}

/**
 * The fetch for the vendors' packages. The gateway answers with a stream, or with an error that it has classified from the vendor's
 * status, headers and body.
 */
function createGatewayFetch(options: FetchOptions): typeof globalThis.fetch {
  const { provider, secret } = options;
  return async (input, init) => {
    const lost = (code: 'provider-unreachable' | 'provider-bad-reply', where: string) => (error: unknown) => {
      if (init?.signal?.aborted) throw error;
      // Node gives up after this long without a byte, whatever our own bound is.
      if (/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(systemCode(error instanceof Error ? error.cause : error) ?? ''))
        throw new AgentosError({ code: 'call-idle', what: provider, afterMs: FETCH_TIMEOUT_MS }, { retry: 'idle' });
      throw connectionLost(options, error, code, where);
    };
    const headers = new Headers(init?.headers);
    headers.set('x-agentos-step', encodeURIComponent(options.stepId));
    const traceparent = currentTraceparent();
    if (traceparent !== null) headers.set('traceparent', traceparent);
    const url = input instanceof Request ? input.url : String(input);
    const response = await globalThis
      .fetch(input, { ...init, headers, redirect: 'manual' })
      .catch(lost('provider-unreachable', URL.parse(url)?.host ?? ''));
    options.onBytes();
    const { status, body } = response;
    if (!response.ok || body === null) {
      const known = gatewayErrorIn(response.headers.get('x-agentos-error'));
      const text = await response.text().catch(() => '');
      throw known ?? badReply(provider, detailOf(`status ${status} instead of a reply: ${text}`, secret));
    }
    const reader = body.getReader();
    const watched = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read().catch(lost('provider-bad-reply', 'the stream broke off'));
        if (done) return controller.close();
        options.onBytes();
        // The packages drop what is ours of an error that comes before any output.
        const own = gatewayError(eventWithRecord(value));
        if (own !== null) throw own;
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(watched, { status, headers: response.headers });
  };
}

const FETCH_TIMEOUT_MS = 300_000;

/** As the gateway writes its record into an event. In the words of a model, quotation marks are escaped. */
const RECORD = '"agentos":{"problem":';

/** The data of the event in this chunk that has the gateway's record; null: there is none. */
function eventWithRecord(chunk: Uint8Array): unknown {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (!bytes.includes(RECORD)) return null;
  const line = bytes
    .toString()
    .split('\n')
    .find((text) => text.startsWith('data:') && text.includes(RECORD));
  return parseJson(line?.slice('data:'.length) ?? '');
}

/** Finds an error that our fetch classified among the causes. An error event carries its data. The rest is an unreadable reply. */
function streamFailure(provider: string, secret: string, error: unknown): AgentosError {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    if (current instanceof AgentosError) return current;
  }
  const { data, responseBody, message, name } = fieldsOf(error);
  const body = data ?? parseJson(textOf(responseBody) ?? '') ?? (error instanceof Error ? null : error);
  const fallback = [error instanceof Error ? textOf(name) : undefined, textOf(message) ?? textOf(error)]
    .filter(Boolean)
    .join(': ');
  return vendorFailure({ provider, status: null, headers: {}, body, fallback, secret, nowMs: Date.now() });
}
