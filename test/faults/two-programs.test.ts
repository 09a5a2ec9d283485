import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callsOf, designedRepository, implementer, reviewerSaying } from '../support/implement.ts';
import { ISSUE } from '../support/models.ts';
import { type Ended, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';

const IDS = ['1', '2', '3', '4', '5', '6'];

/** The same command twice at the same moment; what is held back goes on when both have planned. Both end well. */
async function twice(repository: TestRepository, args: string[], goOn: () => Promise<void>): Promise<Ended[]> {
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const programs = [startAgentos(args, options), startAgentos(args, options)];
  await Promise.all(programs.map((program) => program.printed('item(s)')));
  await goOn();
  const both = await Promise.all(programs.map((program) => program.ended));
  for (const { code, stdout } of both) expect(code, stdout).toBe(0);
  expect(await repository.list('.agentos/locks')).toEqual([]);
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);
  return both;
}

test('two programs at the same LLDs ask for each of them once', async () => {
  const repository = await testRepository(Object.fromEntries(IDS.map((id) => [id, ISSUE])));
  const models = await scriptedModels(repository);
  await models.hold('lld', '1');
  const args = ['lld', '--all', '--parallel', '2', ...models.flags];
  await twice(repository, args, () => models.release('lld', '1'));
  expect((await models.calls()).toSorted()).toEqual(IDS.flatMap((id) => [`lld ${id}`, `review-lld ${id}`]).toSorted());
  for (const id of IDS) expect(await repository.list(`docs/lineage/${id}`)).toHaveLength(4);
  for (const run of await repository.list('.agentos/runs')) {
    const summary = JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`));
    for (const item of summary.items) expect(item.outputs[0]).toBe(`docs/lld/LLD-${item.id}.md`);
  }
});

test('two programs at the same briefs write one issue for each', async () => {
  const briefs = ['alpha', 'beta', 'gamma'];
  const repository = await testRepository({});
  for (const name of briefs) await repository.write(`briefs/${name}.md`, `# The ${name} thing\n\nSomething new.\n`);
  const models = await scriptedModels(repository);
  await models.hold('issue', 'alpha');
  const goOn = (): Promise<void> => models.release('issue', 'alpha');
  const [one, other] = await twice(repository, ['issue', '--all', ...models.flags], goOn);
  expect(await models.calls()).toHaveLength(6);
  expect(await repository.list('issues')).toEqual(['1.md', '2.md', '3.md']);
  expect(`${one?.stdout}${other?.stdout}`).toMatch(/^alpha +skipped .*issues\/\d\.md$/m);
});

test('two programs at the same implementations write each of them once, on one branch', async () => {
  const ids = ['41', '42', '43'];
  const repository = await designedRepository(ids);
  const state = join(repository.home, '..', 'calls.jsonl');
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const hold = join(repository.home, '..', 'hold');
  await writeFile(hold, '');
  const models = [
    '--implementer',
    implementer({ state, code: 'held', hold }),
    '--reviewer',
    reviewer,
    ...WITHOUT_SANDBOX,
  ];
  const [one, other] = await twice(repository, ['implement', ...ids, ...models], () => rm(hold));
  const called = (await callsOf(state)).map(({ id, phase }) => `${id} ${phase}`).toSorted();
  expect(called).toEqual(ids.flatMap((id) => [`${id} code`, `${id} tests`]));
  const branches = repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/agentos').split('\n');
  expect(branches).toEqual(ids.map((id) => `agentos/${id}-add-a-number`));
  expect(`${one?.stdout}${other?.stdout}`).toMatch(/^4\d +skipped .*agentos\/4\d-add-a-number$/m);
});
