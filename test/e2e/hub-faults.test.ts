import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startTestHub, type TestHub, type TestMachine } from '../support/hub.ts';
import { callsOf, designedRepository, implementer, reviewerSaying } from '../support/implement.ts';
import { ISSUE, issueOf, script, taskOf, vendorEnv } from '../support/models.ts';
import { freshDatabase, hasPostgres, type TestPostgres, testPostgres } from '../support/postgres.ts';
import { eventually, processesWith, workersOf } from '../support/processes.ts';
import { agentos, type Started, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { canMount, mountSmallDisk } from '../support/small-disk.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { startVendor, type Vendor } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
const LEASE = '7s';

const isPossible = hasPostgres();
let postgres: TestPostgres;
let folder: string;
let vendor: Vendor;
let hub: TestHub;
let databaseProxy: TcpProxy;
let hubProxy: TcpProxy;
const held = new Map<string, Promise<void>>();
const machines: TestMachine[] = [];

beforeAll(async () => {
  if (!isPossible) return;
  postgres = await testPostgres();
  folder = await mkdtemp(join(tmpdir(), 'agentos-hub-'));
  const answer = script();
  vendor = await startVendor({
    script: async (call) => {
      if (taskOf(call) === 'draft') await held.get(issueOf(call));
      return answer(call);
    },
  });
  databaseProxy = await startTcpProxy(postgres.port);
  hubProxy = await startTcpProxy(0);
  const url = await freshDatabase(postgres);
  const flags = ['--address', `https://127.0.0.1:${hubProxy.port}`];
  hub = await startTestHub({ url, folder, env: vendorEnv(vendor.url), lease: LEASE, flags });
  hubProxy.target = hub.port();
});

afterEach(async () => {
  databaseProxy?.heal();
  hubProxy?.heal();
  for (const { program } of machines.splice(0)) {
    program.child.kill('SIGCONT');
    program.child.kill('SIGKILL');
    await program.ended;
  }
});

afterAll(async () => {
  await hub?.close();
  await databaseProxy?.close();
  await hubProxy?.close();
  await vendor?.close();
  await postgres?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

let names = 0;

/** The first goes through the proxies. */
async function twoMachines(): Promise<[TestMachine, TestMachine]> {
  names += 1;
  const far = new URL(hub.url);
  far.port = String(databaseProxy.port);
  const first = await hub.machine(`far-${names}`, { parallel: 1, url: far.href });
  machines.push(first);
  const second = await hub.machine(`near-${names}`, { parallel: 1 });
  machines.push(second);
  return [first, second];
}

function start(repository: TestRepository, ...args: string[]): Started {
  return startAgentos(args, { cwd: repository.root, env: { HOME: repository.home, AGENTOS_DATABASE_URL: hub.url } });
}

const callsFor = (id: string): string[] => vendor.calls.filter((call) => issueOf(call) === id).map(taskOf);

function hold(id: string): () => void {
  const gate = Promise.withResolvers<void>();
  held.set(id, gate.promise);
  return () => {
    held.delete(id);
    gate.resolve();
  };
}

/** Two items whose drafts wait, one on each machine; the first machine has the first. */
async function bothBusy(
  one: string,
  other: string,
): Promise<{ repository: TestRepository; program: Started; pair: [TestMachine, TestMachine]; release: () => void }> {
  const repository = await testRepository({ [one]: ISSUE, [other]: ISSUE });
  const releases = [hold(one), hold(other)];
  const pair = await twoMachines();
  const program = start(repository, 'lld', '--all', ...MODELS);
  await Promise.all([program.printed(`[LLD-${one}] draft …`), program.printed(`[LLD-${other}] draft …`)]);
  await eventually('the vendor has both calls', () => callsFor(one).length + callsFor(other).length === 2);
  return { repository, program, pair, release: () => releases.forEach((go) => go()) };
}

async function endsWell(program: Started, repository: TestRepository, ids: string[]): Promise<string> {
  const { code, stdout, stderr } = await program.ended;
  expect(code, stdout + stderr).toBe(0);
  for (const id of ids) {
    expect(await repository.list(`docs/lineage/${id}`)).toHaveLength(4);
    expect(stdout.match(new RegExp(`\\[LLD-${id}\\] succeeded`, 'g'))).toHaveLength(1);
  }
  return stdout;
}

describe.skipIf(!isPossible)('when something breaks', () => {
  test('a machine that is killed: its item runs elsewhere, and the call in flight is not paid again', async () => {
    const { repository, program, pair, release } = await bothBusy('11', '12');
    const [, near] = pair;
    const mine = near.program.stdout().includes('[LLD-11]') ? '11' : '12';
    near.program.child.kill('SIGKILL');
    const killedAt = performance.now();
    const third = await hub.machine('third', { parallel: 2 });
    machines.push(third);
    await third.program.printed(`[LLD-${mine}] claimed`);
    expect(performance.now() - killedAt).toBeLessThan(30_000);
    release();
    const stdout = await endsWell(program, repository, ['11', '12']);
    expect(stdout).toContain('was lost; another one resumes it');
    expect([...callsFor('11'), ...callsFor('12')].toSorted()).toEqual(['draft', 'draft', 'review', 'review']);
  });

  test('a machine that is frozen past its lease and wakes up: its item was taken over, and nothing is doubled', async () => {
    const repository = await testRepository({ 21: ISSUE });
    const release = hold('21');
    const [far, near] = await twoMachines();
    const program = start(repository, 'lld', '21', ...MODELS);
    await program.printed('[LLD-21] draft …');
    const frozen = far.program.stdout().includes('[LLD-21] claimed') ? far : near;
    const other = frozen === far ? near : far;
    const all = [frozen.program.child.pid ?? 0, ...workersOf(frozen.program.child.pid)];
    for (const pid of all) process.kill(pid, 'SIGSTOP');
    await other.program.printed('[LLD-21] claimed');
    for (const pid of all) process.kill(pid, 'SIGCONT');
    await frozen.program.printed('[LLD-21] handed back');
    release();
    await endsWell(program, repository, ['21']);
    expect(callsFor('21')).toEqual(['draft', 'review']);
    expect(other.program.stdout()).toContain('[LLD-21] succeeded');
    // It is of use again.
    const later = await testRepository({ 22: ISSUE, 23: ISSUE });
    const releases = [hold('22'), hold('23')];
    const next = start(later, 'lld', '--all', ...MODELS);
    await Promise.all(['22', '23'].map((id) => next.printed(`[LLD-${id}] draft …`)));
    for (const go of releases) go();
    await endsWell(next, later, ['22', '23']);
  });

  test('database and hub are restarted in the middle of calls: everything waits, and ends', async () => {
    const { repository, program, release } = await bothBusy('31', '32');
    await postgres.restart();
    hub.program().child.kill('SIGKILL');
    await hub.program().ended;
    await hub.start();
    release();
    await endsWell(program, repository, ['31', '32']);
    // What was in flight died with the hub and was asked for again; nothing else was.
    for (const id of ['31', '32']) expect(callsFor(id).toSorted()).toEqual(['draft', 'draft', 'review']);
    for (const machine of machines) expect(machine.program.stdout()).not.toContain('handed back');
  });

  test('a network that is slow, then cut for a while, loses nothing', async () => {
    const { repository, program, pair, release } = await bothBusy('41', '42');
    const [far] = pair;
    databaseProxy.slow(40);
    hubProxy.slow(40);
    databaseProxy.cut();
    hubProxy.cut();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    databaseProxy.heal();
    hubProxy.heal();
    release();
    await endsWell(program, repository, ['41', '42']);
    for (const id of ['41', '42']) expect(callsFor(id)).toEqual(['draft', 'review']);
    expect(far.program.stdout()).not.toContain('handed back');
  });

  test('a network that swallows everything for longer than a lease: agents are stopped, and the item goes elsewhere', async () => {
    const repository = await testRepository({ 51: ISSUE });
    const release = hold('51');
    names += 1;
    const url = new URL(hub.url);
    url.port = String(databaseProxy.port);
    const far = await hub.machine(`alone-${names}`, { parallel: 1, url: url.href });
    machines.push(far);
    const program = start(repository, 'lld', '51', ...MODELS);
    await program.printed('[LLD-51] draft …');
    databaseProxy.swallow();
    await far.program.printed('what runs here is stopped');
    const near = await hub.machine(`rescue-${names}`, { parallel: 1 });
    machines.push(near);
    await near.program.printed('[LLD-51] claimed');
    release();
    await endsWell(program, repository, ['51']);
    expect(callsFor('51')).toEqual(['draft', 'review']);
    expect(workersOf(far.program.child.pid).length).toBeLessThanOrEqual(1);
  });

  test('an implementation that moves continues from its last tree', async () => {
    const repository = await designedRepository(['61']);
    const state = join(repository.home, '..', 'calls.jsonl');
    const reviewer = await reviewerSaying(repository, 'APPROVED');
    const holdFile = join(repository.home, '..', 'hold');
    await writeFile(holdFile, '');
    const implementing = implementer({ state, code: 'held', hold: holdFile });
    const models = ['--implementer', implementing, '--reviewer', reviewer, ...WITHOUT_SANDBOX];
    const [far, near] = await twoMachines();
    const program = start(repository, 'implement', '61', ...models);
    await program.printed('[IMPL-61] code-1 …');
    const first = far.program.stdout().includes('claimed') ? far : near;
    const other = first === far ? near : far;
    first.program.child.kill('SIGKILL');
    await other.program.printed('[IMPL-61] claimed');
    await rm(holdFile);
    const { code, stdout, stderr } = await program.ended;
    expect(code, stdout + stderr).toBe(0);
    // The tests were written once; the code, which was under way, twice.
    const called = (await callsOf(state)).map(({ phase }) => phase);
    expect(called.filter((phase) => phase === 'tests')).toHaveLength(1);
    expect(called.filter((phase) => phase === 'code').length).toBeGreaterThanOrEqual(1);
    expect(repository.git('log', '--format=%s', 'main..agentos/61-add-a-number').split('\n')).toHaveLength(3);
  });

  test('a revoked machine is refused, and its item goes elsewhere', async () => {
    const repository = await testRepository({ 71: ISSUE });
    const release = hold('71');
    const [far, near] = await twoMachines();
    const program = start(repository, 'lld', '71', ...MODELS);
    await program.printed('[LLD-71] draft …');
    const bad = far.program.stdout().includes('[LLD-71] claimed') ? far : near;
    const good = bad === far ? near : far;
    const name = bad === far ? `far-${names}` : `near-${names}`;
    const env = { AGENTOS_DATABASE_URL: hub.url };
    const revoked = await agentos(['hub', 'revoke', name], { cwd: folder, env });
    expect(revoked.stdout).toContain('change that too');
    expect((await bad.program.ended).code).toBe(2);
    await good.program.printed('[LLD-71] claimed');
    release();
    await endsWell(program, repository, ['71']);
    expect(callsFor('71')).toEqual(['draft', 'review']);
    const again = startAgentos(['worker', '--base-dir', bad.base], { cwd: folder, env });
    const { code, stderr } = await again.ended;
    expect(code).toBe(2);
    expect(stderr).toContain('was revoked');
    const { machines: known } = JSON.parse((await agentos(['hub', 'machines', '--json'], { cwd: folder, env })).stdout);
    expect(known.find((machine: { name: string }) => machine.name === name).state).toBe('revoked');
  });

  test('a machine that is drained finishes its step and hands the item back', async () => {
    const repository = await testRepository({ 81: ISSUE });
    const release = hold('81');
    const [far, near] = await twoMachines();
    const program = start(repository, 'lld', '81', ...MODELS);
    await program.printed('[LLD-81] draft …');
    const drained = far.program.stdout().includes('[LLD-81] claimed') ? far : near;
    const other = drained === far ? near : far;
    drained.program.child.kill('SIGTERM');
    await drained.program.printed('draining');
    release();
    expect((await drained.program.ended).code).toBe(0);
    expect(drained.program.stdout()).toMatch(/\[LLD-81\] (?:handed back|succeeded)/);
    await endsWell(program, repository, ['81']);
    expect(callsFor('81')).toEqual(['draft', 'review']);
    expect(drained.program.stdout() + other.program.stdout()).toContain('[LLD-81] succeeded');
  });

  test('a machine of another schema says so and claims nothing', async () => {
    await hub.database.rows(`INSERT INTO agentos.migrations (version, program) VALUES (99, 'a later one')`);
    try {
      const env = { AGENTOS_DATABASE_URL: hub.url };
      const older = await agentos(['worker', '--base-dir', join(folder, 'older')], { cwd: folder, env });
      expect(older.code).toBe(2);
      expect(older.stderr).toContain('Update agentos on this machine');
      const checked = await agentos(['database', 'check', '--json'], { cwd: folder, env });
      expect(checked.code).toBe(1);
      expect(JSON.parse(checked.stdout)).toMatchObject({ found: 99, ok: false });
    } finally {
      await hub.database.rows('DELETE FROM agentos.migrations WHERE version = 99');
    }
    const migrated = await agentos(['database', 'migrate', '--database', hub.url], { cwd: folder });
    expect(migrated.stdout).toContain('already');
    expect(migrated.stdout + migrated.stderr).not.toContain(new URL(hub.url).password);
  });

  test.skipIf(!canMount())('a machine whose disk is full hands its item back, and another one does it', async () => {
    const repository = await testRepository({ 91: ISSUE });
    const disk = mountSmallDisk(32 << 20);
    try {
      const full = await hub.machine('full', { parallel: 1, flags: ['--base-dir', join(disk.folder, 'state')] });
      machines.push(full);
      disk.fill();
      const program = start(repository, 'lld', '91', ...MODELS);
      await full.program.printed('[LLD-91] handed back');
      const good = await hub.machine('roomy', { parallel: 1 });
      machines.push(good);
      await endsWell(program, repository, ['91']);
      expect(good.program.stdout()).toContain('[LLD-91] succeeded');
      expect(callsFor('91')).toEqual(['draft', 'review']);
      full.program.child.kill('SIGKILL');
      await full.program.ended;
    } finally {
      disk.unmount();
    }
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
      expect((await worker.ended).code).toBe(0);
      // A killed hub leaves its database running; the next one takes it over.
      own.child.kill('SIGKILL');
      await own.ended;
      const next = begin(['hub', '--host', '127.0.0.1', '--port', '0']);
      await next.printed('A machine joins with');
      next.child.kill('SIGTERM');
      expect((await next.ended).code).toBe(0);
      expect(processesWith(place)).toEqual([]);
    } finally {
      for (const { child } of programs) child.kill('SIGKILL');
      for (const pid of processesWith(place)) process.kill(pid, 'SIGKILL');
      await rm(place, { recursive: true, force: true });
    }
  },
);
