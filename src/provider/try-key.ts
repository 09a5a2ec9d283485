import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { VendorKey, VendorName } from '../core/keys.ts';
import { vendorBaseUrl } from './base-url.ts';
import { vendorFailure } from './vendor-failure.ts';

const TIMEOUT_MS = 15_000;

const CREDENTIALS: Record<VendorName, (secret: string) => Record<string, string>> = {
  anthropic: (secret) => ({ 'x-api-key': secret, 'anthropic-version': '2023-06-01' }),
  google: (secret) => ({ 'x-goog-api-key': secret }),
  openai: (secret) => ({ authorization: `Bearer ${secret}` }),
  'openai-compatible': (secret) => ({ authorization: `Bearer ${secret}` }),
};

/** Asks for the list of models: the cheapest call there is, free with every vendor. Null: the key works. */
export async function tryKey({ vendor, secret }: VendorKey, endpoint: string | undefined): Promise<ErrorRecord | null> {
  try {
    const key = secret.reveal();
    const response = await fetch(`${vendorBaseUrl(vendor, endpoint)}/models`, {
      headers: CREDENTIALS[vendor](key),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = (await response.text()).slice(0, 10_000);
    if (response.ok) return null;
    const headers = Object.fromEntries(response.headers);
    const fallback = `status ${response.status}`;
    const { status } = response;
    return toErrorRecord(
      vendorFailure({
        provider: vendor,
        status,
        headers,
        body: parsed(text),
        fallback,
        secret: key,
        nowMs: Date.now(),
      }),
    );
  } catch (error) {
    if (error instanceof AgentosError) return toErrorRecord(error);
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return { problem: { code: 'provider-unreachable', provider: vendor, detail: cause }, retry: 'transient' };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
