import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { VendorKey, VendorName } from '../core/keys.ts';
import { vendorBaseUrl } from './base-url.ts';
import { detailOf } from './detail.ts';
import type { VendorAgents } from './vendor-agents.ts';
import { vendorFailure } from './vendor-failure.ts';

const TIMEOUT_MS = 15_000;

const CREDENTIALS: Record<VendorName, (secret: string) => Record<string, string>> = {
  anthropic: (secret) => ({ 'x-api-key': secret, 'anthropic-version': '2023-06-01' }),
  google: (secret) => ({ 'x-goog-api-key': secret }),
  openai: (secret) => ({ authorization: `Bearer ${secret}` }),
  'openai-compatible': (secret) => ({ authorization: `Bearer ${secret}` }),
};

interface TryOptions {
  endpoint: string | undefined;
  agents: VendorAgents;
}

/** Asks for the list of models: the cheapest call there is, free with every vendor. Null: the key works. */
export async function tryKey(
  { vendor, secret }: VendorKey,
  { endpoint, agents }: TryOptions,
): Promise<ErrorRecord | null> {
  const key = secret.reveal();
  try {
    const { status, headers, body } = await get(
      new URL(`${vendorBaseUrl(vendor, endpoint)}/models`),
      CREDENTIALS[vendor](key),
      agents,
    );
    if (status >= 200 && status < 300) return null;
    const answer = { status, headers, body: parseJson(body), fallback: `status ${status}` };
    return toErrorRecord(vendorFailure({ ...answer, provider: vendor, secret: key, nowMs: Date.now() }));
  } catch (error) {
    if (error instanceof AgentosError) return toErrorRecord(error);
    const detail = detailOf(error instanceof Error ? error.message : String(error), key);
    return { problem: { code: 'provider-unreachable', provider: vendor, detail }, retry: 'transient' };
  }
}

/** Redirects are not followed: the key would go to the server that they name. */
async function get(
  url: URL,
  headers: Record<string, string>,
  agents: VendorAgents,
): Promise<{ status: number; headers: Record<string, string>; body: string }> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const request =
    url.protocol === 'https:'
      ? https.get(url, { headers, signal, agent: agents['https:'] })
      : http.get(url, { headers, signal, agent: agents['http:'] });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
    body: await text(response),
  };
}
