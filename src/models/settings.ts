import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Config, Role } from '../core/config.ts';
import { AgentosError, type MissingKey, systemCode, usageError } from '../core/errors.ts';
import { ENDPOINT_VARIABLES, keyVariables, OFFICIAL_URLS, type VendorName } from '../core/keys.ts';
import { isAgent, keyVendorOf, parseModelSpec } from '../core/model-spec.ts';
import { dearestPrice, isBelowList, priceOf } from '../core/money.ts';
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
  if (!given)
    throw usageError(
      `${vendor} needs the address of its server.`,
      `Set ${placesOf(vendor)}, e.g. http://127.0.0.1:11434/v1`,
    );
  const parsed = URL.parse(given);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.password !== '')
    throw usageError(
      `The base URL of ${vendor} is not valid (${placesOf(vendor)}).`,
      'Write it as https://host/path, without a user name or password.',
    );
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

/** Throws before anything starts if a model can't work; returns warnings. */
export function requireModels(config: Config, roles: readonly Role[]): string[] {
  const warnings = new Set<string>();
  const missing = new Map<string, MissingKey>();
  if (config.heldBack.length > 0)
    warnings.add(
      `passEnvironment names ${config.heldBack.join(', ')}: a key is never handed to agents, commands or tests.`,
    );
  for (const role of roles) {
    const spec = parseModelSpec(config.models[role]);
    const vendor = keyVendorOf(spec, config.ownLogins);
    if (vendor === null) continue;
    const { text } = spec;
    vendorBaseUrl(vendor, config.endpoints[vendor]);
    const needsKey = vendor !== 'openai-compatible' || (config.keyVariables[vendor]?.length ?? 0) > 0;
    if (needsKey && !config.keys.some((key) => key.vendor === vendor)) {
      if (config.withheld.includes(vendor)) throw elsewhere(vendor, config.endpoints[vendor]);
      const variables = keyVariables(vendor, config.keyVariables[vendor]);
      const roles = missing.get(vendor)?.roles ?? [];
      missing.set(vendor, { provider: vendor, variables, roles: [...roles, role] });
    }
    if (isBelowList(text, config.prices))
      warnings.add(`agentos.yaml prices ${text} below its list price: costs and limits count with the lower one.`);
    // An agent chooses its model when it calls; the gateway counts the cost then.
    if (isAgent(spec) || priceOf(text, config.prices) !== null) continue;
    const known = dearestPrice(vendor, config.prices);
    warnings.add(
      known === null
        ? `The price of ${text} is not known: its cost is not counted. Add it under prices in agentos.yaml.`
        : `The price of ${text} is not known: limits count it at the dearest price of ${vendor}. Add it under prices in agentos.yaml.`,
    );
  }
  if (missing.size > 0) throw new AgentosError({ code: 'key-missing', missing: [...missing.values()] });
  return [...warnings];
}

/** There is a standard key, but the repository's configuration would send it to another host. */
function elsewhere(vendor: VendorName, address: string | undefined): AgentosError {
  const own = ENDPOINT_VARIABLES[vendor];
  const host = URL.parse(address ?? OFFICIAL_URLS[vendor] ?? '')?.host ?? 'another host';
  return usageError(
    `agentos.yaml would send a standard key to ${host}, which is not the host of that key's vendor.`,
    `Name a variable with a key of its own under keys.${vendor}${own === undefined ? '' : `, or set ${own} yourself`}.`,
  );
}

/**
 * Throws if no call could be made with these settings, or a cost limit could not be enforced. It does not depend on the items, so a
 * dry run finds the problem too.
 */
export function requireSettings(config: Config, env: Environment, roles: readonly Role[]): void {
  for (const role of roles) {
    const spec = parseModelSpec(config.models[role]);
    const vendor = keyVendorOf(spec, config.ownLogins);
    if (vendor === null) continue;
    proxyVariables(env);
    if (config.endpoints[vendor] !== undefined) vendorBaseUrl(vendor, config.endpoints[vendor]);
    if (!config.bounds.hasChosenCostLimit || dearestPrice(vendor, config.prices) !== null) continue;
    throw usageError(
      `No price of ${vendor} is known, so ${spec.text} can't be kept within a cost limit.`,
      `Add it to agentos.yaml under prices, e.g. "${spec.text}": { input: 3, output: 15 } (USD per million tokens).`,
    );
  }
}
