import { AgentosError, systemCode } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { currentTraceparent } from '../telemetry/tracer.ts';
import { detailOf, gistOf } from './detail.ts';
import { fieldsOf } from './json-fields.ts';
import { gatewayErrorIn, vendorFailure } from './vendor-failure.ts';

/** Our own gateway speaks the vendors' formats; what it has to say beyond them is in these. */
const STEP_HEADER = 'x-agentos-step';
const ERROR_HEADER = 'x-agentos-error';

const MAX_ERROR_BYTES = 64 * 1024;

/** These statuses mean the same, whatever page comes with them. */
const PLAIN_STATUSES = new Set([401, 402, 408, 429]);

export interface VendorFetchOptions {
  provider: string;
  secret: string;
  /** Names the question to a gateway, which then keeps its answer for a repeated question. */
  stepId: string;
  /** Called for every piece of the answer, keep-alive comments too. */
  onBytes: () => void;
}

/**
 * The fetch that the vendors' packages use. It returns streams that began well; everything else it throws, classified,
 * because only here are status, headers and body as the vendor sent them. Redirects are not followed: the key would go to
 * the server that they name.
 */
export function createVendorFetch(options: VendorFetchOptions): typeof globalThis.fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set(STEP_HEADER, encodeURIComponent(options.stepId));
    const traceparent = currentTraceparent();
    if (traceparent !== null) headers.set('traceparent', traceparent);
    const response = await globalThis.fetch(input, { ...init, headers, redirect: 'manual' }).catch((error: unknown) => {
      if (init?.signal?.aborted) throw error;
      throw lostConnection(options, error, 'provider-unreachable', hostOf(input));
    });
    options.onBytes();
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      const target = URL.parse(response.headers.get('location') ?? '', urlOf(input))?.host ?? 'nowhere';
      const detail = `${hostOf(input)} redirects to ${target} (${response.status}); redirects are not followed`;
      throw new AgentosError({
        code: 'provider-bad-reply',
        provider: options.provider,
        detail: detailOf(detail, options.secret),
      });
    }
    const type = response.headers.get('content-type') ?? '';
    if (!response.ok || /^(?:text\/html|application\/json)\b/i.test(type))
      throw await readFailure(options, response, type);
    if (response.body === null) throw badReply(options, 'the answer has no body');
    return new Response(watched(options, response.body, init?.signal), {
      status: response.status,
      headers: response.headers,
    });
  };
}

async function readFailure(options: VendorFetchOptions, response: Response, type: string): Promise<AgentosError> {
  // The gateway has classified its own errors and the vendor's; only an answer that did not pass it is read here.
  const own = gatewayErrorIn(response.headers.get(ERROR_HEADER));
  const text = await readSome(response);
  if (own !== null) return own;
  const body = parseJson(text);
  const { status } = response;
  if (body === null && text.trim() !== '' && status < 500 && !PLAIN_STATUSES.has(status)) {
    return badReply(options, `status ${status} with ${type || 'no content type'} instead of a reply: ${gistOf(text)}`);
  }
  if (response.ok && fieldsOf(body)['error'] === undefined) {
    return badReply(options, `${type || 'no content type'} instead of a stream: ${gistOf(text)}`);
  }
  return vendorFailure({
    provider: options.provider,
    status: response.ok ? null : status,
    headers: Object.fromEntries(response.headers),
    body,
    fallback: `status ${status} ${body === null ? gistOf(text) : ''}`.trim(),
    secret: options.secret,
    nowMs: Date.now(),
  });
}

function badReply({ provider, secret }: VendorFetchOptions, detail: string): AgentosError {
  return new AgentosError(
    { code: 'provider-bad-reply', provider, detail: detailOf(detail, secret) },
    { retry: 'transient' },
  );
}

async function readSome(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    pieces.push(piece);
    bytes += piece.byteLength;
    if (bytes > MAX_ERROR_BYTES) break;
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}

function watched(
  options: VendorFetchOptions,
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        options.onBytes();
        controller.enqueue(value);
      } catch (error) {
        controller.error(
          signal?.aborted ? error : lostConnection(options, error, 'provider-bad-reply', 'the stream broke off'),
        );
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The runtime gives up after this long without a byte, whatever our own bound is. */
const RUNTIME_TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
const RUNTIME_TIMEOUT_MS = 300_000;

function lostConnection(
  { provider, secret }: VendorFetchOptions,
  error: unknown,
  code: 'provider-unreachable' | 'provider-bad-reply',
  where: string,
): AgentosError {
  const origin = originOf(error);
  const system = systemCode(origin);
  if (system !== null && RUNTIME_TIMEOUTS.has(system)) {
    return new AgentosError(
      { code: 'call-idle', what: provider, afterMs: RUNTIME_TIMEOUT_MS },
      { retry: 'idle', cause: error },
    );
  }
  const message = origin instanceof Error ? origin.message : String(origin);
  const known = system !== null && !message.includes(system) ? [system] : [];
  const detail = detailOf([where, ...known, message].filter(Boolean).join(': '), secret);
  return new AgentosError(
    { code, provider, detail },
    { retry: 'transient', cause: system === null ? undefined : origin },
  );
}

/** fetch says "fetch failed"; what failed is at the end of the causes. */
function originOf(error: unknown): unknown {
  let current = error;
  for (let depth = 0; depth < 5; depth++) {
    if (current instanceof AggregateError && current.errors.length > 0) current = current.errors[0];
    else if (current instanceof Error && current.cause !== undefined) current = current.cause;
    else break;
  }
  return current;
}

type Target = Parameters<typeof globalThis.fetch>[0];

function urlOf(input: Target): string {
  return input instanceof Request ? input.url : String(input);
}

function hostOf(input: Target): string {
  return URL.parse(urlOf(input))?.host ?? '';
}
