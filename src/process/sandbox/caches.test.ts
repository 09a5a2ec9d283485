import { lstat, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { cachesFor } from './caches.ts';
import type { SandboxWish } from './sandbox.ts';

test('what the first set-up fetches is shared and only read later; after an agent’s change an item has its own', async () => {
  const folder = await testFolder();
  const [shared, home, worktree] = [join(folder, 'shared'), join(folder, 'home'), join(folder, 'worktree')];
  await mkdir(join(shared, 'go/pkg/mod'), { recursive: true });
  const env = { HOME: home, NPM_CONFIG_CACHE: '/somewhere' };
  const caches = async (wish: Partial<SandboxWish>) => {
    const found = await cachesFor({ worktree, env, ...wish }, { shared, home });
    const { GOMODCACHE, CARGO_HOME, GOCACHE, npm_config_cache, NPM_CONFIG_CACHE } = found.env;
    expect(NPM_CONFIG_CACHE).toBe(npm_config_cache);
    const places = [GOMODCACHE, CARGO_HOME, GOCACHE, npm_config_cache].map((path) => path?.slice(folder.length + 1));
    return [found.isShared, ...places];
  };
  const own = ['home/caches/go/pkg/mod', 'home/caches/cargo', 'home/caches/go-build', 'home/caches/npm'];
  const fetching = { network: ['registries'] } as const;
  expect(await caches({ ...fetching, isUntouched: true })).toEqual([
    true,
    'shared/go/pkg/mod',
    'shared/cargo',
    'home/caches/go-build',
    'shared/npm',
  ]);
  // Nothing was fetched for Rust, so that there is nothing to read.
  expect(await caches({})).toEqual([false, 'shared/go/pkg/mod', ...own.slice(1)]);
  expect(await caches({ ...fetching, isUntouched: false })).toEqual([false, ...own]);
  expect(await caches({})).toEqual([false, ...own]);
  expect(await cachesFor({ worktree, env: { HOME: '/home/me' } }, { shared, home })).toEqual({
    isShared: false,
    env: {},
  });
});

test('Maven finds what the user has fetched, and writes to a repository of the item’s own', async () => {
  const folder = await testFolder();
  const [user, home, worktree] = ['user', 'home', 'worktree'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await mkdir(join(user, '.m2/repository/org/x'), { recursive: true });
  await writeFile(join(user, '.m2/repository/org/x/x.jar'), 'a jar');
  await mkdir(home);
  await mkdir(worktree);
  await writeFile(join(worktree, 'pom.xml'), '');
  vi.stubEnv('HOME', user);
  onTestFinished(() => void vi.unstubAllEnvs());
  const wish = { worktree, env: { HOME: home, MAVEN_OPTS: '-Xmx1g' } };
  const { env } = await cachesFor(wish, { shared: join(folder, 'shared'), home });
  expect(env['MAVEN_OPTS']).toBe(`-Xmx1g -Dmaven.repo.local=${home}/.m2/repository`);
  const jar = join(home, '.m2/repository/org/x/x.jar');
  expect(await readFile(jar, 'utf8')).toBe('a jar');
  expect((await lstat(jar)).isSymbolicLink()).toBe(true);
  expect((await lstat(join(home, '.m2/repository/org'))).isDirectory()).toBe(true);

  // A path with a space can't be named there.
  const elsewhere = await mkdtemp(join(tmpdir(), 'agentos-maven-'));
  onTestFinished(() => rm(elsewhere, { recursive: true }));
  await mkdir(join(elsewhere, 'org/y'), { recursive: true });
  const other = join(folder, 'other');
  await mkdir(other);
  const named = { worktree, env: { HOME: other, MAVEN_OPTS: `-Dmaven.repo.local=${elsewhere}` } };
  await cachesFor(named, { shared: join(folder, 'shared'), home: other });
  expect((await lstat(join(other, '.m2/repository/org/y'))).isDirectory()).toBe(true);
});
