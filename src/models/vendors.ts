import type { createGoogle } from '@ai-sdk/google';
import { AgentosError, systemCode } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { VendorName } from '../core/keys.ts';
import type { VendorSpec } from '../core/model-spec.ts';
import { detailOf } from '../core/reason.ts';
import type { Secret } from '../core/secret.ts';
import { currentTraceparent } from '../telemetry/tracer.ts';
import type { CallLimits } from './port.ts';
import { badReply, connectionLost, gatewayError, gatewayErrorIn } from './vendor-failure.ts';

/** The interface that all vendors' packages implement; they don't export its name. */
type LanguageModel = ReturnType<ReturnType<typeof createGoogle>>;
type CallOptions = Parameters<LanguageModel['doStream']>[0];
type Streamed = Awaited<ReturnType<LanguageModel['doStream']>>['stream'];
type StreamPart = Streamed extends ReadableStream<infer Part> ? Part : never;

export type VendorPrompt = CallOptions['prompt'];
export type VendorTool = Extract<NonNullable<CallOptions['tools']>[number], { type: 'function' }>;
export type VendorMarks = NonNullable<CallOptions['providerOptions']>;
export type FinishPart = Extract<StreamPart, { type: 'finish' }>;

/** How to reach a model: the same for all calls of an item. */
export interface VendorAccess extends CallLimits {
  spec: VendorSpec;
  /** The item's token for the gateway. */
  token: Secret;
  /** The gateway's base URL for the vendor. */
  endpoint: string;
}

/** What differs between vendors in one call. */
interface VendorCall {
  model: LanguageModel;
  options: Pick<CallOptions, 'maxOutputTokens' | 'providerOptions'>;
  /** On a part of the prompt, it asks the vendor to cache everything up to there. Absent: the vendor caches by itself. */
  cacheMark?: VendorMarks;
}

/**
 * The format requires a limit. Thinking counts against it and unused tokens cost nothing, so it is far above the longest
 * design. The package lowers it for models that allow less.
 */
const MAX_OUTPUT_TOKENS = 64_000;

type Settings = Record<'apiKey' | 'baseURL', string> & { fetch: typeof globalThis.fetch };

/** Each vendor's package costs tens of milliseconds and megabytes, so it is loaded when it is needed. */
const VENDORS: Record<VendorName, (model: string, settings: Settings) => Promise<VendorCall>> = {
  anthropic: async (model, settings) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return {
      model: createAnthropic(settings)(model),
      options: { maxOutputTokens: MAX_OUTPUT_TOKENS },
      cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    };
  },
  google: async (model, settings) => {
    const { createGoogle } = await import('@ai-sdk/google');
    return { model: createGoogle(settings)(model), options: {} };
  },
  openai: async (model, settings) => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    // We never read a stored response back, so we leave none at the vendor.
    return {
      model: createOpenAI(settings).responses(model),
      options: { providerOptions: { openai: { store: false } } },
    };
  },
  'openai-compatible': async (model, { apiKey, ...settings }) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    // Local servers often need no key.
    const key = apiKey === '' ? {} : { apiKey };
    const server = createOpenAICompatible({ name: 'openai-compatible', includeUsage: true, ...settings, ...key });
    return { model: server.chatModel(model), options: {} };
  },
};

/**
 * The vendor's model, called through the gateway, which records the answer under `stepId` in case the question is repeated.
 * `onBytes`: called for every chunk of the answer, including keep-alives.
 */
export function openModel(
  { spec, token, endpoint }: VendorAccess,
  stepId: string,
  onBytes: () => void,
): Promise<VendorCall> {
  const { provider, model } = spec;
  // The packages read these variables and throw if one is blank. We pass the base URL ourselves.
  for (const name of ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL'])
    if (process.env[name]?.trim() === '') delete process.env[name];
  const apiKey = token.reveal();
  const fetch = createGatewayFetch({ provider, secret: apiKey }, stepId, onBytes);
  return VENDORS[provider](model, { apiKey, baseURL: endpoint, fetch });
}

/**
 * The fetch for the vendors' packages. The gateway answers with a stream, or with an error that it has classified from the
 * vendor's status, headers and body.
 */
function createGatewayFetch(
  about: { provider: string; secret: string },
  stepId: string,
  onBytes: () => void,
): typeof globalThis.fetch {
  const { provider, secret } = about;
  return async (input, init) => {
    const lost = (code: 'provider-unreachable' | 'provider-bad-reply', where: string) => (error: unknown) => {
      if (init?.signal?.aborted) throw error;
      // Node gives up after this long without a byte, whatever our own bound is.
      if (/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(systemCode(error instanceof Error ? error.cause : error) ?? ''))
        throw new AgentosError({ code: 'call-idle', what: provider, afterMs: FETCH_TIMEOUT_MS }, { retry: 'idle' });
      throw connectionLost(about, error, code, where);
    };
    const headers = new Headers(init?.headers);
    headers.set('x-agentos-step', encodeURIComponent(stepId));
    const traceparent = currentTraceparent();
    if (traceparent !== null) headers.set('traceparent', traceparent);
    const url = input instanceof Request ? input.url : String(input);
    const response = await globalThis
      .fetch(input, { ...init, headers, redirect: 'manual' })
      .catch(lost('provider-unreachable', URL.parse(url)?.host ?? ''));
    onBytes();
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
        onBytes();
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
