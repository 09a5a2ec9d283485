import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MODELS, useFaultyHub } from '../support/faulty-hub.ts';
import { ISSUE } from '../support/models.ts';
import { hasPostgres } from '../support/postgres.ts';
import { testRepository } from '../support/repository.ts';
import { canMount, mountSmallDisk } from '../support/small-disk.ts';

describe.skipIf(!hasPostgres())('when a part is gone for a while', () => {
  const net = useFaultyHub('7s');

  test('database and hub are restarted in the middle of calls: everything waits, and ends', async () => {
    const { repository, program, release } = await net.bothBusy('31', '32');
    await net.postgres.restart();
    net.hub.program().child.kill('SIGKILL');
    await net.hub.program().ended;
    await net.hub.start();
    release();
    await net.endsWell(program, repository, ['31', '32']);
    // What was in flight died with the hub and was asked for again; nothing else was.
    for (const id of ['31', '32']) expect(net.callsFor(id).toSorted()).toEqual(['draft', 'draft', 'review']);
  });

  test('a network that is slow, then cut for a while, loses nothing', async () => {
    const { repository, program, pair, release } = await net.bothBusy('41', '42');
    const [far] = pair;
    net.databaseProxy.slow(40);
    net.hubProxy.slow(40);
    net.databaseProxy.cut();
    net.hubProxy.cut();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    net.databaseProxy.heal();
    net.hubProxy.heal();
    release();
    await net.endsWell(program, repository, ['41', '42']);
    for (const id of ['41', '42']) expect(net.callsFor(id)).toEqual(['draft', 'review']);
    expect(far.program.stdout()).not.toContain('handed back');
  });

  test.skipIf(!canMount())('a machine whose disk is full hands its item back, and another one does it', async () => {
    const repository = await testRepository({ 91: ISSUE });
    const disk = mountSmallDisk(32 << 20);
    try {
      const full = await net.hub.machine('full', { parallel: 1, flags: ['--base-dir', join(disk.folder, 'state')] });
      net.machines.push(full);
      disk.fill();
      const program = net.start(repository, 'lld', '91', ...MODELS);
      await full.program.printed('[LLD-91] handed back');
      const good = await net.hub.machine('roomy', { parallel: 1 });
      net.machines.push(good);
      await net.endsWell(program, repository, ['91']);
      expect(good.program.stdout()).toContain('[LLD-91] succeeded');
      expect(net.callsFor('91')).toEqual(['draft', 'review']);
      full.program.child.kill('SIGKILL');
      await full.program.ended;
    } finally {
      disk.unmount();
    }
  });
});
