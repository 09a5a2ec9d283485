import type { VendorName } from '../core/keys.ts';
import type { VendorSpec } from '../core/model-spec.ts';
import type { Secret } from '../core/secret.ts';
import { createVendorFetch } from './vendor-fetch.ts';
import type { CreateVendorCall, VendorCall } from './vendors/call.ts';

/** Each vendor's package costs tens of milliseconds and megabytes: only the one that is asked is loaded. */
const LOADERS: Record<VendorName, () => Promise<{ createCall: CreateVendorCall }>> = {
  anthropic: () => import('./vendors/anthropic.ts'),
  google: () => import('./vendors/google.ts'),
  openai: () => import('./vendors/openai.ts'),
  'openai-compatible': () => import('./vendors/openai-compatible.ts'),
};

export interface OpenCallOptions {
  spec: VendorSpec;
  key: Secret;
  baseURL: string;
  stepId: string;
  /** Called for every piece of the answer. */
  onBytes: () => void;
}

/** One call, ready to be made. */
export async function openCall(options: OpenCallOptions): Promise<{ call: VendorCall; secret: string }> {
  const { spec, key, baseURL, stepId, onBytes } = options;
  const secret = key.reveal();
  forgetBlankBaseUrls();
  const { createCall } = await LOADERS[spec.provider]();
  const fetch = createVendorFetch({ provider: spec.provider, secret, stepId, onBytes });
  return { call: createCall({ model: spec.model, apiKey: secret, baseURL, fetch }), secret };
}

/** The packages read these when they are loaded, and throw if one is set but blank. They are given their base URL anyway. */
function forgetBlankBaseUrls(): void {
  for (const name of ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL']) {
    if (process.env[name]?.trim() === '') delete process.env[name];
  }
}
