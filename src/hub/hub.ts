import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../core/config.ts';
import { AgentosError, systemCode } from '../core/errors.ts';
import { fingerprintsOf } from '../core/mask.ts';
import { trustCertificates } from '../models/settings.ts';
import { keysRecord, limitsIn, parseKeys } from '../run/keys-file.ts';
import { createCertificate, fingerprintOf, type TlsPair } from './certificate.ts';
import { type Database, openDatabase, type Session } from './database.ts';
import { createGitBackend } from './git-backend.ts';
import { appendPoolEvent, createEventWriter } from './item-events.ts';
import { migrate, requireSchema } from './migrations.ts';
import { keepListening } from './notices.ts';
import { localUrl, type PostgresServer, startPostgres } from './postgres-server.ts';
import { createRunGateways } from './run-gateways.ts';
import { startScheduler } from './scheduler.ts';
import { keptSecret, writeSecret } from './secret-file.ts';
import { startHubServer } from './server.ts';

export interface HubOptions {
  /** Null: the hub starts its own PostgreSQL. */
  databaseUrl: string | null;
  /** The state folder. */
  base: string;
  host: string;
  port: number;
  /** URLs under which machines reach the hub. Empty: this machine's own addresses. */
  addresses: readonly string[];
  /** Certificate files. Null: created at the first start. */
  tls: { certificate: string; key: string } | null;
  leaseMs: number;
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  /** The part of the environment that child processes may see. */
  childEnv: Record<string, string>;
  version: string;
  /** Opens the dashboard, which the hub's server serves. Null: no dashboard. */
  openPages: ((at: { databaseUrl: string; port: number }) => Promise<HubPages>) | null;
  /** Ends the hub. */
  stop: AbortSignal;
  onLine: (line: string) => void;
}

/** A dashboard without a server of its own. */
export interface HubPages {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** The file that holds the token for people. */
  tokenFile: string;
  close(): Promise<void>;
}

/** The advisory lock of the one hub of a database. */
const HUB_LOCK = 0x6167_6875;
const BEAT_MS = 2_000;
const KEYS_EVERY_MS = 5_000;

