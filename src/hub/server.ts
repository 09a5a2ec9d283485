import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { systemClock } from '../core/clock.ts';
import type { Fingerprint } from '../core/mask.ts';
import { tokensOf } from '../gateway/server.ts';
import { hashOfToken, type TlsPair } from './certificate.ts';
import type { Sql } from './database.ts';
import type { GitBackend } from './git-backend.ts';
import type { RunGateways } from './run-gateways.ts';

/** The machine that sends a request, as `<id> <token>`. */
export const MACHINE_HEADER = 'x-agentos-machine';
/** The hub can't answer now; the same request may work later. */
export const AWAY_HEADER = 'x-agentos-away';
export const FACTS_PATH = '/agentos/hub';
export const FORGET_PATH = '/agentos/forget';

/** Facts for machines that are not in the database. */
export interface HubFacts {
  version: string;
  /** Vendors that the hub has a key for. */
  vendors: readonly string[];
  /** Enough to recognise and mask a key that a vendor echoes. */
  fingerprints: readonly Fingerprint[];
}

interface HubServerOptions {
  host: string;
  port: number;
  tls: TlsPair;
  sql: Sql;
  gateways: RunGateways;
  git: GitBackend;
  facts: HubFacts;
  /** Serves the dashboard to callers that are not machines. Returns false if there is none. */
  pages: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface HubServer {
  port: number;
  close(): Promise<void>;
}

/** What a token currently permits. */
interface Grant {
  repository: string;
  run: string;
  /** Null: the token is a submitter's. */
  item: { id: number; key: string; stage: number } | null;
}

const GIT_PATH = /^\/git\/([0-9a-f]{40,64})(\/.*)$/;

/** The hub's server. Every request of a machine carries the machine's token, and that of the item or run that it is about. */
export async function startHubServer(options: HubServerOptions): Promise<HubServer> {
  const { tls, host, gateways, git, facts, sql, pages } = options;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = URL.parse(request.url ?? '/', 'https://hub');
    if (url === null) return refuse(response, 400, 'not a URL');
    const machine = request.headers[MACHINE_HEADER];
    if (typeof machine !== 'string') {
      if (!pages(request, response)) refuse(response, 401, 'this is a hub of agentos, for machines');
      return;
    }
    const { isKnown, grant } = await askerOf(sql, machine, tokensOf(request.headers, url));
    if (!isKnown) return refuse(response, 403, 'this machine is not known, or was revoked');
    if (url.pathname === FACTS_PATH) return sendJson(response, facts);
    if (grant === null) return refuse(response, 401, 'the token is not known, or its claim is over');
    if (url.pathname === FORGET_PATH) {
      if (grant.item !== null) gateways.forget(grant.run, grant.item.id);
      return sendJson(response, {});
    }
    const [, repository, path] = GIT_PATH.exec(url.pathname) ?? [];
    if (repository !== undefined && path !== undefined) {
      if (repository !== grant.repository) return refuse(response, 403, 'the token is for another repository');
      await git.open(repository);
      const mayPush = grant.item === null ? [`refs/agentos/runs/${grant.run}/`] : refsOf(grant.item);
      return git.serve(request, response, { repository, path, query: url.search.slice(1), user: grant.run, mayPush });
    }
    const { item } = grant;
    if (item === null) return refuse(response, 403, 'the token of a run is not for models');
    const { gateway, settings } = await gateways.of(grant.run);
    const deadlineMs = systemClock.now() + settings.bounds.timeoutMs;
    const models = settings.stages[item.stage]?.models ?? [];
    await gateway.handle(request, response, () => ({ item: String(item.id), models, deadlineMs }));
  };

  const server: Server = createServer(
    { cert: tls.certificate, key: tls.key, minVersion: 'TLSv1.2' },
    (request, response) => {
      response.on('error', () => undefined);
      serve(request, response).catch(() => {
        // For example, the database is away.
        if (response.headersSent) response.destroy();
        else refuse(response, 503, 'the hub can not tell now', { [AWAY_HEADER]: '1' });
      });
    },
  );
  server.keepAliveTimeout = 120_000;
  server.on('clientError', (_, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port, host, backlog: 1024 }, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The refs that an item's machine may push: states of the worktree, and the branch. */
function refsOf({ key }: NonNullable<Grant['item']>): string[] {
  return [`refs/agentos/items/${key}/`];
}

interface Asker {
  isKnown: boolean;
  grant: Grant | null;
}

/** Whether the machine is known, and what the tokens currently permit. */
async function askerOf(sql: Sql, machine: string, tokens: readonly string[]): Promise<Asker> {
  const [id = '', token = ''] = machine.split(' ');
  const [row] = await sql.rows<{
    isKnown: boolean;
    item: Grant['item'] & { id: number | null };
    run: string | null;
    repository: string | null;
  }>(
    `SELECT m.id IS NOT NULL AS "isKnown", json_build_object('id', i.id, 'key', i.key, 'stage', i.stage) AS item,
        coalesce(i.run, r.id) AS run, coalesce(i.repository, r.repository) AS repository
      FROM (SELECT 1) AS one
      LEFT JOIN agentos.machines m ON m.id = $1 AND m.token_hash = $2 AND m.revoked_at IS NULL
      LEFT JOIN agentos.items i ON i.token_hash = ANY($3) AND i.state = 'running'
      LEFT JOIN agentos.runs r ON r.token_hash = ANY($3) LIMIT 1`,
    [id, hashOfToken(token), tokens.map(hashOfToken)],
  );
  if (row === undefined || row.run === null || row.repository === null)
    return { isKnown: row?.isKnown ?? false, grant: null };
  const { isKnown, item, run, repository } = row;
  return { isKnown, grant: { run, repository, item: item.id === null ? null : item } };
}

function refuse(response: ServerResponse, status: number, reason: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'text/plain', connection: 'close', ...headers });
  response.end(`${reason}\n`);
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
