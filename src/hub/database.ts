import { accessSync, constants } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { AgentosError, usageError } from '../core/errors.ts';

/** Values of a statement. JSON values are passed as strings. */
export type Values = readonly unknown[];

export interface Sql {
  rows<Row>(text: string, values?: Values): Promise<Row[]>;
}

/**
 * A few connections to one database. A statement outside a transaction that fails because the connection broke may or may not have taken
 * effect: statements that are repeated must be idempotent.
 */
export interface Database extends Sql {
  /** Host, port and name: safe to show. */
  readonly name: string;
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** Runs statements, and waits while the database is unreachable until the signal fires. */
  patient(signal: AbortSignal): Sql;
  /** A separate connection, for session locks and notices. */
  session(): Promise<Session>;
  close(): Promise<void>;
}

export interface Session extends Sql {
  onNotice(listener: (channel: string, payload: string) => void): void;
  /** Resolves when the connection is gone. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

interface DatabaseOptions {
  /** The application name that PostgreSQL shows for the connections. */
  application: string;
  connections: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** A network that drops packets in silence must be noticed well within a lease. */
const STATEMENT_TIMEOUT_MS = 15_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;

/** Connects at the first statement. */
export function openDatabase(url: string, { application, connections }: DatabaseOptions): Database {
  const { name, settings } = readDatabaseUrl(url);
  const config = {
    ...settings,
    application_name: application,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
  const pool = new pg.Pool({ ...config, max: connections, allowExitOnIdle: true });
  // An idle connection broke; the next statement opens another one.
  pool.on('error', () => undefined);

  const rows = async <Row>(text: string, values: Values = []): Promise<Row[]> => {
    try {
      return (await pool.query(text, [...values])).rows as Row[];
    } catch (error) {
      throw problemOf(name, error);
    }
  };

  return {
    name,
    rows,
    async transaction(work) {
      const client = await pool.connect().catch((error: unknown) => {
        throw problemOf(name, error);
      });
      let broken = true;
      try {
        await client.query('BEGIN');
        const result = await work(sqlOf(name, client));
        await client.query('COMMIT');
        broken = false;
        return result;
      } catch (error) {
        if (isSaid(error))
          broken = await client.query('ROLLBACK').then(
            () => false,
            () => true,
          );
        throw problemOf(name, error);
      } finally {
        client.release(broken);
      }
    },
    patient: (signal) => ({
      rows: <Row>(text: string, values?: Values) => patiently(signal, () => rows<Row>(text, values)),
    }),
    async session() {
      const client = new pg.Client(config);
      const gone = Promise.withResolvers<void>();
      client.on('error', () => gone.resolve());
      client.on('end', () => gone.resolve());
      await client.connect().catch((error: unknown) => {
        throw problemOf(name, error);
      });
      return {
        ...sqlOf(name, client),
        onNotice: (listener) =>
          void client.on('notification', ({ channel, payload }) => listener(channel, payload ?? '')),
        ended: gone.promise,
        close: () => client.end().catch(() => undefined),
      };
    },
    close: () => pool.end(),
  };
}

function sqlOf(name: string, client: pg.ClientBase): Sql {
  return {
    async rows<Row>(text: string, values: Values = []) {
      try {
        return (await client.query(text, [...values])).rows as Row[];
      } catch (error) {
        throw problemOf(name, error);
      }
    },
  };
}

/** Repeats work that failed because the database was unreachable, until the signal fires. */
export async function patiently<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!isAway(error)) throw error;
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

export function isAway(error: unknown): boolean {
  return error instanceof AgentosError && error.code === 'database-unreachable';
}

/** The server reported the error, so the connection works. */
function isSaid(error: unknown): boolean {
  return !(error instanceof AgentosError) || !isAway(error);
}

/** SQLSTATEs of a server that shuts down, starts, or has no connection left, and of transactions that conflict. */
const PASSING = /^(?:08|57P0|53300|40001|40P01|25006)/;
/** SQLSTATEs of a wrong password, a missing role or database, or a missing privilege. */
const REFUSED = /^(?:28|3D000|42501)/;

const NO_PASSWORD = 'it asks for a password, and none was given or it is not the right one';

function problemOf(database: string, error: unknown): unknown {
  if (error instanceof AgentosError) return error;
  const reason = error instanceof Error ? error.message || nameOf(error) : String(error);
  if (error instanceof pg.DatabaseError) {
    const state = error.code ?? '';
    if (REFUSED.test(state)) return new AgentosError({ code: 'database-refused', database, reason }, { cause: error });
    if (!PASSING.test(state)) return error;
  } else if (!(error instanceof Error) || error instanceof TypeError) return error;
  // The driver has neither a code nor a class for it.
  else if (reason.startsWith('SASL'))
    return new AgentosError({ code: 'database-refused', database, reason: NO_PASSWORD }, { cause: error });
  return new AgentosError({ code: 'database-unreachable', database, reason }, { retry: 'transient', cause: error });
}

/** Node's error for several failed addresses has an empty message. */
function nameOf(error: Error): string {
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : error.name;
}

const INT8 = 20;

/** Our bigint columns stay far below Number.MAX_SAFE_INTEGER. */
function getTypeParser(oid: number, format?: 'text' | 'binary'): unknown {
  return oid === INT8 ? Number : pg.types.getTypeParser(oid, format);
}

/** Never puts the URL into an error: it holds the password. */
function readDatabaseUrl(text: string): { name: string; settings: pg.ClientConfig } {
  const url = URL.parse(text);
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol) || url.hostname === '') {
    throw usageError(
      'The database is not a URL such as postgres://user@host:5432/agentos.',
      'The password can be part of it, or in the variable PGPASSWORD.',
    );
  }
  checkTlsOptions(url.searchParams);
  const name = `${url.hostname}:${url.port || '5432'}${url.pathname || '/'}`;
  // sslmode means what it means to libpq; the driver's own meaning differs and is about to change.
  if (url.searchParams.has('sslmode') && !url.searchParams.has('uselibpqcompat'))
    url.searchParams.set('uselibpqcompat', 'true');
  return { name, settings: { connectionString: url.href } };
}

const TLS_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** The driver would report these mistakes as a database that can't be reached. */
function checkTlsOptions(options: URLSearchParams): void {
  const mode = options.get('sslmode');
  if (mode !== null && !TLS_MODES.includes(mode))
    throw usageError(`sslmode=${mode} is not supported.`, `Use one of: ${TLS_MODES.join(', ')}`);
  if (mode === 'verify-ca' && !options.has('sslrootcert'))
    throw usageError(
      'sslmode=verify-ca needs the certificate of the authority.',
      'Add &sslrootcert=<file> to the URL.',
    );
  for (const option of ['sslrootcert', 'sslcert', 'sslkey']) {
    const file = options.get(option);
    if (file === null) continue;
    try {
      accessSync(file, constants.R_OK);
    } catch {
      throw usageError(
        `The file ${file} of ${option} can't be read.`,
        'Correct it in --database or AGENTOS_DATABASE_URL.',
      );
    }
  }
}
