import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../core/errors.ts';
import { makeFolder } from '../process/files.ts';
import { isProcessAlive } from '../process/process-tree.ts';
import { openDatabase } from './database.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { keptSecret } from './secret-file.ts';

interface PostgresOptions {
  /** The folder for binaries, data, log and password. */
  folder: string;
  /** The state folder around it. If PostgreSQL runs as another user, that user must be able to pass through. */
  base: string;
  /** PostgreSQL's setting listen_addresses. */
  listen: string;
  /** Encrypts connections from other machines. */
  tls: { certificate: string; key: string };
  env: Record<string, string>;
  signal: AbortSignal;
  onLine: (line: string) => void;
}

/** A PostgreSQL server that the hub started. */
export interface PostgresServer {
  pid: number;
  port: number;
  password: string;
  /** Where the binaries come from. */
  origin: string;
  stop(): Promise<void>;
}

const START_MS = 60_000;
const STOP_MS = 30_000;
const LOOK_EVERY_MS = 50;

/**
 * Starts PostgreSQL with its data in the folder, which is created at the first start. The server outlives a kill of the hub: the next start
 * finds it running and takes it over. If we are root, the server runs as another user, because it refuses to run as root.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { folder, env, signal, onLine } = options;
  await makeFolder(folder);
  const data = join(folder, 'data');
  const version = await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => null);
  const major = version === null ? null : Number.parseInt(version, 10);
  const { bin, origin } = await postgresBinaries({ folder: join(folder, 'binaries'), major, env, signal, onLine });
  const user = await otherUser();
  if (user !== null) await letThrough(options, user.gid);
  const password = await keptSecret(join(folder, 'password'), () => randomBytes(18).toString('base64url'));
  if (major === null) await createData({ bin, data, password, user, ...options });
  const port = Number(await keptSecret(join(folder, 'port'), async () => String(await freePort())));
  const running = await processOf(data);
  const child = running === null ? await spawnServer({ bin, data, port, user, ...options }) : null;
  const pid = running ?? child?.pid;
  if (pid === undefined) throw failed('it could not be started');
  await reachable({ port, password, folder, child, signal });
  return { pid, port, password, origin, stop: () => stopProcess(pid) };
}

export function localUrl({ port, password }: Pick<PostgresServer, 'port' | 'password'>, database = 'agentos'): string {
  return `postgres://agentos:${password}@127.0.0.1:${port}/${database}`;
}

type User = { uid: number; gid: number } | null;

/** The user to run as. Null: the current user. */
async function otherUser(): Promise<User> {
  if (process.getuid?.() !== 0) return null;
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw failed('it refuses to run as root, and there is no user postgres or nobody to run it as');
}

/** Lets the group pass through the state folder without listing or reading it. Folders above it are not ours to change. */
async function letThrough({ base, folder }: PostgresOptions, gid: number): Promise<void> {
  for (let at = folder; at.startsWith(base); at = dirname(at)) {
    await chown(at, process.getuid?.() ?? 0, gid);
    await chmod(at, 0o710);
  }
}

interface Place extends PostgresOptions {
  bin: string;
  data: string;
  user: User;
}

async function createData({
  bin,
  data,
  folder,
  password,
  user,
  env,
  signal,
}: Place & { password: string }): Promise<void> {
  await makeFolder(data);
  const passwordFile = join(data, '..', 'initdb-password');
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user !== null) for (const path of [data, passwordFile]) await chown(path, user.uid, user.gid);
  const words = ['-D', data, '-U', 'agentos', '-A', 'scram-sha-256', '--encoding=UTF8', '--locale=C'];
  const child = spawn(join(bin, 'initdb'), [...words, `--pwfile=${passwordFile}`], {
    cwd: folder,
    env,
    signal,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...user,
  });
  const errors = await output(child);
  await rm(passwordFile, { force: true });
  if (child.exitCode === 0) return;
  await rm(data, { recursive: true, force: true });
  const reason = /.*(?:error|could not|denied|cannot).*/i.exec(errors)?.[0] ?? errors.trim();
  throw failed(user === null ? reason : `${reason} (run as user ${user.uid}, which has to be able to reach ${folder})`);
}

async function output(child: ChildProcess): Promise<string> {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  await new Promise<void>((resolve) => {
    child.on('close', () => resolve());
    child.on('error', (error) => {
      text += error.message;
      resolve();
    });
  });
  return text;
}

async function spawnServer({
  bin,
  data,
  port,
  user,
  listen,
  tls,
  folder,
  env,
}: Place & { port: number }): Promise<ChildProcess> {
  const files = { 'server.crt': tls.certificate, 'server.key': tls.key };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(data, name), text, { mode: 0o600 });
    if (user !== null) await chown(join(data, name), user.uid, user.gid);
  }
  // Every connection needs the password; connections from other machines need encryption too.
  const rules = [
    'host all all 127.0.0.1/32 scram-sha-256',
    'host all all ::1/128 scram-sha-256',
    'hostssl all all all scram-sha-256',
  ];
  await writeFile(join(data, 'pg_hba.conf'), `${rules.join('\n')}\n`);
  const settings = {
    port,
    listen_addresses: listen,
    unix_socket_directories: '',
    max_connections: 500,
    ssl: 'on',
    ssl_cert_file: 'server.crt',
    ssl_key_file: 'server.key',
  };
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // A file, not a pipe: the server may outlive us.
  const log = await open(join(folder, 'log'), 'a', 0o600);
  const child = spawn(join(bin, 'postgres'), ['-D', data, ...words], {
    cwd: data,
    env,
    // A process group of its own: Ctrl+C goes to the hub, which stops the server last.
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    ...user,
  });
  child.on('error', () => undefined);
  child.unref();
  await log.close();
  return child;
}

/** The server process that uses the data, or null. */
async function processOf(data: string): Promise<number | null> {
  const pid = Number((await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0]);
  return Number.isInteger(pid) && pid > 0 && isProcessAlive(pid) ? pid : null;
}

interface Reached extends Pick<PostgresOptions, 'folder' | 'signal'> {
  port: number;
  password: string;
  child: ChildProcess | null;
}

async function reachable({ port, password, folder, child, signal }: Reached): Promise<void> {
  const database = openDatabase(localUrl({ port, password }, 'postgres'), {
    application: 'agentos hub',
    connections: 1,
  });
  let why: unknown = null;
  try {
    for (const until = performance.now() + START_MS; performance.now() < until; ) {
      signal.throwIfAborted();
      if (child !== null && (child.exitCode !== null || child.signalCode !== null)) break;
      try {
        const [there] = await database.rows(`SELECT 1 FROM pg_database WHERE datname = 'agentos'`);
        if (there === undefined) await database.rows('CREATE DATABASE agentos');
        return;
      } catch (error) {
        why = error;
      }
      await sleep(LOOK_EVERY_MS);
    }
  } finally {
    await database.close();
  }
  const log = await readFile(join(folder, 'log'), 'utf8').catch(() => '');
  const last = log.split('\n').findLast((line) => /FATAL|ERROR/.test(line));
  throw failed(last ?? (why instanceof Error ? why.message : 'it does not answer'));
}

/** A fast shutdown: transactions are rolled back, and the next start has nothing to recover. */
async function stopProcess(pid: number): Promise<void> {
  if (!isProcessAlive(pid)) return;
  process.kill(pid, 'SIGINT');
  for (const until = performance.now() + STOP_MS; isProcessAlive(pid) && performance.now() < until; )
    await sleep(LOOK_EVERY_MS);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

function failed(reason: string): AgentosError {
  return new AgentosError({ code: 'postgres-failed', reason });
}
