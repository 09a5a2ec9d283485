import { isAgent, type ModelSpec, vendorOf } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { Attributes, MaybeAttributes } from './span.ts';

/** The names of OpenTelemetry's conventions for generative AI. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = { google: 'gcp.gemini' };

export function providerName(vendor: string): string {
  return PROVIDER_NAMES[vendor] ?? vendor;
}

/** Attributes of a request. The text of a command is not shown: it may hold secrets. */
export function askedAttributes(spec: ModelSpec, operation: 'chat' | 'invoke_agent'): Attributes {
  const provider = providerName(vendorOf(spec) ?? spec.provider);
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    'gen_ai.system': provider,
    ...('model' in spec
      ? spec.model === null
        ? {}
        : { 'gen_ai.request.model': spec.model }
      : { 'gen_ai.request.model': spec.provider }),
    ...(operation === 'invoke_agent' ? { 'gen_ai.agent.name': isAgent(spec) ? spec.provider : 'agentos' } : {}),
  };
}

export interface AnswerFacts {
  answered: string | null;
  /** Null: not known. */
  usage: Usage | null;
  costUsd: number | null;
  /** Why it ended; null: not known. */
  finish: string | null;
}

export function answerAttributes({ answered, usage, costUsd, finish }: AnswerFacts): MaybeAttributes {
  return {
    'gen_ai.response.model': answered,
    'gen_ai.response.finish_reasons': finish === null ? null : [finish],
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteTokens,
    'gen_ai.usage.cost': costUsd,
  };
}

/** A reply that did not end well says so by its error. */
export function finishOf(code: string | null): string | null {
  if (code === 'reply-truncated') return 'length';
  return code === 'reply-filtered' ? 'content_filter' : null;
}

export function questionContent(system: string, texts: readonly string[]): Attributes {
  return {
    'gen_ai.system_instructions': JSON.stringify([textPart(system)]),
    'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: texts.map(textPart) }]),
  };
}

export function replyContent(text: string, finish: string | null): Attributes {
  const message = { role: 'assistant', parts: [textPart(text)], ...(finish === null ? {} : { finish_reason: finish }) };
  return { 'gen_ai.output.messages': JSON.stringify([message]) };
}

function textPart(content: string) {
  return { type: 'text', content };
}
