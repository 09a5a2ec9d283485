import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MODELS, useFaultyHub } from '../support/faulty-hub.ts';
import { ISSUE } from '../support/models.ts';
import { hasPostgres } from '../support/postgres.ts';
import { processesWith } from '../support/processes.ts';
import { agentos, type Started, startAgentos } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';

const isPossible = hasPostgres();

// Outages, and what takes longer than a lease: npm run faults.
describe.skipIf(!isPossible)('when something breaks', () => {
  const net = useFaultyHub('7s');

  test('a machine that is killed: its item runs elsewhere, and the call in flight is not paid again', async () => {
    const { repository, program, pair, release } = await net.bothBusy('11', '12');
    const [, near] = pair;
    const mine = near.program.stdout().includes('[LLD-11]') ? '11' : '12';
    near.program.child.kill('SIGKILL');
    const third = await net.hub.machine('third', { parallel: 2 });
    net.machines.push(third);
    await third.program.printed(`[LLD-${mine}] claimed`);
    release();
    const stdout = await net.endsWell(program, repository, ['11', '12']);
    expect(stdout).toContain('was lost; another one resumes it');
    expect([...net.callsFor('11'), ...net.callsFor('12')].toSorted()).toEqual(['draft', 'draft', 'review', 'review']);
  });

  test('a revoked machine is refused, and its item goes elsewhere', async () => {
    const repository = await testRepository({ 71: ISSUE });
    const release = net.hold('71');
    const [far, near] = await net.twoMachines();
    const program = net.start(repository, 'lld', '71', ...MODELS);
    await program.printed('[LLD-71] draft …');
    const bad = far.program.stdout().includes('[LLD-71] claimed') ? far : near;
    const good = bad === far ? near : far;
    const env = { AGENTOS_DATABASE_URL: net.hub.url };
    const revoked = await agentos(['hub', 'revoke', bad.name], { cwd: net.folder, env });
    expect(revoked.stdout).toContain('change that too');
    expect((await bad.program.ended).code).toBe(2);
    await good.program.printed('[LLD-71] claimed');
    release();
    await net.endsWell(program, repository, ['71']);
    expect(net.callsFor('71')).toEqual(['draft', 'review']);
    const again = startAgentos(['worker', '--base-dir', bad.base], { cwd: net.folder, env });
    const { code, stderr } = await again.ended;
    expect(code).toBe(2);
    expect(stderr).toContain('was revoked');
    const { machines: known } = JSON.parse(
      (await agentos(['hub', 'machines', '--json'], { cwd: net.folder, env })).stdout,
    );
    expect(known.find((machine: { name: string }) => machine.name === bad.name).state).toBe('revoked');
  });

  test('a machine that is drained finishes its step and hands the item back', async () => {
    const repository = await testRepository({ 81: ISSUE });
    const release = net.hold('81');
    const [far, near] = await net.twoMachines();
    const program = net.start(repository, 'lld', '81', ...MODELS);
    await program.printed('[LLD-81] draft …');
    const drained = far.program.stdout().includes('[LLD-81] claimed') ? far : near;
    const other = drained === far ? near : far;
    drained.program.child.kill('SIGTERM');
    await drained.program.printed('draining');
    release();
    expect((await drained.program.ended).code).toBe(143);
    expect(drained.program.stdout()).toMatch(/\[LLD-81\] (?:handed back|succeeded)/);
    await net.endsWell(program, repository, ['81']);
    expect(net.callsFor('81')).toEqual(['draft', 'review']);
    expect(drained.program.stdout() + other.program.stdout()).toContain('[LLD-81] succeeded');
  });

  test('a machine of another schema says so and claims nothing; a second hub is refused', async () => {
    await net.hub.database.rows(`INSERT INTO agentos.migrations (version, program) VALUES (99, 'a later one')`);
    try {
      const env = { AGENTOS_DATABASE_URL: net.hub.url };
      const older = await agentos(['worker', '--base-dir', join(net.folder, 'older')], { cwd: net.folder, env });
      expect(older.code).toBe(2);
      expect(older.stderr).toContain('Update agentos on this machine');
      const checked = await agentos(['database', 'check', '--json'], { cwd: net.folder, env });
      expect(checked.code).toBe(1);
      expect(JSON.parse(checked.stdout)).toMatchObject({ found: 99, ok: false });
    } finally {
      await net.hub.database.rows('DELETE FROM agentos.migrations WHERE version = 99');
    }
    const flags = ['--host', '127.0.0.1', '--port', '0', '--base-dir', join(net.folder, 'second')];
    const second = await agentos(['hub', '--database', net.hub.url, ...flags], { cwd: net.folder });
    expect(second).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Another hub is running on the database'),
    });
    const migrated = await agentos(['database', 'migrate', '--database', net.hub.url], { cwd: net.folder });
    expect(migrated.stdout).toContain('already');
    expect(migrated.stdout + migrated.stderr).not.toContain(new URL(net.hub.url).password);
  });
});

test.skipIf(!isPossible)(
  'without a database the hub has one of its own, and a machine joins with its URL',
  async () => {
    const place = await mkdtemp(join(tmpdir(), 'agentos-hub-'));
    // Where the tests run as root, PostgreSQL runs as another user, who has to get there.
    await chmod(place, 0o711);
    const programs: Started[] = [];
    const begin = (args: string[], env: Record<string, string> = {}): Started => {
      const program = startAgentos(args, { cwd: place, env });
      programs.push(program);
      return program;
    };
    try {
      const own = begin(['hub', '--host', '127.0.0.1', '--port', '0']);
      await own.printed('A machine joins with');
      const url = (await readFile(join(place, '.agentos/hub/database-url'), 'utf8')).trim();
      expect((await stat(join(place, '.agentos/hub/database-url'))).mode & 0o077).toBe(0);
      expect(own.stdout()).not.toContain(new URL(url).password);
      expect(url).toContain('sslmode=require');
      const worker = begin(['worker', '--base-dir', 'worker'], { AGENTOS_DATABASE_URL: url });
      await worker.printed('joined as');
      worker.child.kill('SIGTERM');
      expect((await worker.ended).code).toBe(143);
      // A killed hub leaves its database running; the next one takes it over.
      own.child.kill('SIGKILL');
      await own.ended;
      const next = begin(['hub', '--host', '127.0.0.1', '--port', '0']);
      await next.printed('A machine joins with');
      next.child.kill('SIGTERM');
      expect((await next.ended).code).toBe(143);
      expect(processesWith(place)).toEqual([]);
    } finally {
      for (const { child } of programs) child.kill('SIGKILL');
      for (const pid of processesWith(place)) process.kill(pid, 'SIGKILL');
      await rm(place, { recursive: true, force: true });
    }
  },
);
