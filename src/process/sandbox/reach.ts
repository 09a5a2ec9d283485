import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { proxyFor } from '../../core/proxy.ts';
import { type AllowedHost, LOOPBACK_HOST } from './registries.ts';
import type { Ports } from './sandbox.ts';

type Environment = Readonly<Record<string, string>>;

/** What a program with a network of its own can reach outside of it, and the variables that tell it how. */
export interface Reach {
  ports: Ports;
  env: Record<string, string>;
}

/** The gateway, at the port that it has on this machine. */
export function reachGateway(endpoints: readonly string[]): Reach {
  const ports = [...new Set(endpoints.map((url) => Number(new URL(url).port)))];
  return { ports: new Map(ports.map((port) => [port, samePort(port)])), env: {} };
}

interface HostOptions {
  allowed: readonly AllowedHost[];
  /** Of the program: where the user has a proxy, it is named there. */
  env: Environment;
  onRefused: (host: string) => void;
  /** Of the sandbox; without one the proxy listens on the loopback of the machine. */
  hasOwnNetwork: boolean;
}

/** Where the proxy is found, unless something else is. */
const PROXY_PORT = 3128;

/** Those on this machine at the ports that they have, all others through a proxy that knows them. */
export async function reachHosts({ allowed, env, onRefused, hasOwnNetwork }: HostOptions): Promise<Reach> {
  const isLocal = ({ host, isTrusted }: AllowedHost): boolean => isTrusted && LOOPBACK_HOST.test(host);
  const local = allowed.filter(isLocal).flatMap(({ port }) => (port === null || port < 1024 ? [] : [port]));
  const others = allowed.filter((host) => !isLocal(host));
  const direct = hasOwnNetwork ? local.map((port) => [port, samePort(port)] as const) : [];
  if (others.length === 0) return { ports: new Map(direct), env: {} };
  const { createRegistryProxy } = await import('./registry-proxy.ts');
  const proxy = createRegistryProxy({
    allowed: others,
    proxyFor: (host, isSecure) => proxyFor(env, host, isSecure),
    onRefused,
  });
  if (!hasOwnNetwork) return listening(proxy);
  const port = freePort(PROXY_PORT, local);
  const ports: Ports = new Map([...direct, [port, (socket) => proxy.emit('connection', socket)]]);
  return { ports, env: proxyEnvironment(port) };
}

async function listening(proxy: Server): Promise<Reach> {
  proxy.listen(0, '127.0.0.1').unref();
  await once(proxy, 'listening');
  return { ports: new Map(), env: proxyEnvironment((proxy.address() as AddressInfo).port) };
}

function freePort(wanted: number, taken: readonly number[]): number {
  return taken.includes(wanted) ? freePort(wanted + 1, taken) : wanted;
}

const DIRECT = 'localhost,127.0.0.1,::1';

/** As the package managers read it: in both spellings, npm and yarn by their own names, and Java by its arguments. */
function proxyEnvironment(port: number): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  const java = ['http', 'https'].flatMap((kind) => [`-D${kind}.proxyHost=127.0.0.1`, `-D${kind}.proxyPort=${port}`]);
  return {
    ...Object.fromEntries(
      ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'all_proxy'].map((name) => [name, url]),
    ),
    ...Object.fromEntries(['npm_config_proxy', 'npm_config_https_proxy'].map((name) => [name, url])),
    ...Object.fromEntries(['YARN_HTTP_PROXY', 'YARN_HTTPS_PROXY'].map((name) => [name, url])),
    no_proxy: DIRECT,
    NO_PROXY: DIRECT,
    npm_config_noproxy: DIRECT,
    JAVA_TOOL_OPTIONS: java.join(' '),
  };
}

/** A port of this machine's loopback, for one of the same number in the sandbox. */
function samePort(port: number): (socket: Socket) => void {
  return (socket) => joinStreams(socket, connect(port, '127.0.0.1'));
}

/** What one says the other hears, until either of them is gone. */
export function joinStreams(one: Duplex, other: Duplex): void {
  // One that left while the other was still being opened: a pipeline to it would throw.
  if (one.destroyed || other.destroyed) {
    one.destroy();
    other.destroy();
    return;
  }
  pipeline(one, other, () => undefined);
  pipeline(other, one, () => undefined);
}
