import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { gitIn, type WorktreeBench, worktreeBench } from '../../test/support/worktree.ts';
import { Secret } from '../core/secret.ts';
import { createShownGit, itemEnvironment } from './item-environment.ts';

const KEYS = [{ id: 'K', vendor: 'openai', secret: new Secret('sk-very-secret-1') }] as const;

function environmentOf(
  bench: WorktreeBench,
  env: Record<string, string>,
  pass: string[] = [],
): Promise<Record<string, string>> {
  return itemEnvironment({
    env: { PATH: process.env['PATH'] ?? '', HOME: bench.home, ...env },
    home: join(bench.base, 'homes', 'implement-42'),
    caches: join(bench.base, 'caches'),
    worktree: bench.directory,
    pass,
    keys: KEYS,
    git: bench.user,
  });
}

test('toolchains, languages and proxies are kept; credentials, sockets and the unknown are not', async () => {
  const bench = await worktreeBench();
  const kept = {
    LANG: 'de_DE.UTF-8',
    LC_TIME: 'C',
    TZ: 'UTC',
    CI: 'true',
    https_proxy: 'http://proxy:1',
    NO_PROXY: 'x',
    SSL_CERT_FILE: '/c',
    CARGO_HOME: '/cargo',
    GOPATH: '/go',
    GOFLAGS: '-mod=mod',
    npm_config_cache: '/npm',
    NPM_CONFIG_REGISTRY: 'https://registry.example',
    PIP_INDEX_URL: 'https://pip.example',
    GIT_AUTHOR_NAME: 'E',
    TRACEPARENT: '00-1-2-01',
    AGENTOS_WORKER: 'tag',
  };
  const dropped = {
    SSH_AUTH_SOCK: '/s',
    DISPLAY: ':0',
    DBUS_SESSION_BUS_ADDRESS: 'x',
    XDG_RUNTIME_DIR: '/run',
    AWS_PROFILE: 'p',
    KUBECONFIG: '/k',
    DOCKER_HOST: 'd',
    GITHUB_TOKEN: 't',
    NPM_TOKEN: 't',
    NPM_CONFIG__AUTH: 'a',
    NPM_CONFIG_USERCONFIG: '/u',
    npm_config_userconfig: '/u',
    npm_config_local_prefix: '/other/project',
    npm_package_name: 'other',
    CARGO_REGISTRY_TOKEN: 't',
    UV_PUBLISH_TOKEN: 't',
    GIT_DIR: '/g',
    GIT_INDEX_FILE: '/i',
    VIRTUAL_ENV: '/v',
    NODE_ENV: 'production',
    DATABASE_URL: 'postgres://u:p@h/d',
  };
  const env = await environmentOf(bench, { ...kept, ...dropped });
  expect(env).toMatchObject(kept);
  for (const name of Object.keys(dropped)) expect(env, name).not.toHaveProperty(name);
});

test('home, caches and temporary files are ours, and toolchains in the real home are still found', async () => {
  const bench = await worktreeBench();
  await mkdir(join(bench.home, '.rustup'));
  const env = await environmentOf(bench, {});
  const home = join(bench.base, 'homes', 'implement-42');
  expect(env['MAVEN_OPTS']).toBe(`-Dmaven.repo.local=${join(bench.base, 'caches', 'maven')}`);
  expect(env).toMatchObject({
    HOME: home,
    USERPROFILE: home,
    TMPDIR: join(home, 'tmp'),
    RUSTUP_HOME: join(bench.home, '.rustup'),
  });
  expect(env).not.toHaveProperty('PYENV_ROOT');
  const elsewhere = Object.entries(env).filter(([name, value]) => value.includes(bench.home) && name !== 'RUSTUP_HOME');
  expect(elsewhere).toEqual([]);
  const caches = [
    'npm_config_cache',
    'PIP_CACHE_DIR',
    'GOCACHE',
    'GOMODCACHE',
    'CARGO_HOME',
    'UV_CACHE_DIR',
    'YARN_CACHE_FOLDER',
  ];
  for (const name of caches) expect(env[name], name).toContain(join(bench.base, 'caches'));
  expect(await readdir(bench.home)).toEqual(['.rustup']);
});

