import { AgentosError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { VendorSpec } from '../core/model-spec.ts';
import { isPlausible, NO_USAGE, type Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import { vendorBaseUrl } from './base-url.ts';
import { type CallLimits, MAX_REPLY_BYTES, untilAborted, withinBounds } from './call-bounds.ts';
import { detailOf } from './detail.ts';
import { fieldsOf, textOf } from './json-fields.ts';
import { gatewayError, vendorFailure } from './vendor-failure.ts';
import { createVendorFetch } from './vendor-fetch.ts';
import {
  type FinishPart,
  VENDORS,
  type VendorCall,
  type VendorMarks,
  type VendorPrompt,
  type VendorTool,
} from './vendors.ts';

/** Whom to ask: the same for all calls of an item. */
export interface VendorAccess extends CallLimits {
  spec: VendorSpec;
  key: Secret;
  /** Where it is not the vendor's own. */
  baseUrl?: string | undefined;
}

export interface VendorQuestion {
  /** With this mark on what the vendor should cache, where it wants one. */
  promptWith: (cacheMark: VendorMarks | undefined) => VendorPrompt;
  tools: readonly VendorTool[];
  /** False: the tools are there only because earlier turns called them. */
  mayCall: boolean;
  stepId: string;
  signal: AbortSignal;
  /** On every sign of life. */
  onProgress: (outputChars: number) => void;
}

export interface AnswerWords {
  type: 'text' | 'reasoning';
  text: string;
  /** What the vendor wants back with the next call: signatures of thoughts, ids of items. */
  providerOptions?: VendorMarks;
}

export interface AnswerCall {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  /** JSON, or what the model takes for JSON. */
  input: string;
  providerOptions?: VendorMarks;
}

/** One answer of a model, as a journal keeps it: all that the rest of a conversation depends on. */
export interface Answer {
  parts: (AnswerWords | AnswerCall)[];
  /** It reached the limit of output tokens, so that its end is missing. */
  cut: boolean;
  answered: string | null;
  usage: Usage;
  metered: boolean;
}

export function textOfAnswer({ parts }: Answer): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** One call, streamed to its end, between its bounds. Only an answer that the vendor calls finished is returned. */
export function askVendor({ spec, key, baseUrl, ...limits }: VendorAccess, question: VendorQuestion): Promise<Answer> {
  const { provider, model } = spec;
  const secret = key.reveal();
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
    const fetch = createVendorFetch({ provider, secret, stepId: question.stepId, onBytes: () => onChars(0) });
    const call = await VENDORS[provider]({ model, apiKey: secret, baseURL: vendorBaseUrl(provider, baseUrl), fetch });
    const failed = (error: unknown): AgentosError => streamFailure(provider, secret, error);
    const answer = readAnswer(provider, call, { ...question, signal }, onChars, failed).catch((error: unknown) => {
      throw failed(error);
    });
    return await untilAborted(signal, answer);
  });
}

/** The packages read these when they are loaded, and throw if one is set but blank. They are given their base URL anyway. */
function forgetBlankBaseUrls(): void {
  for (const name of ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL']) {
    if (process.env[name]?.trim() === '') delete process.env[name];
  }
}

/**
 * The model is asked directly: the loop for tools and steps that the SDK offers around it costs each worker megabytes, runs
 * the calls of one answer side by side, and knows nothing of the journal.
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
        // The last one counts: signatures come at the end.
        if (part.providerMetadata !== undefined) words.providerOptions = part.providerMetadata;
        if ('delta' in part) words.text += part.delta;
        // Some vendors use an id again.
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

/** What some compatible servers say instead of `stop`. */
const OTHER_WORDS_FOR_STOP = new Set(['eos', 'eos_token', 'end_turn', 'stop_sequence']);

/** How a reply ended that may be used; every other end is thrown. */
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
  const detail = detailOf(`the reply ended with ${raw ?? unified}`);
  return new AgentosError({ code: 'provider-bad-reply', provider, detail }, { retry: 'transient' });
}

function brokenOff(provider: string): AgentosError {
  const detail = 'the stream ended before the reply was finished';
  return new AgentosError({ code: 'provider-bad-reply', provider, detail }, { retry: 'transient' });
}

/** An error that our fetch classified is somewhere in the causes; an error event carries its data; the rest is a reply we can't read. */
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
