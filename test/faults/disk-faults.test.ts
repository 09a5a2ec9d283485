import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE } from '../support/models.ts';
import { agentos, startAgentos } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { canMount, makeFolderReadOnly, mountSmallDisk } from '../support/small-disk.ts';

const mountable = canMount();

test.skipIf(!mountable)(
  'a full disk is said in one line, nothing new is started, and resume loses nothing that was stored',
  async () => {
    const repository = await testRepository({ 1: ISSUE, 2: ISSUE, 3: ISSUE });
    const models = await scriptedModels(repository);
    const disk = mountSmallDisk(32 << 20);
    onTestFinished(() => disk.unmount());
    const options = { cwd: repository.root, env: { HOME: repository.home, AGENTOS_HOME: disk.folder } };
    await models.hold('review-lld', '2');
    const program = startAgentos(['lld', '--all', ...models.flags], options);
    await program.printed('asked for review-lld 2');
    const makeRoom = disk.fill();
    await models.release('review-lld', '2');
    const { code, stdout, stderr } = await program.ended;
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(
      stdout.match(/^\[COORDINATOR\].* can't be written: the disk is full\. Nothing new is started\./gm),
    ).toHaveLength(1);
    expect(stdout).not.toContain('Internal error');
    expect(stdout).toMatch(/^1 +succeeded .*\n2 +failed .* journal-full\n3 +cancelled .* disk-unwritable$/m);
    expect(stdout).toContain('Not finished: 3. Resume with: agentos resume');

    const [state = ''] = readdirSync(disk.folder).filter((name) => name !== 'filler');
    const [run = ''] = readdirSync(join(disk.folder, state, 'runs'));
    const events = readFileSync(join(disk.folder, state, 'runs', run, 'events.jsonl'), 'utf8');
    expect(events.endsWith('\n')).toBe(true);
    for (const line of events.trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
    expect(readdirSync(join(disk.folder, state, 'checkpoints'))).toContain('lld-2.db');

    makeRoom();
    expect((await agentos(['resume'], options)).code).toBe(0);
    expect(await repository.list('docs/lld')).toEqual(['LLD-1.md', 'LLD-2.md', 'LLD-3.md']);
    const once = ['lld 1', 'review-lld 1', 'lld 2', 'review-lld 2'];
    // Only the answer for which there was no room is asked for again.
    expect(await models.calls()).toEqual([...once, 'review-lld 2', 'lld 3', 'review-lld 3']);
    expect(readdirSync(join(disk.folder, state, 'checkpoints'))).toEqual([]);
  },
);

test.skipIf(!mountable)(
  'a state folder that becomes read-only costs neither what is finished nor the summary',
  async () => {
    const repository = await testRepository({ 1: ISSUE, 2: ISSUE });
    const models = await scriptedModels(repository);
    const options = { cwd: repository.root, env: { HOME: repository.home } };
    await models.hold('review-lld', '1');
    const program = startAgentos(['lld', '--all', ...models.flags], options);
    await program.printed('asked for review-lld 1');
    const folders = ['locks', 'checkpoints', 'runs'].map((name) => join(repository.root, '.agentos', name));
    const undo = folders.map(makeFolderReadOnly);
    try {
      await models.release('review-lld', '1');
      const { code, stdout, stderr } = await program.ended;
      expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
      expect(stdout).toContain('[LLD-1] done, but its checkpoint stays behind');
      expect(stdout).toMatch(/^1 +succeeded .*LLD-1\.md\n2 +failed .* output-unwritable$/m);
      expect(stdout).toContain('summary.json could not be written: the file system is read-only.');
    } finally {
      for (const mount of undo) mount();
    }
    expect(existsSync(join(repository.root, '.agentos/locks/lld-1.lock'))).toBe(true);
    expect((await agentos(['resume'], options)).code).toBe(0);
    expect(await models.calls()).toEqual(['lld 1', 'review-lld 1', 'lld 2', 'review-lld 2']);
    for (const folder of ['locks', 'checkpoints']) expect(await repository.list(`.agentos/${folder}`)).toEqual([]);
  },
);
