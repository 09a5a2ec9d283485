import { expect, test } from 'vitest';
import { designedRepository, implementer, reviewerSaying } from '../support/implement.ts';
import { lldFor } from '../support/models.ts';
import { agentos } from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';

const IDS = ['42', '43', '44'];
/** 42 builds on 43: it comes after it, on its branch. */
const design = (id: string): string =>
  id === '42' ? lldFor(id).replace('**Related Issues:** None', '**Related Issues:** depends on #43') : lldFor(id);

const designsOf = (repository: TestRepository): Promise<string[]> =>
  Promise.all(IDS.map((id) => repository.read(`docs/lld/LLD-${id}.md`)));

function commitDesigns(repository: TestRepository): void {
  repository.git('add', 'docs/lld');
  repository.git('commit', '--quiet', '-m', 'Designs');
}

test.each([
  ['untracked', 'docs/reports/42.lld.md'],
  ['committed', 'docs/lld/LLD-42.md'],
] as const)('every branch of a batch merges in the order of the plan, from LLDs that were %s', async (were, place) => {
  const repository = await designedRepository(IDS, design);
  const approved = await designsOf(repository);
  if (were === 'committed') commitDesigns(repository);
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const run = (...more: string[]) =>
    agentos(['implement', '--all', '--implementer', implementer(), '--reviewer', reviewer, ...more], {
      cwd: repository.root,
      env: { HOME: repository.home },
    });
  const ended = await run('--parallel', '2');
  expect(ended.code, ended.stdout).toBe(0);
  const [runId] = await repository.list('.agentos/runs');
  const { items } = JSON.parse(await repository.read(`.agentos/runs/${runId}/summary.json`));
  expect(items.map(({ id }: { id: string }) => id)).toEqual(['43', '42', '44']);

  const before = repository.git('rev-parse', 'HEAD');
  for (const isCommittedAfter of were === 'committed' ? [false] : [true, false]) {
    repository.git('reset', '--quiet', before);
    repository.git('clean', '--quiet', '--force', 'src', 'test', 'docs/reports');
    if (isCommittedAfter) commitDesigns(repository);
    for (const { outputs } of items as { outputs: string[] }[]) {
      const branch = outputs[0] ?? '';
      expect(repository.git('diff', '--name-only', `main...${branch}`, '--', 'docs/lld', 'docs/lineage')).toBe('');
      repository.git('merge', '--no-edit', branch);
      if (!isCommittedAfter) repository.git('branch', '--delete', branch);
    }
    // What was approved is there byte for byte, in its place or beside the report, and the checkout's own is as it was.
    expect(`${repository.git('show', `HEAD:${place}`)}\n`).toBe(approved[0]);
    expect(await designsOf(repository)).toEqual(approved);
  }
  expect(repository.git('show', 'HEAD:docs/reports/42.md')).toContain(`Design: [${place}]`);
  expect((await run()).stdout).toContain('Nothing to do: every approved LLD is implemented.');
});

test('designs that an implementer changes are put back; a copy of an older design does not stay beside the report', async () => {
  const repository = await designedRepository(['42']);
  await repository.write('docs/reports/42.lld.md', 'older\n');
  repository.git('add', 'docs');
  repository.git('commit', '--quiet', '-m', 'Designs');
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const { code, stdout } = await agentos(
    ['implement', '42', '--implementer', implementer({ code: 'edits-designs' }), '--reviewer', reviewer],
    { cwd: repository.root, env: { HOME: repository.home } },
  );
  expect(code, stdout).toBe(0);
  expect(stdout).toContain(
    'undone, designs are no part of an implementation: docs/lineage/42/001-issue.md, docs/lld/LLD-',
  );
  expect(repository.git('diff', '--name-status', 'main...agentos/42-add-a-number').split('\n')).toEqual([
    'D\tdocs/reports/42.lld.md',
    'A\tdocs/reports/42.md',
    'A\tsrc/item-42.js',
    'A\ttest/item-42.test.js',
  ]);
});
