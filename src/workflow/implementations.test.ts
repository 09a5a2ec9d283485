import { expect, test } from 'vitest';
import { type TestRepository, testRepository } from '../../test/support/repository.ts';
import { pathsOf } from '../core/paths.ts';
import { writeFrontMatter } from '../documents/header.ts';
import { createGit, type Git } from '../git/git.ts';
import { stackedBase } from '../git/merge.ts';
import { foundationsOf } from './implementations.ts';

interface Branches {
  repository: TestRepository;
  git: Git;
  /** A branch from main with the report of an item; the report names `named`. */
  report: (branch: string, id: string, named?: string) => Promise<string>;
  found: (id: string) => Promise<string | undefined>;
}

async function branches(): Promise<Branches> {
  const repository = await testRepository({});
  const git = createGit(repository.root, { PATH: process.env['PATH'] ?? '', HOME: repository.home });
  repository.git('config', 'user.name', 'Test');
  repository.git('config', 'user.email', 'test@localhost');
  return {
    repository,
    git,
    async report(branch, id, named = branch) {
      repository.git('checkout', '--quiet', '-b', branch, 'main');
      const status = { status: 'implemented', lldHash: 'a'.repeat(64), branch: named };
      await repository.write(`docs/reports/${id}.md`, writeFrontMatter('# Report\n', status));
      repository.git('add', 'docs');
      repository.git('commit', '--quiet', '-m', `Report on ${id}`);
      repository.git('checkout', '--quiet', 'main');
      return repository.git('rev-parse', branch);
    },
    found: async (id) => (await foundationsOf({ git, paths: pathsOf(repository.root, '') }, [id]))[0]?.commit,
  };
}

test('an item is built on by the branch that its report names, else by one that has its report', async () => {
  const { repository, report, found } = await branches();
  expect(await found('4')).toBeUndefined();
  const renamed = await report('agentos/4-renamed', '4', 'agentos/4-title');
  expect(await found('4')).toBe(renamed);
  const own = await report('agentos/4-a', '4');
  expect(await found('4')).toBe(own);
  repository.git('branch', '--delete', '--force', 'agentos/4-a', 'agentos/4-renamed');
  expect(await found('4')).toBeUndefined();
});

test('a merged item is not built on by the branch of another that has a longer name', async () => {
  const { repository, report, found } = await branches();
  await report('agentos/4-title', '4');
  repository.git('merge', '--quiet', 'agentos/4-title');
  repository.git('branch', '--delete', 'agentos/4-title');
  const other = await report('agentos/4-2-title', '4-2');
  expect(await found('4')).toBeUndefined();
  expect(await found('4-2')).toBe(other);
});

test('the merge that a stacked item begins at is the same commit whenever it is made', async () => {
  const { repository, git, report } = await branches();
  const foundation = { id: '4', commit: await report('agentos/4-title', '4') };
  repository.git('commit', '--quiet', '--allow-empty', '-m', 'More');
  const head = repository.git('rev-parse', 'HEAD');
  const base = await stackedBase(git, head, [foundation]);
  expect(repository.git('rev-parse', `${base}^1`, `${base}^2`).split('\n')).toEqual([head, foundation.commit]);
  const later = String(Math.floor(Date.now() / 1_000) + 100);
  const clock = createGit(repository.root, {
    ...process.env,
    HOME: repository.home,
    GIT_COMMITTER_DATE: later,
  } as Record<string, string>);
  expect(await stackedBase(clock, head, [foundation])).toBe(base);
});
