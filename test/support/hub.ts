import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../src/hub/database.ts';
import { migrate } from '../../src/hub/migrations.ts';
import { type Ended, type Started, startAgentos } from './program.ts';

export interface TestHub {
  database: Database;
  url: string;
  program(): Started;
  port(): number;
  /** Starts it again after it was ended, on the same port. */
  start(): Promise<void>;
  machine(name: string, options?: MachineOptions): Promise<TestMachine>;
  /** Ends all that it started. */
  close(): Promise<void>;
}

interface MachineOptions {
  parallel?: number;
  flags?: string[];
  env?: Record<string, string>;
  /** Instead of the hub's own, for a proxy in between. */
  url?: string;
}

export interface TestMachine {
  name: string;
  program: Started;
  base: string;
  stop(signal: NodeJS.Signals): Promise<Ended>;
}

interface HubOptions {
  /** A database of its own. */
  url: string;
  /** For its state, and that of its machines. */
  folder: string;
  env: Record<string, string>;
  lease?: string;
  flags?: string[];
}

/** A hub on a real PostgreSQL, and machines with homes and state folders of their own; all as the built program. */
export async function startTestHub({ url, folder, env, lease = '6s', flags = [] }: HubOptions): Promise<TestHub> {
  const database = openDatabase(url, { application: 'test', connections: 2 });
  await migrate(database, 'test');
  const started: Started[] = [];
  let port = '0';
  let program: Started;
  const launch = (args: string[], name: string, more: Record<string, string>): Started => {
    const home = join(folder, `home-${name}`);
    const one = startAgentos(args, { cwd: folder, env: { ...more, HOME: home } });
    started.push(one);
    return one;
  };
  const start = async (): Promise<void> => {
    const where = ['--host', '127.0.0.1', '--port', port, '--lease', lease, '--base-dir', join(folder, 'hub-state')];
    program = launch(['hub', ...where, ...flags], 'hub', { ...env, AGENTOS_DATABASE_URL: url });
    await program.printed('A machine joins with');
    port = /listens on port (\d+)/.exec(program.stdout())?.[1] ?? port;
  };
  await mkdir(folder, { recursive: true });
  await start();
  return {
    database,
    url,
    program: () => program,
    port: () => Number(port),
    start,
    async machine(name, options = {}) {
      const base = join(folder, `machine-${name}`);
      const args = ['worker', '--parallel', String(options.parallel ?? 2), '--name', name, '--base-dir', base];
      const worker = launch([...args, ...(options.flags ?? [])], name, {
        ...options.env,
        AGENTOS_DATABASE_URL: options.url ?? url,
      });
      await worker.printed('joined as');
      return {
        name,
        program: worker,
        base,
        stop(signal) {
          worker.child.kill(signal);
          return worker.ended;
        },
      };
    },
    async close() {
      for (const { child } of started.toReversed()) child.kill('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      await database.close();
    },
  };
}
