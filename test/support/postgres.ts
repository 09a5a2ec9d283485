import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificate } from '../../src/hub/certificate.ts';
import { openDatabase } from '../../src/hub/database.ts';
import { migrate } from '../../src/hub/migrations.ts';
import { localUrl, type PostgresServer, startPostgres } from '../../src/hub/postgres-server.ts';

export interface TestPostgres extends PostgresServer {
  url: string;
  /** Stops it and starts it again on the same data and port. */
  restart(): Promise<void>;
}

/** Whether this machine has a PostgreSQL to test with; said once where it has none. Nothing is downloaded for a test. */
export function hasPostgres(): boolean {
  const debian = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
  const isHere = debian.length > 0 || existsSync('/usr/bin/initdb') || existsSync('/usr/local/bin/initdb');
  if (!isHere)
    process.stderr.write(
      'SKIPPED: there is no PostgreSQL here for the tests of the hub (apt-get install postgresql)\n',
    );
  return isHere;
}

/** A real PostgreSQL in a folder of its own, until it is stopped or this process ends. */
export async function testPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'agentos-postgres-'));
  // It runs as another user where the tests run as root.
  await chmod(folder, 0o711);
  const tls = createCertificate('test', new Date());
  // Without npm on the PATH there is no download.
  const env = { PATH: '/usr/bin:/bin:/usr/local/bin' };
  const start = () =>
    startPostgres({
      folder: join(folder, 'postgres'),
      base: join(folder, 'postgres'),
      listen: '127.0.0.1',
      tls,
      env,
      signal: new AbortController().signal,
      onLine: () => undefined,
    });
  let server = await start();
  const onExit = (): void => {
    process.kill(server.pid, 'SIGQUIT');
  };
  process.once('exit', onExit);
  return {
    ...server,
    url: localUrl(server),
    async restart() {
      await server.stop();
      server = await start();
    },
    async stop() {
      process.off('exit', onExit);
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

let databases = 0;

/** A database of its own on the server, with our schema. */
export async function freshDatabase(postgres: TestPostgres, { isMigrated = true } = {}): Promise<string> {
  databases += 1;
  const name = `test_${process.pid}_${databases}`;
  const admin = openDatabase(postgres.url, { application: 'test', connections: 1 });
  await admin.rows(`CREATE DATABASE ${name}`);
  await admin.close();
  const url = postgres.url.replace(/\/agentos$/, `/${name}`);
  if (isMigrated) {
    const database = openDatabase(url, { application: 'test', connections: 1 });
    await migrate(database, 'test');
    await database.close();
  }
  return url;
}
