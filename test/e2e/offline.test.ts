import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { designedRepository, implementer } from '../support/implement.ts';
import { ISSUE, lldFor } from '../support/models.ts';
import { agentos, type Ended } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { treeOf } from '../support/tree.ts';

const starter =
  (repository: TestRepository): ((...args: string[]) => Promise<Ended>) =>
  (...args) =>
    agentos(args, { cwd: repository.root, env: { HOME: repository.home } });

test('an issue that was never recorded becomes a template that waits for a model, and is nothing to a run with models', async () => {
  const repository = await testRepository({ 42: ISSUE });
  const models = await scriptedModels(repository);
  const run = starter(repository);
  const offline = await run('lld', '42', '--offline');
  expect(offline).toMatchObject({ code: 3, stderr: '' });
  expect(offline.stdout).toContain('[LLD-42] discuss: no model has seen it; run agentos lld 42 with a model');
  expect(offline.stdout).not.toContain('agentos decide');
  const draft = await repository.read('docs/lineage/42/002-draft.md');
  expect(draft).toMatch(/^# 42 - Feature: Add a number\n\n> No model has seen this/);
  expect(draft).toContain('> - `item42(1)` returns 43.');
  expect(draft).toContain('## 12. Definition of Done');
  expect(await repository.list('docs')).toEqual(['lineage']);
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);
  const decided = await run('decide', '42', '--approve', '--reason', 'fine');
  expectRefusal(decided, 'no model has seen it; run agentos lld 42 with a model', 'agentos status');

  // The same again, by one role alone: no second copy, and nobody is asked.
  expect((await run('lld', '42', '--drafter', 'offline', ...models.flags.slice(2))).code).toBe(3);
  expect((await run('lld', '42', ...models.flags.slice(0, 2), '--reviewer', 'offline')).code).toBe(3);
  expect(await models.calls()).toEqual([]);
  expect(await repository.list('docs/lineage/42')).toEqual(['001-issue.md', '002-draft.md']);

  const real = await run('run', '--all', '--until', 'lld', ...models.flags, '--json');
  expect(real.code).toBe(0);
  expect(await models.calls()).toEqual(['lld 42', 'review-lld 42']);
  expect(await repository.read('docs/lld/LLD-42.md')).toMatch(/drafter: "?command:/);
  expect((await repository.list('docs/lineage/42')).slice(2)).toEqual([
    '003-issue.md',
    '004-draft.md',
    '005-verdict.md',
    '006-final.md',
  ]);
  // What models have approved stays approved, whoever asks.
  expect((await run('lld', '42', '--offline')).code).toBe(0);
});

test('a question that models left open is still open after a run without any', async () => {
  const repository = await testRepository({ 42: ISSUE });
  const models = await scriptedModels(repository);
  const run = starter(repository);
  await models.answer(
    'lld',
    '42',
    lldFor('42').replace('### Open Questions\n', '### Open Questions\n- [ ] Which one?\n'),
  );
  expect((await run('lld', '42', ...models.flags)).code).toBe(3);
  const asked = await models.calls();
  expect((await run('run', '42', '--offline')).code).toBe(3);
  expect((await run('decide', '42', '--approve', '--reason', 'The first.')).code).toBe(0);
  expect((await run('lld', '42', ...models.flags)).code).toBe(0);
  expect(await models.calls()).toEqual(asked);
});

test('a brief without a model becomes a template too, from any folder, with the state elsewhere', async () => {
  const repository = await testRepository({});
  await repository.write('briefs/quota.md', 'Calls that met a quota are lost\n\nThe batch has to be started again.\n');
  const state = join(repository.home, '..', 'state');
  const options = { cwd: repository.home, env: { HOME: repository.home } };
  const ended = await agentos(['issue', '--all', '--offline', '--repo', repository.root, '--base-dir', state], options);
  expect(ended).toMatchObject({ code: 3, stderr: '' });
  expect(ended.stdout).toContain('no model has seen it; run agentos issue quota with a model');
  expect(await repository.read('docs/lineage/quota/002-draft.md')).toContain('> The batch has to be started again.');
  expect(await repository.list('issues')).toEqual([]);
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
  expect(await repository.list('../home')).toEqual([]);
});

test('nothing but the tour is implemented without a model: refused before anything is written', async () => {
  const repository = await designedRepository(['42']);
  const run = starter(repository);
  const before = await treeOf(repository.root);
  for (const args of [
    ['implement', '--all', '--offline'],
    ['implement', '42', '--offline', '--dry-run'],
    ['run', '42', '--offline'],
    ['implement', '42', '--implementer', implementer(), '--reviewer', 'offline'],
    ['implement', '42', '--implementer', 'offline', '--reviewer', 'command:true'],
  ])
    expectRefusal(await run(...args), 'Nothing is recorded for 42', '--implementer');
  expect(await treeOf(repository.root)).toEqual(before);
  const undesigned = starter(await testRepository({ 1: ISSUE }));
  const refused = await undesigned('implement', '--all', '--offline');
  expectRefusal(refused, 'Nothing is recorded for this repository', '--implementer');
});

test('no help and no error suggests it for real work', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const run = starter(repository);
  const help = (await run('lld', '--help')).stdout;
  expect(help.match(/--offline/g)).toHaveLength(1);
  expect(help).toMatch(/--offline +no model: the recorded tour of agentos demo/);
  for (const args of [['lld', '1'], ['lld', '1', '--drafter', 'nonsense'], ['doctor'], ['help']]) {
    const { stdout, stderr } = await run(...args);
    expect(stdout + stderr, args.join(' ')).not.toContain('--offline');
  }
});
