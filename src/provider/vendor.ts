import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { sameModel, type VendorSpec } from '../core/model-spec.ts';
import type { Secret } from '../core/secret.ts';
import { vendorBaseUrl } from './base-url.ts';
import { type CallLimits, untilAborted, withinBounds } from './call-bounds.ts';
import type { ModelReply, ModelRequest, Provider } from './port.ts';
import { createVendorFetch } from './vendor-fetch.ts';
import type { CreateVendorCall } from './vendors/call.ts';

export interface VendorOptions extends CallLimits {
  spec: VendorSpec;
  key: Secret;
  /** Where it is not the vendor's own. */
  baseUrl?: string | undefined;
}

/** Each vendor's package costs tens of milliseconds and megabytes: only the one that is asked is loaded. */
const LOADERS: Record<VendorName, () => Promise<{ createCall: CreateVendorCall }>> = {
  anthropic: () => import('./vendors/anthropic.ts'),
  google: () => import('./vendors/google.ts'),
  openai: () => import('./vendors/openai.ts'),
  'openai-compatible': () => import('./vendors/openai-compatible.ts'),
};

export function createVendorProvider({ spec, key, baseUrl, ...limits }: VendorOptions): Provider {
  const baseURL = vendorBaseUrl(spec.provider, baseUrl);
  return {
    spec: spec.text,
    isModel: true,
    complete: (request) =>
      withinBounds({ what: spec.text, limits, signal: request.signal }, async (bounded) => {
        const reply = await callVendor({ spec, secret: sendable(spec, key), baseURL, request, ...bounded });
        if (request.role === 'reviewer' && reply.answered !== null && reply.substituted) {
          throw new AgentosError({ code: 'model-downgraded', asked: spec.model, answered: reply.answered });
        }
        return reply;
      }),
  };
}

interface Call {
  spec: VendorSpec;
  secret: string;
  baseURL: string;
  request: ModelRequest;
  signal: AbortSignal;
  alive: () => void;
}

async function callVendor({ spec, secret, baseURL, request, signal, alive }: Call): Promise<ModelReply> {
  let outputChars = 0;
  const report = (): void => {
    alive();
    request.onProgress?.({ outputChars });
  };
  forgetBlankBaseUrls();
  const [{ createCall }, { streamReply }] = await Promise.all([LOADERS[spec.provider](), import('./vendor-stream.ts')]);
  const fetch = createVendorFetch({ provider: spec.provider, secret, stepId: request.stepId, onBytes: report });
  const call = createCall({ model: spec.model, apiKey: secret, baseURL, fetch });
  const { system, parts } = request;
  const onText = (chars: number): void => {
    outputChars = chars;
    report();
  };
  const streamed = streamReply({ provider: spec.provider, secret, call, system, parts, signal, onText });
  const reply = await untilAborted(signal, streamed);
  const substituted = reply.answered !== null && !sameModel(spec.model, reply.answered);
  return { asked: spec.model, substituted, ...reply };
}

/** A key with a line break or an umlaut in it can't be a header; the error for that would show it. */
function sendable(spec: VendorSpec, key: Secret): string {
  const secret = key.reveal();
  if (/^[\x21-\x7e]*$/.test(secret)) return secret;
  const detail = 'the key holds characters that no key has: spaces, line breaks or letters beyond ASCII';
  throw new AgentosError({ code: 'provider-rejected-key', provider: spec.provider, status: null, detail });
}

/** The packages read these when they are loaded, and throw if one is set but blank. They are given their base URL anyway. */
function forgetBlankBaseUrls(): void {
  for (const name of ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL']) {
    if (process.env[name]?.trim() === '') delete process.env[name];
  }
}
