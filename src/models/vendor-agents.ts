import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { systemCode } from '../core/errors.ts';
import { proxyVariables } from '../core/proxy.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The connections to vendors, by protocol. */
export interface VendorAgents {
  'http:': http.Agent;
  'https:': https.Agent;
}

/** Kept open between requests, and through a proxy where the environment names one. */
export function createVendorAgents(env: Environment): VendorAgents {
  const proxyEnv = proxyVariables(env) ?? undefined;
  const settings = { keepAlive: true, maxFreeSockets: 64, scheduling: 'lifo', proxyEnv } as const;
  return { 'http:': new http.Agent(settings), 'https:': new https.Agent(settings) };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Trusts the certificates in SSL_CERT_FILE beside those that Node knows, as it does by itself for NODE_EXTRA_CA_CERTS.
 * Returns why that could not be done, or null.
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
