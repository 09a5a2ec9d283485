import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AgentosError, systemCode, toErrorRecord, usageError } from '../../core/errors.ts';
import { parseJson, visibleJson } from '../../core/json.ts';
import { wordingOf } from '../../core/wording.ts';
import type { Project } from '../../run/project.ts';
import { createPages, maskAll } from '../data/pages.ts';
import { createActions, createHeldDecisions, type HeldOptions } from './actions.ts';
import { type Asset, loadAssets } from './assets.ts';
import { createLive } from './live.ts';
import { createSession, newToken, type Session } from './session.ts';

export interface PagesOptions extends Pick<HeldOptions, 'decideWith'> {
  project: Project;
  version: string;
  readOnly: boolean;
  /** Place flags for the programs that are started. */
  place: readonly string[];
}

/** The request handler of the dashboard. */
export interface Dashboard {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Records what is held, and ends. */
  close(): Promise<void>;
}

export interface UiOptions extends PagesOptions {
  host: string;
  /** Null: the usual port, or any free one. */
  port: number | null;
  /** Null: a new one. */
  token: string | null;
}

export interface UiServer {
  /** With the token in its fragment. */
  url: string;
  /** With a key that works once, for a command line, which other users of the machine can read. */
  oneTimeUrl(): string;
  /** Records what is held, and ends. */
  close(): Promise<void>;
}

/** Tried first, so that a bookmark keeps working. */
const USUAL_PORT = 7117;
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];
const LARGEST_BODY_BYTES = 64 << 10;

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export async function startUi(options: UiOptions): Promise<UiServer> {
  const { host } = options;
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 16 << 10 });
  const secret = options.token ?? newToken();
  const signIn = Promise.withResolvers<Session>();
  const dashboard = await createDashboard(options, signIn.promise);
  server.on('request', (request, response) => dashboard.handle(request, response));
  const address = await listen(server, host, options.port);
  const session = createSession({ token: secret, port: address.port, hosts: namesOf(host) });
  signIn.resolve(session);
  const named = host.includes(':') ? `[${host}]` : host;
  const at = `http://${isEverywhere(host) ? hostname() : named}:${address.port}/#token=`;
  return {
    url: `${at}${secret}`,
    oneTimeUrl: () => `${at}${session.oneTimeKey()}`,
    async close() {
      await dashboard.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

export async function createDashboard(
  { project, version, readOnly, place, decideWith }: PagesOptions,
  signIn: Session | Promise<Session>,
): Promise<Dashboard> {
  const { paths } = project;
  const mask = maskAll(project);
  const assets = await loadAssets();
  const pages = createPages({ project, version, readOnly, writtenAt: null });
  const live = createLive(pages, paths, mask);
  const held = createHeldDecisions(project, {
    ...(decideWith && { decideWith }),
    onHeld: (list) => live.tell('held', list),
    onSettled: (settled) => live.tell('settled', settled),
  });
  const act = createActions({ project, pages, held, place });

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const session = await signIn;
    const refusal = session.refusal(request);
    if (refusal !== null) return say(response, 403, refusal);
    const asset = assets.get(url.pathname);
    if (asset !== undefined && request.method === 'GET') return sendAsset(request, response, asset);
    const [, api, name = '', ...rest] = url.pathname.split('/');
    if (api !== 'api') return say(response, 404, 'There is no such page.');
    if (request.method === 'POST' && name === 'session') {
      const given = await readBody(request);
      const key = typeof given === 'object' && given !== null && 'token' in given ? String(given.token) : '';
      const cookie = session.cookieFor(key);
      if (cookie === null) return say(response, 401, 'The token is not the one that agentos ui printed.');
      response.setHeader('set-cookie', cookie);
      return sendJson(request, response, {}, mask);
    }
    if (!session.isSignedIn(request)) return say(response, 401, 'Open the address that agentos ui printed.');
    if (request.method === 'GET' && name === 'live') {
      live.attach(request, response, url.searchParams);
      return live.tell('held', held.list());
    }
    if (request.method === 'POST') {
      if (readOnly) return say(response, 403, 'This dashboard is read-only.');
      const answer = await act(name, await readBody(request));
      return answer === null
        ? say(response, 404, 'There is no such action.')
        : sendJson(request, response, answer, mask);
    }
    if (request.method !== 'GET') return say(response, 405, 'Only GET and POST.');
    const answer = await pages.get([name, ...rest].join('/'));
    return answer === null ? say(response, 404, 'Not found.') : sendJson(request, response, answer, mask);
  };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    serve(request, response).catch((error: unknown) => {
      const { problem } = toErrorRecord(error);
      const { message, hint } = wordingOf(problem);
      say(response, problem.code === 'internal' ? 500 : 409, mask([message, hint].filter(Boolean).join(' ')));
    });
  };
  // The first request of every page: the answer is prepared.
  void pages.overview().catch(() => undefined);

  return {
    handle,
    async close() {
      await held.flush();
      live.close();
    },
  };
}

function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function namesOf(host: string): string[] | null {
  if (isEverywhere(host)) return null;
  const named = host.includes(':') ? `[${host}]` : host.toLowerCase();
  return isLoopback(host) ? [...LOOPBACK, named] : [named];
}

/** Without a given port: the usual one, or any if that is taken. */
async function listen(
  server: ReturnType<typeof createServer>,
  host: string,
  port: number | null,
): Promise<AddressInfo> {
  const tryPort = (wanted: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(wanted, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  const refuse = (error: unknown): never => {
    const reason = systemCode(error) ?? String(error);
    throw new AgentosError({ code: 'ui-unreachable', host, port: port ?? USUAL_PORT, reason }, { cause: error });
  };
  await tryPort(port ?? USUAL_PORT).catch((error: unknown) =>
    port === null && systemCode(error) === 'EADDRINUSE' ? tryPort(0).catch(refuse) : refuse(error),
  );
  return server.address() as AddressInfo;
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw usageError('The request is not JSON.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_BODY_BYTES) throw usageError('The request is too large.');
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString('utf8'));
}

function say(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify({ error: text }));
}

function sendAsset(request: IncomingMessage, response: ServerResponse, { type, bytes, compressed, tag }: Asset): void {
  response.setHeader('etag', tag);
  response.setHeader('cache-control', 'no-cache');
  if (request.headers['if-none-match'] === tag) return void response.writeHead(304).end();
  const isCompressed = takesGzip(request);
  if (isCompressed) response.setHeader('content-encoding', 'gzip');
  response.writeHead(200, { 'content-type': type }).end(isCompressed ? compressed : bytes);
}

/** On the same machine, compressing takes longer than sending. */
function takesGzip({ headers, socket }: IncomingMessage): boolean {
  const from = (socket.remoteAddress ?? '').replace('::ffff:', '');
  return !isLoopback(from) && /\bgzip\b/.test(headers['accept-encoding'] ?? '');
}

async function sendJson(
  request: IncomingMessage,
  response: ServerResponse,
  value: unknown,
  mask: (text: string) => string,
): Promise<void> {
  const json = Buffer.from(mask(visibleJson(value)));
  const isCompressed = takesGzip(request);
  if (isCompressed) response.setHeader('content-encoding', 'gzip');
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(isCompressed ? await promisify(gzip)(json) : json);
}
