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

/** A real PostgreSQL in a folder of its own; null where this machine has none. Nothing is downloaded for a test. */
export async function testPostgres(): Promise<TestPostgres | null> {
  const folder = await mkdtemp(join(tmpdir(), 'agentos-postgres-'));
  // It runs as another user where the tests run as root.
  await chmod(folder, 0o711);
  const tls = createCertificate('test', new Date());
  // Without npm on the PATH there is no download.
  const env = { PATH: '/usr/bin:/bin' };
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
  let server: PostgresServer;
  try {
    server = await start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    process.stderr.write(`SKIPPED: no PostgreSQL for the tests of the hub (${String(error)})\n`);
    return null;
  }
  return {
    ...server,
    url: localUrl(server),
    async restart() {
      await server.stop();
      server = await start();
    },
    async stop() {
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
