import { execFileSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { createGit } from './git.ts';
import { personOf } from './repository.ts';

test('a person is who git says, and else the user of the machine', async () => {
  const folder = await testFolder();
  execFileSync('git', ['init', '--quiet', folder]);
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  const git = createGit(folder, env);
  expect(await personOf(git)).toBe(userInfo().username);
  await git.run(['config', 'user.name', 'Ada Lovelace']);
  expect(await personOf(git)).toBe('Ada Lovelace');
  await git.run(['config', 'user.email', 'ada@example.org']);
  expect(await personOf(git)).toBe('Ada Lovelace <ada@example.org>');
});

test('who the environment names goes before the settings, as for git itself', async () => {
  const folder = await testFolder();
  execFileSync('git', ['init', '--quiet', folder]);
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Grace Hopper',
  };
  expect(await personOf(createGit(folder, env))).toBe('Grace Hopper');
  const git = createGit(folder, { ...env, GIT_AUTHOR_EMAIL: 'grace@example.org' });
  await git.run(['config', 'user.name', 'Ada Lovelace']);
  await git.run(['config', 'user.email', 'ada@example.org']);
  expect(await personOf(git)).toBe('Grace Hopper <grace@example.org>');
});
