import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { sha256 } from '../../../src/core/hash.ts';
import { Secret } from '../../../src/core/secret.ts';
import type { HostOptions } from '../../../src/host/client.ts';
import { createRepository, type Repository } from '../../../src/host/repository.ts';

/** A request as the server saw it. */
export interface Seen {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  /** Of the answer; 0: the connection was cut. */
  status: number;
}

export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** What goes wrong: an answer in place of the real one, or the connection is cut before or after it was done. */
export type Fault = Answer | 'cut-before' | 'cut-after' | 'half';

interface PlannedFault {
  method: string;
  path: RegExp;
  fault: Fault;
  times: number;
}

export interface HostServer {
  url: string;
  requests: Seen[];
  /** Requests that were answered, by method and a part of the path. */
  seen(method: string, path: RegExp): Seen[];
  fail(method: string, path: RegExp, fault: Fault, times?: number): void;
  latencyMs: number;
  /** The most requests that were under way at once. */
  mostAtOnce: number;
  /** Called when a write was carried out, before it is answered. */
  onPost: (path: string) => void;
  close(): Promise<void>;
}

type Handle = (request: Seen) => Answer | Promise<Answer>;
type Raw = (request: IncomingMessage, response: ServerResponse, body: Buffer) => boolean;

/** A service on loopback: pages by Link, ETags, latency and faults; `handle` knows the rest. */
export async function startHost(handle: Handle, raw: Raw = () => false): Promise<HostServer> {
  const faults: PlannedFault[] = [];
  const requests: Seen[] = [];
  let underWay = 0;
  const server = http.createServer((request, response) => void answer(request, response));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const bytes = Buffer.concat(pieces);
    if (raw(request, response, bytes)) return;
    const url = new URL(request.url ?? '/', host.url);
    const seen: Seen = {
      method: request.method ?? 'GET',
      path: decodeURIComponent(url.pathname),
      query: Object.fromEntries(url.searchParams),
      headers: request.headers as Record<string, string>,
      body: bytes.length === 0 ? {} : (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>),
      status: 0,
    };
    requests.push(seen);
    underWay += 1;
    host.mostAtOnce = Math.max(host.mostAtOnce, underWay);
    if (host.latencyMs > 0) await sleep(host.latencyMs);
    underWay -= 1;
    const planned = faults.find(
      ({ method, path, times }) => times > 0 && method === seen.method && path.test(seen.path),
    );
    if (planned) planned.times -= 1;
    const fault = planned?.fault;
    if (fault === 'cut-before') return void request.socket.destroy();
    const { status = 200, headers = {}, body } = typeof fault === 'object' ? fault : await handle(seen);
    if (seen.method !== 'GET') host.onPost(seen.path);
    if (fault === 'cut-after') return void request.socket.destroy();
    seen.status = status;
    const text = body === undefined ? '' : JSON.stringify(body);
    const etag = `"${sha256(text).slice(0, 16)}"`;
    if (status === 200 && seen.method === 'GET' && request.headers['if-none-match'] === etag) {
      seen.status = 304;
      return void response.writeHead(304, { etag }).end();
    }
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      ...(status === 200 && seen.method === 'GET' ? { etag } : {}),
      ...(fault === 'half' ? { 'content-length': String(Buffer.byteLength(text)) } : {}),
      ...headers,
    });
    if (fault !== 'half') return void response.end(text);
    response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host: HostServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    latencyMs: 0,
    mostAtOnce: 0,
    onPost: () => undefined,
    seen: (method, path) => requests.filter((one) => one.method === method && path.test(one.path)),
    fail: (method, path, fault, times = 1) => void faults.push({ method, path, fault, times }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  onTestFinished(() => host.close());
  return host;
}

/** A repository there, without retries. */
export function connect(
  path: string,
  { token, ...options }: Pick<HostOptions, 'host' | 'apiUrl'> & Partial<Omit<HostOptions, 'token'>> & { token: string },
): Repository {
  const plain = { isApp: false, maxRetries: 0, maxWaitMs: 1_000, onWait: () => undefined };
  return createRepository({ ...plain, ...options, token: async () => new Secret(token) }, path);
}

/** One page of a list, with links to the others. */
export function pageOf<T>(all: readonly T[], { path, query }: Seen, base: string): Answer {
  const size = Math.min(100, Number(query['per_page'] ?? 30));
  const page = Number(query['page'] ?? 1);
  const last = Math.max(1, Math.ceil(all.length / size));
  const link = (to: number, rel: string): string => {
    const words = new URLSearchParams({ ...query, page: String(to) }).toString();
    return `<${base}${encodeURI(path)}?${words}>; rel="${rel}"`;
  };
  const links = [
    ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
    ...(page > 1 ? [link(page - 1, 'prev')] : []),
  ];
  return {
    headers: links.length === 0 ? {} : { link: links.join(', ') },
    body: all.slice((page - 1) * size, page * size),
  };
}
