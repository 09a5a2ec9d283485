import type { createGoogle } from '@ai-sdk/google';
import type { VendorName } from '../core/keys.ts';

/** The interface that all vendors' packages implement; they don't export its name. */
type LanguageModel = ReturnType<ReturnType<typeof createGoogle>>;
type CallOptions = Parameters<LanguageModel['doStream']>[0];
type Streamed = Awaited<ReturnType<LanguageModel['doStream']>>['stream'];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

export type VendorPrompt = CallOptions['prompt'];
export type VendorTool = Extract<NonNullable<CallOptions['tools']>[number], { type: 'function' }>;
export type VendorMarks = NonNullable<CallOptions['providerOptions']>;
export type FinishPart = Extract<StreamPart, { type: 'finish' }>;

interface VendorSettings {
  model: string;
  apiKey: string;
  baseURL: string;
  fetch: typeof globalThis.fetch;
}

/** What differs between vendors in one call. */
export interface VendorCall {
  model: LanguageModel;
  options: Pick<CallOptions, 'maxOutputTokens' | 'providerOptions'>;
  /** On a part of the prompt, it asks the vendor to cache everything up to there. Absent: the vendor caches by itself. */
  cacheMark?: VendorMarks;
}

/**
 * The format requires a limit. Thinking counts against it and unused tokens cost nothing, so it is far above the longest design. The
 * package lowers it for models that it knows to allow less; it does not know those before Claude 3.7.
 */
const MAX_OUTPUT_TOKENS = 64_000;
const OLD_CLAUDE = /claude-(?:instant|2|3-(?:5|opus|sonnet|haiku))/;
const OLD_MAX_OUTPUT_TOKENS = 4_096;

/** Each vendor's package costs tens of milliseconds and megabytes, so it is loaded when it is needed. */
export const VENDORS: Record<VendorName, (settings: VendorSettings) => Promise<VendorCall>> = {
  anthropic: async ({ model, ...settings }) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return {
      model: createAnthropic(settings)(model),
      options: { maxOutputTokens: OLD_CLAUDE.test(model) ? OLD_MAX_OUTPUT_TOKENS : MAX_OUTPUT_TOKENS },
      cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    };
  },
  google: async ({ model, ...settings }) => {
    const { createGoogle } = await import('@ai-sdk/google');
    return { model: createGoogle(settings)(model), options: {} };
  },
  openai: async ({ model, ...settings }) => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    // We never read a stored response back, so we leave none at the vendor.
    return {
      model: createOpenAI(settings).responses(model),
      options: { providerOptions: { openai: { store: false } } },
    };
  },
  'openai-compatible': async ({ model, apiKey, ...settings }) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    // Local servers often need no key.
    const key = apiKey === '' ? {} : { apiKey };
    const server = createOpenAICompatible({ name: 'openai-compatible', includeUsage: true, ...settings, ...key });
    return { model: server.chatModel(model), options: {} };
  },
};