test('a variable is handed over by name, but never with one of our keys in it', async () => {
  const bench = await worktreeBench();
  const given = { MY_TOKEN: 'mine', DATABASE_URL: 'x', WITH_KEY: 'Bearer sk-very-secret-1', LANG: 'sk-very-secret-1' };
  const env = await environmentOf(bench, given, ['MY_TOKEN', 'DATABASE_URL', 'WITH_KEY']);
  expect(env).toMatchObject({ MY_TOKEN: 'mine', DATABASE_URL: 'x' });
  expect(JSON.stringify(env)).not.toContain('sk-very-secret-1');
});

test('git in there commits as the user and never finds the user’s repository', async () => {
  const bench = await worktreeBench();
  bench.git('config', 'user.name', 'A "quoted" \\ Person');
  const { worktree } = await bench.open();
  const env = await environmentOf(bench, {});
  await mkdir(join(bench.base, 'elsewhere'));
  gitIn(join(bench.base, 'elsewhere'), env, 'init', '--quiet');
  expect(gitIn(join(bench.base, 'elsewhere'), env, 'config', 'user.name')).toBe('A "quoted" \\ Person');
  expect(gitIn(join(worktree.directory, 'src'), env, 'rev-parse', '--show-toplevel')).toBe(worktree.directory);
  await rm(join(worktree.directory, '.git'));
  for (const folder of [
    worktree.directory,
    join(worktree.directory, 'src'),
    join(bench.base, 'worktrees'),
    bench.base,
  ]) {
    const find = (): string =>
      execFileSync('git', ['rev-parse', '--show-toplevel'], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' });
    expect(find, folder).toThrow('not a git repository');
  }
});

test('where packages come from is read from the user’s settings; passwords, tokens and programs are not', async () => {
  const bench = await worktreeBench();
  const home = join(bench.base, 'homes', 'implement-42');
  const write = async (path: string, lines: string[]): Promise<void> => {
    await mkdir(dirname(join(bench.home, path)), { recursive: true });
    await writeFile(join(bench.home, path), `${lines.join('\n')}\n`);
  };
  await write('.npmrc', [
    'registry=https://mirror.example/npm/',
    '@own:registry = https://own.example/',
    '//mirror.example/npm/:_authToken=npm_secret',
    '_password=c2VjcmV0',
    'script-shell=/home/me/shell',
    'ignore-scripts=true',
  ]);
  await write('.config/pip/pip.conf', [
    '[global]',
    'index-url = https://me:secret@mirror.example/simple',
    'extra-index-url =',
    '    file:///opt/simple',
    '    https://me:secret@other.example/simple',
    'find-links = /opt/wheels',
    'client-cert = /home/me/key.pem',
  ]);
  await write('.config/pnpm/rc', ['manage-package-manager-versions=false', 'script-shell=/home/me/shell']);
  await write('.config/go/env', ['GOPROXY=https://go.example', 'GOAUTH=netrc']);
  await environmentOf(bench, {});
  const read = (path: string): Promise<string> => readFile(join(home, path), 'utf8');
  expect(await read('.npmrc')).toBe(
    'registry=https://mirror.example/npm/\n@own:registry = https://own.example/\nignore-scripts=true\n',
  );
  expect(await read('.config/pip/pip.conf')).toBe(
    '[global]\nextra-index-url =\n    file:///opt/simple\nfind-links = /opt/wheels\n',
  );
  expect(await read('.config/pnpm/rc')).toBe('manage-package-manager-versions=false\n');
  expect(await read('.config/go/env')).toBe('GOPROXY=https://go.example\n');
});

test('of what a repository borrows objects from, only folders of objects are shown', async () => {
  const [bench, other] = [await worktreeBench(), await worktreeBench()];
  const borrowed = join(other.root, '.git', 'objects');
  await mkdir(join(other.home, 'objects'));
  const named = [borrowed, other.home, join(other.home, 'objects'), '../../..'];
  await writeFile(join(bench.root, '.git', 'objects', 'info', 'alternates'), `${named.join('\n')}\n`);
  const look = await createShownGit(bench.user, bench.directory);
  const { commonDir, parts } = await look();
  expect(parts.filter((path) => !path.startsWith(`${commonDir}/`))).toEqual([borrowed]);
});
