import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { BlockList, connect, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { joinStreams } from './reach.ts';
import type { AllowedHost } from './registries.ts';

export interface RegistryProxyOptions {
  allowed: readonly AllowedHost[];
  /** The user's own proxy for a host; null: it is reached directly. */
  proxyFor: (host: string, isSecure: boolean) => URL | null;
  /** Called with each host that was asked for and is not allowed, once. */
  onRefused: (host: string) => void;
}

type AddressOf = (host: string, port: number, isSecure: boolean) => Promise<string>;

const CONNECT_MS = 30_000;

/** Machines that are not on the internet: this one, its network, and the addresses at which clouds hand out credentials. */
const PRIVATE = new BlockList();
for (const network of [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 168.63.129.16/32',
  '::/127 fc00::/7 fe80::/10',
].flatMap((networks) => networks.split(' '))) {
  const [address = '', prefix] = network.split('/');
  PRIVATE.addSubnet(address, Number(prefix), familyOf(address));
}

export function isPrivateAddress(address: string): boolean {
  return PRIVATE.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

export function allowedFor(allowed: readonly AllowedHost[], host: string, port: number): AllowedHost | undefined {
  const name = host.toLowerCase();
  const isMeant = (entry: AllowedHost): boolean =>
    (entry.port === null || entry.port === port) &&
    (entry.host.startsWith('*.') ? name.endsWith(entry.host.slice(1)) : entry.host === name);
  // A host that is named twice has the rights of the one that we trust more.
  return allowed.find((entry) => entry.isTrusted && isMeant(entry)) ?? allowed.find(isMeant);
}

/**
 * An HTTP proxy that talks to the allowed hosts and to no other. It listens nowhere: connections are given to it by
 * `emit('connection')`. Names are looked up here, once, and the address that was checked is the one that is used.
 */
export function createRegistryProxy({ allowed, proxyFor, onRefused }: RegistryProxyOptions): Server {
  const refused = new Set<string>();
  const refuse = (host: string): Refusal => {
    if (!refused.has(host)) onRefused(host);
    refused.add(host);
    return new Refusal(`${host} is not among the hosts that the set-up may reach (sandbox.hosts)\n`);
  };
  /** The address to use for a host. */
  const addressOf: AddressOf = async (host, port, isSecure) => {
    const entry = allowedFor(allowed, host, port);
    if (entry === undefined) throw refuse(host);
    const isAllowed = (address: string): boolean => entry.isTrusted || !isPrivateAddress(address);
    // The user's proxy may know names that nobody knows here.
    if (proxyFor(host, isSecure) !== null) {
      if (!(await addressesOf(host).catch(() => [])).every(isAllowed)) throw refuse(host);
      return host;
    }
    const usable = (await addressesOf(host)).find(isAllowed);
    if (usable === undefined) throw refuse(host);
    return usable;
  };
  const tunnel = async (host: string, port: number): Promise<Duplex> => {
    const address = await addressOf(host, port, true);
    const proxy = proxyFor(host, true);
    return proxy === null ? directly(address, port) : throughProxy(proxy, `${host}:${port}`);
  };

  const server = createServer((asked, answer) => {
    void forward(asked, answer, addressOf, proxyFor).catch((error: unknown) => fail(answer, error));
  });
  server.on('connect', (asked: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => undefined);
    const [, host = '', port = '443'] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(asked.url ?? '') ?? [];
    tunnel(host, Number(port)).then(
      (upstream) => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.write(head);
        joinStreams(upstream, client);
      },
      (error: unknown) => {
        const { status, text } = answerTo(error);
        client.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
      },
    );
  });
  return server;
}

async function addressesOf(host: string): Promise<string[]> {
  return isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
}

class Refusal extends Error {}

function answerTo(error: unknown): { status: number; text: string } {
  const text = error instanceof Error ? error.message : String(error);
  return { status: error instanceof Refusal ? 403 : 502, text };
}

function fail(answer: ServerResponse, error: unknown): void {
  const { status, text } = answerTo(error);
  if (!answer.headersSent) answer.writeHead(status, { 'content-type': 'text/plain' });
  answer.end(text);
}

/** A request without encryption: its whole address is in its first line. */
async function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  addressOf: AddressOf,
  proxyFor: RegistryProxyOptions['proxyFor'],
): Promise<void> {
  const url = URL.parse(asked.url ?? '');
  if (url?.protocol !== 'http:') throw new Error('This proxy takes whole addresses of http: and CONNECT.\n');
  const { 'proxy-connection': _, 'proxy-authorization': __, ...given } = asked.headers;
  // The host that was checked, not another one behind the same address.
  const headers = { ...given, host: url.host };
  const host = url.hostname.replaceAll(/^\[|\]$/g, '');
  const port = Number(url.port) || 80;
  const address = await addressOf(host, port, false);
  const proxy = proxyFor(host, false);
  const way =
    proxy === null
      ? { host: address, port, path: `${url.pathname}${url.search}`, headers }
      : {
          host: proxy.hostname,
          port: Number(proxy.port) || 80,
          path: url.href,
          headers: { ...headers, ...credentialsOf(proxy) },
        };
  const upstream = request({ ...way, method: asked.method, agent: false });
  upstream.setTimeout(CONNECT_MS, () => upstream.destroy(new Error(`${host} does not answer\n`)));
  upstream.on('response', (found) => {
    upstream.setTimeout(0);
    answer.writeHead(found.statusCode ?? 502, found.headers);
    found.pipe(answer);
    found.on('error', () => answer.destroy());
  });
  upstream.on('error', (error) => fail(answer, error));
  answer.on('close', () => upstream.destroy());
  asked.pipe(upstream);
}

const TOO_LATE = 'no connection in time\n';

function directly(address: string, port: number): Promise<Duplex> {
  const socket = connect(port, address);
  return new Promise((resolve, reject) => {
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error(TOO_LATE)));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

function throughProxy(proxy: URL, target: string): Promise<Duplex> {
  const isSecure = proxy.protocol === 'https:';
  const asked = (isSecure ? requestSecurely : request)({
    host: proxy.hostname,
    port: Number(proxy.port) || (isSecure ? 443 : 80),
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...credentialsOf(proxy) },
    agent: false,
    timeout: CONNECT_MS,
  });
  return new Promise((resolve, reject) => {
    asked.once('error', reject);
    asked.once('timeout', () => asked.destroy(new Error(TOO_LATE)));
    // Whatever it answers.
    asked.once('connect', ({ statusCode = 0, statusMessage }, socket, head) => {
      socket.setTimeout(0);
      if (statusCode >= 200 && statusCode < 300) {
        socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new Error(`the proxy ${proxy.host} refused ${target}: ${statusCode} ${statusMessage}\n`));
    });
    asked.end();
  });
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'Proxy-Authorization': `Basic ${Buffer.from(text).toString('base64')}` };
}
