import type { LanguageModel, streamText } from 'ai';

export interface VendorSettings {
  model: string;
  apiKey: string;
  baseURL: string;
  fetch: typeof globalThis.fetch;
}

type ProviderOptions = NonNullable<Parameters<typeof streamText>[0]['providerOptions']>;

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
