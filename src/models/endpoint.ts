import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { AgentosError, systemCode } from '../core/errors.ts';
import { ENDPOINT_VARIABLES, OFFICIAL_URLS, type VendorName } from '../core/keys.ts';
import { proxyVariables } from '../core/proxy.ts';

const VERSIONS: Record<VendorName, string> = {
  anthropic: 'v1',
  google: 'v1beta',
  openai: 'v1',
  'openai-compatible': 'v1',
};

/**
 * The prefix of all requests. Some vendors' programs take base URLs without the version, some with it, so people have both in their
 * environment: a missing version is added. Compatible servers use any path (`/api/paas/v4`, `/v1beta/openai`), so there the version
 * is added to a bare host only.
 */
export function vendorBaseUrl(vendor: VendorName, url: string | undefined): string {
  const version = VERSIONS[vendor];
  const given = url?.trim() || OFFICIAL_URLS[vendor];
  if (!given) {
    throw new AgentosError({
      code: 'usage',
      reason: `${vendor} has no base URL.`,
      hint: `Set ${placesOf(vendor)}.`,
    });
  }
  const parsed = URL.parse(given);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.password !== '') {
    throw new AgentosError({
      code: 'usage',
      reason: `The base URL of ${vendor} is not valid (${placesOf(vendor)}).`,
      hint: 'Write it as https://host/path, without a user name or password.',
    });
  }
  const path = parsed.pathname.replace(/\/+$/, '');
  const complete = vendor === 'openai-compatible' ? path !== '' : /\/v\d+[a-z]*\d*$/.test(path);
  return `${parsed.origin}${path}${complete ? '' : `/${version}`}`;
}

/** Where people set it. */
function placesOf(vendor: VendorName): string {
  const variable = ENDPOINT_VARIABLES[vendor];
  const setting = `endpoints.${vendor} in agentos.yaml`;
  return variable === undefined ? setting : `${variable}, or ${setting}`;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The connections to vendors, by protocol. */
export interface VendorAgents {
  'http:': http.Agent;
  'https:': https.Agent;
}

/** Connections stay open between requests, and use the proxy that the environment names. */
export function createVendorAgents(env: Environment): VendorAgents {
  const proxyEnv = proxyVariables(env) ?? undefined;
  const settings = { keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo', proxyEnv } as const;
  return { 'http:': new http.Agent(settings), 'https:': new https.Agent(settings) };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Trusts the certificates in SSL_CERT_FILE in addition to Node's own, as Node itself does for NODE_EXTRA_CA_CERTS. Returns a warning
 * if that fails, or null.
 */
export function trustCertificates(env: Environment): string | null {
  const file = env['SSL_CERT_FILE']?.trim();
  if (!file) return null;
  try {
    const certificates = readFileSync(file, 'utf8').match(CERTIFICATE) ?? [];
    if (certificates.length === 0) return `SSL_CERT_FILE is ignored: there is no certificate in ${file}.`;
    setDefaultCACertificates([...getCACertificates('default'), ...certificates]);
    return null;
  } catch (error) {
    const reason = systemCode(error) ?? (error instanceof Error ? error.message : String(error));
    return `SSL_CERT_FILE is ignored: ${file} can't be read (${reason}).`;
  }
}
