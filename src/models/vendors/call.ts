import type { createGoogle } from '@ai-sdk/google';

export interface VendorSettings {
  model: string;
  apiKey: string;
  baseURL: string;
  fetch: typeof globalThis.fetch;
}

/** The interface that all of the vendors' packages implement; they don't export its name. */
type LanguageModel = ReturnType<ReturnType<typeof createGoogle>>;
type CallOptions = Parameters<LanguageModel['doStream']>[0];
type ProviderOptions = NonNullable<CallOptions['providerOptions']>;
type Streamed = Awaited<ReturnType<LanguageModel['doStream']>>['stream'];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

export type VendorPrompt = CallOptions['prompt'];
export type FinishPart = Extract<StreamPart, { type: 'finish' }>;

/** What differs between vendors in one call. */
export interface VendorCall {
  model: LanguageModel;
  /** Absent where a vendor takes absence for the most that the model can do. */
  maxOutputTokens?: number;
  providerOptions?: ProviderOptions;
  /** Put on a part of the prompt, it asks the vendor to cache all up to there. Absent where caching needs no asking. */
  cacheMark?: ProviderOptions;
}

export type CreateVendorCall = (settings: VendorSettings) => VendorCall;
