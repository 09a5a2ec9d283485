import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { MODELS, useFaultyHub } from '../support/faulty-hub.ts';
import { callsOf, designedRepository, implementer, reviewerSaying } from '../support/implement.ts';
import { ISSUE } from '../support/models.ts';
import { hasPostgres } from '../support/postgres.ts';
import { workersOf } from '../support/processes.ts';
import { WITHOUT_SANDBOX } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';

const isPossible = hasPostgres();

describe.skipIf(!isPossible)('when a lease ends', () => {
  const net = useFaultyHub('7s');

  test('a machine that is frozen past its lease and wakes up: its item was taken over, and nothing is doubled', async () => {
    const repository = await testRepository({ 21: ISSUE });
    const release = net.hold('21');
    const [far, near] = await net.twoMachines();
    const program = net.start(repository, 'lld', '21', ...MODELS);
    await program.printed('[LLD-21] draft …');
    const frozen = far.program.stdout().includes('[LLD-21] claimed') ? far : near;
    const other = frozen === far ? near : far;
    const all = [frozen.program.child.pid ?? 0, ...workersOf(frozen.program.child.pid)];
    for (const pid of all) process.kill(pid, 'SIGSTOP');
    await other.program.printed('[LLD-21] claimed');
    for (const pid of all) process.kill(pid, 'SIGCONT');
    await frozen.program.printed('[LLD-21] handed back');
    release();
    await net.endsWell(program, repository, ['21']);
    expect(net.callsFor('21')).toEqual(['draft', 'review']);
    expect(other.program.stdout()).toContain('[LLD-21] succeeded');
    // It is of use again.
    const later = await testRepository({ 22: ISSUE, 23: ISSUE });
    const releases = [net.hold('22'), net.hold('23')];
    const next = net.start(later, 'lld', '--all', ...MODELS);
    await Promise.all(['22', '23'].map((id) => next.printed(`[LLD-${id}] draft …`)));
    for (const go of releases) go();
    await net.endsWell(next, later, ['22', '23']);
  });

  test('a network that swallows everything for longer than a lease: agents are stopped, and the item goes elsewhere', async () => {
    const repository = await testRepository({ 51: ISSUE });
    const release = net.hold('51');
    const url = new URL(net.hub.url);
    url.port = String(net.databaseProxy.port);
    const far = await net.hub.machine('alone', { parallel: 1, url: url.href });
    net.machines.push(far);
    const program = net.start(repository, 'lld', '51', ...MODELS);
    await program.printed('[LLD-51] draft …');
    net.databaseProxy.swallow();
    await far.program.printed('stopping the items that run here');
    const near = await net.hub.machine('rescue', { parallel: 1 });
    net.machines.push(near);
    await near.program.printed('[LLD-51] claimed');
    release();
    await net.endsWell(program, repository, ['51']);
    expect(net.callsFor('51')).toEqual(['draft', 'review']);
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
    const [far, near] = await net.twoMachines();
    const program = net.start(repository, 'implement', '61', ...models);
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
});

describe.skipIf(!isPossible)('with the lease that is the default', () => {
  const net = useFaultyHub('45s');

  test('a machine that has no hub for 30 s, and hears nothing of the database, pauses and loses nothing', async () => {
    const { repository, program, pair, release } = await net.bothBusy('41', '42');
    const [far] = pair;
    net.databaseProxy.swallow();
    net.hubProxy.cut();
    await sleep(30_000);
    net.databaseProxy.heal();
    net.hubProxy.heal();
    release();
    await net.endsWell(program, repository, ['41', '42']);
    for (const id of ['41', '42']) expect(net.callsFor(id)).toEqual(['draft', 'review']);
    expect(far.program.stdout()).not.toContain('handed back');
  });

  test('a cancellation reaches the machine within 2 s, and the step in flight has 2 s to finish', async () => {
    const repository = await testRepository({ 61: ISSUE });
    net.hold('61');
    const [far, near] = await net.twoMachines();
    const program = net.start(repository, 'lld', '61', ...MODELS);
    await program.printed('[LLD-61] draft …');
    const machine = far.program.stdout().includes('[LLD-61] claimed') ? far : near;
    program.child.kill('SIGINT');
    const askedAt = performance.now();
    await machine.program.printed('[LLD-61] cancelled');
    expect(performance.now() - askedAt).toBeLessThan(4_000);
    expect((await program.ended).code).toBe(130);
  });

  test('the items of a machine that is killed run elsewhere within 30 s, and no call is made again', async () => {
    const { repository, program, pair, release } = await net.bothBusy('51', '52');
    const [, near] = pair;
    const mine = near.program.stdout().includes('[LLD-51]') ? '51' : '52';
    near.program.child.kill('SIGKILL');
    const killedAt = performance.now();
    const third = await net.hub.machine('third', { parallel: 2 });
    net.machines.push(third);
    await third.program.printed(`[LLD-${mine}] claimed`);
    expect(performance.now() - killedAt).toBeLessThan(30_000);
    release();
    await net.endsWell(program, repository, ['51', '52']);
    for (const id of ['51', '52']) expect(net.callsFor(id)).toEqual(['draft', 'review']);
  });
});
