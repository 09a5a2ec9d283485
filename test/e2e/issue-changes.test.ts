import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { readFrontMatter } from '../../src/documents/header.ts';
import { ISSUE, review } from '../support/models.ts';
import { agentos, type Ended } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { type ScriptedModels, scriptedModels } from '../support/scripted-models.ts';

/** The same words, as another editor, another label or a person who likes capitals would leave them. */
const REFORMATTED = `---\nlabels: [later]\n---\n\n${ISSUE.replace('Callers want', 'callers   WANT').replaceAll('\n- ', '\n\n* ').replaceAll('* ', '- ')}\n\n`;
const CHANGED = ISSUE.replace('throws a TypeError', 'throws a RangeError');

interface Place {
  repository: TestRepository;
  models: ScriptedModels;
  run: (...args: string[]) => Promise<Ended>;
  lld: (...args: string[]) => Promise<Ended>;
}

async function place(): Promise<Place> {
  const repository = await testRepository({ 42: ISSUE });
  repository.git('config', 'user.name', 'Ada');
  repository.git('config', 'user.email', 'ada@example.org');
  const models = await scriptedModels(repository);
  const run = (...args: string[]): Promise<Ended> =>
    agentos(args, { cwd: repository.root, env: { HOME: repository.home } });
  return { repository, models, run, lld: (...args) => run('lld', ...args, ...models.flags) };
}

test('white space, letter case and front matter are no reason to design again, for a done item or one that waits', async () => {
  const { repository, models, run, lld } = await place();
  await models.answer('review-lld', '42', review({ verdict: 'DISCUSS' }));
  expect((await lld('42')).code).toBe(3);
  await repository.write('issues/42.md', REFORMATTED);
  expect((await lld('42')).code).toBe(3);
  expect((await run('decide', '42', '--approve')).code).toBe(0);
  expect((await lld('42')).code).toBe(0);
  expect(await models.calls()).toEqual(['lld 42', 'review-lld 42']);

  await repository.write('issues/42.md', ISSUE);
  expect((await lld('--all')).stdout).toContain('Nothing to do');
  // As an earlier version stored it: the hash of the whole text.
  const text = await repository.read('docs/lld/LLD-42.md');
  const raw = createHash('sha256').update(ISSUE.trimEnd()).digest('hex');
  await repository.write('docs/lld/LLD-42.md', text.replace(/^issueHash: .*$/m, `issueHash: ${raw}`));
  expect((await lld('--all')).stdout).toContain('Nothing to do');
  expect(await models.calls()).toHaveLength(2);
});

test('what else changed is shown before anything is paid, and a person can keep the LLD for the new text', async () => {
  const { repository, models, run, lld } = await place();
  expect((await lld('42')).code).toBe(0);
  await repository.write('issues/42.md', CHANGED);
  const plan = await lld('--all', '--dry-run');
  for (const line of [
    'Issue 42 changed since docs/lld/LLD-42.md was approved; that LLD is replaced.',
    '- - A value that is not a number throws a TypeError.',
    '+ - A value that is not a number throws a RangeError.',
    'agentos decide 42 --approve --reason "…"',
  ])
    expect(plan.stdout).toContain(line);
  expect(plan.stdout).not.toContain('returns 43');
  const { items } = JSON.parse((await lld('--all', '--dry-run', '--json')).stdout);
  expect(items[0]).toMatchObject({
    replaces: {
      path: 'docs/lld/LLD-42.md',
      difference: [/TypeError/, /RangeError/].map((word) => expect.stringMatching(word)),
    },
  });
  const implement = await run('implement', '42', '--implementer', 'command:true', '--reviewer', 'command:true');
  expect(implement.stdout).toContain('agentos decide 42 --approve --reason "…" keeps it');

  expectRefusal(await run('decide', '42', '--approve'), 'say why it still fits', '--reason');
  const kept = await run('decide', '42', '--approve', '--reason', 'The type of the error is no part of the design.');
  expect(kept).toMatchObject({ code: 0, stderr: '' });
  expect(kept.stdout).toContain('docs/lld/LLD-42.md counts for what the issue says now; nothing has to run.');
  expect(await repository.list('docs/lineage/42')).toEqual([
    '001-issue.md',
    '002-draft.md',
    '003-verdict.md',
    '004-final.md',
    '005-issue.md',
    '006-verdict.md',
  ]);
  expect(await repository.read('docs/lineage/42/006-verdict.md')).toContain('> The type of the error');
  const { fields } = readFrontMatter(await repository.read('docs/lld/LLD-42.md'));
  expect(fields).toMatchObject({
    status: 'approved',
    keptBy: 'Ada <ada@example.org>',
    keptBecause: 'The type of the error is no part of the design.',
  });
  expect((await lld('--all')).stdout).toContain('Nothing to do');
  expect(await models.calls()).toHaveLength(2);

  // Compared with what it was kept for, and said again by the run that replaces it.
  await repository.write('issues/42.md', `${CHANGED}- It is fast.\n`);
  const replaced = await lld('--all');
  expect(replaced.code).toBe(0);
  expect(replaced.stdout).toContain('+ - It is fast.');
  expect(replaced.stdout).not.toContain('TypeError');
  expect(await models.calls()).toHaveLength(4);
  expect(await repository.read('docs/lld/LLD-42.md')).not.toContain('keptBy');
});
