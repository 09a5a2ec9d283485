import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testRepository } from '../../test/support/repository.ts';
import { createGit } from './git.ts';
import { pushBranch } from './push.ts';

test('a branch is made, moved on, and replaced only where it is what was pushed before', async () => {
  const repository = await testRepository({});
  const bare = join(repository.home, '..', 'bare.git');
  execFileSync('git', ['init', '--quiet', '--bare', bare]);
  repository.git('remote', 'add', 'origin', bare);
  const there = (): string => execFileSync('git', ['rev-parse', 'agentos/1-x'], { cwd: bare, encoding: 'utf8' }).trim();
  const commit = (message: string, ...parents: string[]): string =>
    repository.git('commit-tree', ...parents.flatMap((parent) => ['-p', parent]), '-m', message, 'HEAD^{tree}');
  const env = { PATH: process.env['PATH'] ?? '' };
  const git = createGit(repository.root, env);
  const push = (to: string, before: string | null = null): Promise<void> => {
    const { signal } = new AbortController();
    return pushBranch(git, { remote: 'origin', branch: 'agentos/1-x', commit: to, before, header: null, env, signal });
  };
  const [first, person] = [commit('first', 'HEAD'), commit('person', 'HEAD')];
  const second = commit('second', first);
  await push(first);
  await push(first);
  await push(second);
  expect(there()).toBe(second);
  await expect(push(person)).rejects.toMatchObject({ problem: { code: 'branch-foreign' } });
  await push(person, second);
  expect(there()).toBe(person);
  // Another program pushed since.
  await expect(push(first, second)).rejects.toMatchObject({ problem: { code: 'branch-foreign' } });
  expect(there()).toBe(person);
  const ended = new AbortController();
  ended.abort(new Error('stopped'));
  const stopped = {
    remote: 'origin',
    branch: 'y',
    commit: first,
    before: null,
    header: null,
    env,
    signal: ended.signal,
  };
  await expect(pushBranch(git, stopped)).rejects.toThrow('stopped');
});