/** Serves database, keys and repository to several machines until it is stopped. */
export async function runHub(options: HubOptions): Promise<void> {
  const { base, host, config, env, childEnv, version, stop, leaseMs, onLine } = options;
  const folder = join(base, 'hub');
  const tls = await tlsPair(options, folder);
  await using resources = new AsyncDisposableStack();
  const { url, server: postgres } = await databaseOf(options, folder, tls);
  if (postgres !== null) resources.defer(() => postgres.stop());
  const database = openDatabase(url, { application: 'agentos hub', connections: 12 });
  resources.defer(() => database.close());
  if (postgres === null) await requireSchema(database);
  else await migrate(database, version);

  const ended = new AbortController();
  const signal = AbortSignal.any([stop, ended.signal]);
  let offsetMs = await clockOffset(database);
  const timestamp = (): string => new Date(Date.now() + offsetMs).toISOString();
  const locked = Promise.withResolvers<void>();
  let poke = (): void => undefined;
  const notices = keepListening(database, {
    channels: ['agentos_hub'],
    signal,
    onSession: (session) =>
      takeLock(session, database.name, stop).then(locked.resolve, (error: unknown) => {
        locked.reject(error);
        ended.abort(error);
      }),
    onNotice: () => poke(),
  });
  await locked.promise;
  const distrust = trustCertificates(env);
  if (distrust !== null) onLine(distrust);

  const events = createEventWriter(database.patient(signal), `hub ${process.pid} ${Date.now()}`);
  const [known] = await database.rows<{ keys: unknown }>('SELECT keys FROM agentos.hub');
  const gateways = createRunGateways({
    sql: database,
    config,
    env,
    remembered: limitsIn(parseKeys(known?.keys)),
    events,
    timestamp,
    onPool: (event) => {
      void appendPoolEvent(database, event).catch(() => undefined);
      void beat().catch(() => undefined);
    },
  });
  resources.defer(() => gateways.close());
  const git = createGitBackend(join(folder, 'repositories'), childEnv);
  const facts = {
    version,
    vendors: gateways.vendors,
    fingerprints: fingerprintsOf(config.keys.map((key) => key.secret.reveal())),
  };
  let pages: HubPages | null = null;
  const showPages = (request: IncomingMessage, response: ServerResponse): boolean => {
    pages?.handle(request, response);
    return pages !== null;
  };
  const served = { tls, sql: database, gateways, git, facts, pages: showPages };
  const server = await startHubServer({ host, port: options.port, ...served });
  resources.defer(() => server.close());

  let said = { keys: '', at: -KEYS_EVERY_MS };
  const beat = async (): Promise<void> => {
    const keys = gateways.keys();
    const text = JSON.stringify(keys);
    // With a thousand keys this is long, and rarely changes.
    const isNews = text !== said.keys && performance.now() - said.at > KEYS_EVERY_MS;
    if (isNews) said = { keys: text, at: performance.now() };
    await database.rows(
      'UPDATE agentos.hub SET seen_at = clock_timestamp(), exhausted = $1, keys = coalesce($2, keys)',
      [gateways.isExhausted(), isNews ? JSON.stringify(keysRecord(keys)) : null],
    );
  };
  const addresses = options.addresses.length > 0 ? [...options.addresses] : addressesOf(host, server.port);
  await database.rows(
    `INSERT INTO agentos.hub (addresses, certificate, fingerprint, version, lease_ms, started_at, seen_at)
      VALUES ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp())
      ON CONFLICT (one) DO UPDATE SET addresses = excluded.addresses, certificate = excluded.certificate,
        fingerprint = excluded.fingerprint, version = excluded.version, lease_ms = excluded.lease_ms,
        started_at = excluded.started_at, seen_at = excluded.seen_at, exhausted = false`,
    [addresses, tls.certificate, fingerprintOf(tls.certificate), version, leaseMs],
  );
  const scheduler = startScheduler({
    database,
    git,
    timestamp,
    onItemEnded: (run, item) => gateways.forget(run, item),
    onRunEnded: (run) => gateways.drop(run),
    onLine,
    signal,
  });
  poke = () => scheduler.poke();
  onLine(
    `listens on port ${server.port}, for machines on ${addresses.join(', ')}; database ${database.name}; keys for ${gateways.vendors.join(', ') || 'no vendor'}`,
  );
  const opened = (await options.openPages?.({ databaseUrl: url, port: server.port })) ?? null;
  pages = opened;
  if (opened !== null) {
    resources.defer(() => opened.close());
    onLine(`dashboard: ${addresses[0]}/#token=…, with the token in ${opened.tokenFile}`);
  }
  onLine(`A machine joins with: ${await joinLine(options, postgres, folder, url)}`);

  while (!signal.aborted) {
    await sleep(BEAT_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    await beat().catch(() => undefined);
    offsetMs = await clockOffset(database).catch(() => offsetMs);
  }
  if (stop.aborted) onLine('stopping: machines wait for the hub, and stop what they do when their lease ends');
  ended.abort(stop.reason);
  await scheduler.closed;
  await notices.closed;
  if (!stop.aborted) throw ended.signal.reason;
}

async function tlsPair({ tls }: HubOptions, folder: string): Promise<TlsPair> {
  if (tls === null) {
    const text = await keptSecret(join(folder, 'tls.json'), () =>
      JSON.stringify(createCertificate('agentos hub', new Date())),
    );
    return JSON.parse(text) as TlsPair;
  }
  const read = (file: string): Promise<string> =>
    readFile(file, 'utf8').catch((error: unknown) => {
      throw new AgentosError({ code: 'config-unreadable', file, reason: systemCode(error) ?? String(error) });
    });
  return { certificate: await read(tls.certificate), key: await read(tls.key) };
}

async function databaseOf(
  { databaseUrl, base, host, childEnv, stop, onLine }: HubOptions,
  folder: string,
  tls: TlsPair,
): Promise<{ url: string; server: PostgresServer | null }> {
  if (databaseUrl !== null) return { url: databaseUrl, server: null };
  const listen = host === '0.0.0.0' || host === '::' ? '*' : host;
  const server = await startPostgres({
    folder: join(folder, 'postgres'),
    base,
    listen,
    tls,
    env: childEnv,
    signal: stop,
    onLine,
  });
  onLine(
    `PostgreSQL of its own (${server.origin}) on port ${server.port}, data in ${join(folder, 'postgres', 'data')}`,
  );
  return { url: localUrl(server), server };
}

/** How far the database's clock is ahead of ours. */
async function clockOffset(database: Database): Promise<number> {
  const [row] = await database.rows<{ now: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  return (row?.now ?? Date.now()) - Date.now();
}

/** After the connection broke, the database may keep the old session and its lock for a while. */
const LOCK_WITHIN_MS = 20_000;
const FIRST_LOCK_WITHIN_MS = 2_000;
let hasHadLock = false;

/** Throws if another hub uses the database. */
async function takeLock(session: Session, database: string, stop: AbortSignal): Promise<void> {
  const until = performance.now() + (hasHadLock ? LOCK_WITHIN_MS : FIRST_LOCK_WITHIN_MS);
  while (!stop.aborted) {
    const [row] = await session.rows<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [HUB_LOCK]);
    if (row?.taken === true) {
      hasHadLock = true;
      return;
    }
    if (performance.now() > until) throw new AgentosError({ code: 'hub-running', database });
    await sleep(200);
  }
}

function addressesOf(host: string, port: number): string[] {
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const reached = own.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address);
  const hosts =
    host === '0.0.0.0' || host === '::' ? [...reached, '127.0.0.1'] : [host.includes(':') ? `[${host}]` : host];
  return hosts.map((one) => `https://${one}:${port}`);
}

/** The command for a new machine, without the password. */
async function joinLine(
  { host, addresses }: HubOptions,
  postgres: PostgresServer | null,
  folder: string,
  url: string,
): Promise<string> {
  if (postgres === null) {
    const shown = new URL(url);
    shown.password = '';
    return `agentos worker --database ${shown.href}   (with the password, or in PGPASSWORD)`;
  }
  const [first = ''] = [...addresses, ...addressesOf(host, postgres.port)].map((address) => new URL(address).hostname);
  const file = join(folder, 'database-url');
  const target = `${first}:${postgres.port}/agentos?sslmode=require`;
  await writeSecret(file, `postgres://agentos:${postgres.password}@${target}`);
  return `AGENTOS_DATABASE_URL="$(cat ${file})" agentos worker   (copy the file to other machines: it holds the password)`;
}
