import { AgentosError } from '../core/errors.ts';
import { NO_USAGE, type Usage } from '../core/money.ts';
import { MAX_REPLY_BYTES } from './call-bounds.ts';
import { detailOf } from './detail.ts';
import { gatewayError } from './gateway-error.ts';
import { fieldsOf, textOf } from './json-fields.ts';
import type { PromptPart } from './port.ts';
import { promptText } from './prompt-text.ts';
import { vendorFailure } from './vendor-failure.ts';
import type { FinishPart, VendorCall, VendorPrompt } from './vendors/call.ts';

export interface StreamedReply {
  text: string;
  answered: string | null;
  usage: Usage;
  metered: boolean;
}

export interface StreamRequest {
  provider: string;
  secret: string;
  call: VendorCall;
  system: string;
  parts: PromptPart[];
  signal: AbortSignal;
  onText: (outputChars: number) => void;
}

/** One call, streamed to its end. Only a reply that the vendor calls finished is returned. */
export async function streamReply(request: StreamRequest): Promise<StreamedReply> {
  try {
    return await readStream(request);
  } catch (error) {
    throw streamFailure(request, error);
  }
}

/**
 * The model is asked directly: the loop for tools and steps that the SDK offers around it costs each worker megabytes,
 * and nothing here uses it.
 */
async function readStream(request: StreamRequest): Promise<StreamedReply> {
  const { provider, call, signal } = request;
  const { stream } = await call.model.doStream({
    prompt: promptOf(request),
    ...(call.maxOutputTokens === undefined ? {} : { maxOutputTokens: call.maxOutputTokens }),
    ...(call.providerOptions === undefined ? {} : { providerOptions: call.providerOptions }),
    abortSignal: signal,
    includeRawChunks: true,
  });
  let text = '';
  let answered: string | null = null;
  for await (const part of stream) {
    signal.throwIfAborted();
    if (part.type === 'error') throw streamFailure(request, part.error);
    if (part.type === 'raw') {
      const own = gatewayError(part.rawValue);
      if (own !== null) throw own;
      answered ??= answeredModel(part.rawValue);
    }
    if (part.type === 'text-delta') {
      text += part.delta;
      if (text.length > MAX_REPLY_BYTES)
        throw new AgentosError({ code: 'reply-too-large', provider, limitBytes: MAX_REPLY_BYTES });
      request.onText(text.length);
    }
    if (part.type === 'finish') {
      const end = endOf(provider, part);
      if (end === 'length') throw truncated(provider, part.usage.outputTokens.total ?? null);
      if (end === 'tool-calls') throw badEnd(provider, part);
      if (text.trim() === '') throw new AgentosError({ code: 'reply-empty', provider }, { retry: 'transient' });
      return { text, answered, ...meter(part.usage) };
    }
  }
  signal.throwIfAborted();
  throw brokenOff(provider);
}

export function meter({ inputTokens: input, outputTokens: output }: FinishPart['usage']): {
  usage: Usage;
  metered: boolean;
} {
  if (input.total === undefined || output.total === undefined) return { usage: NO_USAGE, metered: false };
  return {
    usage: {
      inputTokens: input.total,
      outputTokens: output.total,
      cacheReadTokens: input.cacheRead ?? 0,
      cacheWriteTokens: input.cacheWrite ?? 0,
    },
    metered: true,
  };
}

function promptOf({ call, system, parts }: StreamRequest): VendorPrompt {
  const mark = call.cacheMark === undefined ? {} : { providerOptions: call.cacheMark };
  const instructions: VendorPrompt = system === '' ? [] : [{ role: 'system', content: system, ...mark }];
  const pieces: PromptPart[] =
    call.cacheMark === undefined ? [{ text: promptText(parts) }] : parts.filter((part) => part.text !== '');
  const lastRepeating = pieces.findLastIndex((part) => part.repeats === true);
  const content = pieces.map(({ text }, index) => ({
    type: 'text' as const,
    text,
    ...(index === lastRepeating ? mark : {}),
  }));
  return [...instructions, { role: 'user', content }];
}

/** Anthropic: `message.model`; Google: `modelVersion`; OpenAI: `response.model` or `model`. */
export function answeredModel(event: unknown): string | null {
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
export function endOf(provider: string, part: FinishPart): 'stop' | 'tool-calls' | 'length' {
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

export function truncated(provider: string, outputTokens: number | null): AgentosError {
  return new AgentosError({ code: 'reply-truncated', provider, outputTokens }, { retry: 'ceiling' });
}

function badEnd(provider: string, { finishReason: { unified, raw } }: FinishPart): AgentosError {
  const detail = detailOf(`the reply ended with ${raw ?? unified}`);
  return new AgentosError({ code: 'provider-bad-reply', provider, detail }, { retry: 'transient' });
}

export function brokenOff(provider: string): AgentosError {
  const detail = 'the stream ended before the reply was finished';
  return new AgentosError({ code: 'provider-bad-reply', provider, detail }, { retry: 'transient' });
}

/** An error that our fetch classified is somewhere in the causes; an error event carries its data; the rest is a reply we can't read. */
export function streamFailure(
  { provider, secret }: Pick<StreamRequest, 'provider' | 'secret'>,
  error: unknown,
): AgentosError {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    if (current instanceof AgentosError) return current;
  }
  const { data, responseBody, message, name } = fieldsOf(error);
  const body = data ?? parsed(responseBody) ?? (error instanceof Error ? null : error);
  const fallback = [error instanceof Error ? textOf(name) : undefined, textOf(message) ?? textOf(error)]
    .filter(Boolean)
    .join(': ');
  return vendorFailure({ provider, status: null, headers: {}, body, fallback, secret, nowMs: Date.now() });
}

function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
