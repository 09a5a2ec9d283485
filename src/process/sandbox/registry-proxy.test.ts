import { once } from 'node:events';
import { createServer, get, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { AllowedHost } from './registries.ts';
import { createRegistryProxy, type RegistryProxyOptions } from './registry-proxy.ts';

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A registry that says what it was asked for. */
const registry = (): Promise<number> =>
  listening(createServer((asked, answer) => void answer.end(`${asked.method} ${asked.url} ${asked.headers.host}`)));

async function proxy(
  allowed: AllowedHost[],
  more: Partial<RegistryProxyOptions> = {},
): Promise<{ port: number; refused: string[] }> {
  const refused: string[] = [];
  const onRefused = (host: string): void => void refused.push(host);
  return { port: await listening(createRegistryProxy({ allowed, proxyFor: () => null, onRefused, ...more })), refused };
}

/** By the first line with the whole address. */
async function plainly(port: number, url: string): Promise<[number | undefined, string]> {
  const [response] = await once(get({ host: '127.0.0.1', port, path: url }), 'response');
  let text = '';
  for await (const piece of response) text += piece;
  return [response.statusCode, text];
}

/** As for TLS, which this is not: what goes through the tunnel is no business of the proxy's. */
async function tunnelled(port: number, target: string): Promise<string> {
  const asked = request({ host: '127.0.0.1', port, method: 'CONNECT', path: target });
  asked.end();
  const [response, socket] = await Promise.race([once(asked, 'connect'), once(asked, 'response')]);
  if (response.statusCode !== 200) return String(response.statusCode);
  socket.write('GET /through HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  let text = '';
  for await (const piece of socket) text += piece;
  return text.split('\r\n').at(-1) ?? '';
}

const trusted = (host: string, port: number | null = null): AllowedHost => ({ host, port, isTrusted: true });

test('an allowed host is reached plainly and by a tunnel; any other is refused and told of once', async () => {
  const at = await registry();
  const { port, refused } = await proxy([trusted('127.0.0.1', at)]);
  expect(await plainly(port, `http://127.0.0.1:${at}/x?y=1`)).toEqual([200, `GET /x?y=1 127.0.0.1:${at}`]);
  expect(await tunnelled(port, `127.0.0.1:${at}`)).toBe('GET /through x');
  expect(await plainly(port, `http://127.0.0.1:${at + 1}/`)).toEqual([403, expect.stringContaining('sandbox.hosts')]);
  expect(await tunnelled(port, 'example.org:443')).toBe('403');
  expect(await tunnelled(port, 'example.org:443')).toBe('403');
  expect((await plainly(port, '/not-whole'))[0]).toBe(502);
  expect(refused).toEqual(['127.0.0.1', 'example.org']);
});

test('a host that only the repository names is not reached where it leads into this machine', async () => {
  const at = await registry();
  // By name: a name on the internet can lead anywhere.
  const { port, refused } = await proxy([{ host: 'localhost', port: at, isTrusted: false }]);
  expect((await plainly(port, `http://localhost:${at}/`))[0]).toBe(403);
  expect(await tunnelled(port, `localhost:${at}`)).toBe('403');
  expect(refused).toEqual(['localhost']);
});

test('where the user has a proxy, allowed hosts are reached through that one', async () => {
  const seen: string[] = [];
  const upstream = createServer((asked, answer) => {
    seen.push(`${asked.url} ${asked.headers['proxy-authorization']}`);
    answer.end('from upstream');
  });
  upstream.on('connect', (asked, client) => {
    seen.push(`CONNECT ${asked.url} ${asked.headers['proxy-authorization']}`);
    const [host, port] = (asked.url ?? '').split(':');
    const target = connect(Number(port), host === 'far.example.org' ? '127.0.0.1' : host);
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    client.pipe(target).pipe(client);
  });
  const [at, upstreamPort] = [await registry(), await listening(upstream)];
  const url = new URL(`http://me:se%40cret@127.0.0.1:${upstreamPort}`);
  const credentials = `Basic ${Buffer.from('me:se@cret').toString('base64')}`;
  const { port } = await proxy([trusted('far.example.org')], { proxyFor: () => url });
  expect(await plainly(port, 'http://far.example.org/x')).toEqual([200, 'from upstream']);
  expect(await tunnelled(port, `far.example.org:${at}`)).toBe('GET /through x');
  expect(await tunnelled(port, 'near.example.org:443')).toBe('403');
  expect(seen).toEqual([`http://far.example.org/x ${credentials}`, `CONNECT far.example.org:${at} ${credentials}`]);
});

test('a host that only the repository names is not reached inside a network through the user’s proxy either', async () => {
  const seen: string[] = [];
  const upstream = createServer((asked, answer) => void answer.end(seen.push(asked.url ?? '').toString()));
  const url = new URL(`http://127.0.0.1:${await listening(upstream)}`);
  const hosts = ['169.254.169.254', 'localhost', 'not-known-here.invalid'];
  const allowed = hosts.map((host) => ({ host, port: 80, isTrusted: false }));
  const { port } = await proxy(allowed, { proxyFor: () => url });
  const statuses = await Promise.all(hosts.map(async (host) => (await plainly(port, `http://${host}/`))[0]));
  expect(statuses).toEqual([403, 403, 200]);
  expect(seen).toEqual(['http://not-known-here.invalid/']);
});
