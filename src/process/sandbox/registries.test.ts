import { expect, test } from 'vitest';
import { type AllowedHost, allowedHosts, type RegistrySources } from './registries.ts';
import { allowedFor, isPrivateAddress } from './registry-proxy.ts';

const NONE: RegistrySources = { env: {}, hosts: [], machine: {}, repository: {} };

/** Those that are not always there. */
function named(sources: Partial<RegistrySources>): AllowedHost[] {
  return allowedHosts({ ...NONE, ...sources }).slice(allowedHosts(NONE).length);
}

test('the usual registries are reached at any port, and nothing else', () => {
  const usual = allowedHosts(NONE);
  const isAllowed = (host: string, port = 443): boolean => allowedFor(usual, host, port) !== undefined;
  expect(
    ['registry.npmjs.org', 'PyPI.org', 'files.pythonhosted.org', 'static.crates.io'].map((host) => isAllowed(host)),
  ).toEqual([true, true, true, true]);
  expect(
    ['proxy.golang.org', 'repo.maven.apache.org', 'rubygems.org', 'repo.packagist.org', 'api.nuget.org'].every((host) =>
      isAllowed(host),
    ),
  ).toBe(true);
  expect(
    ['github.com', 'npmjs.org', 'evil-registry.npmjs.org', 'registry.npmjs.org.evil.org', '127.0.0.1'].some((host) =>
      isAllowed(host),
    ),
  ).toBe(false);
});

test('the configuration and the environment name more, which are trusted wherever they are', () => {
  const env = {
    npm_config_registry: 'http://127.0.0.1:4873/',
    'npm_config_@mine:registry': 'https://npm.example.org/x/',
    PIP_INDEX_URL: 'https://user:secret@pypi.example.org/simple',
    PIP_FIND_LINKS: '/opt/wheels',
    GOPROXY: 'https://go.example.org,direct',
    UV_INDEX: 'https://a.example.org/simple https://b.example.org/simple',
    HTTPS_PROXY: 'http://proxy.example.org',
    HOMEPAGE: 'https://not.example.org',
  };
  const hosts = named({ env, hosts: ['*.Example.net', 'host:8080'] });
  expect(hosts.map(({ host, port }) => [host, port])).toEqual([
    ['*.example.net', null],
    ['host', 8080],
    ['127.0.0.1', 4873],
    ['npm.example.org', 443],
    ['pypi.example.org', 443],
    ['go.example.org', 443],
    ['a.example.org', 443],
    ['b.example.org', 443],
  ]);
  expect(hosts.every(({ isTrusted }) => isTrusted)).toBe(true);
  expect(allowedFor(hosts, 'deep.in.example.net', 1)).toBeDefined();
  expect(allowedFor(hosts, 'example.net', 1)).toBeUndefined();
  expect(allowedFor(hosts, 'host', 80)).toBeUndefined();
});

test.each([
  ['.npmrc', 'x=1\n@mine:registry = "https://a.example.org/"\nregistry=https://b.example.org', ['a', 'b']],
  ['.yarnrc.yml', 'npmRegistryServer: "https://a.example.org"\n', ['a']],
  ['requirements.txt', '--extra-index-url https://a.example.org/simple\n# https://no.example.org\nflask\n', ['a']],
  [
    'pyproject.toml',
    '[project.urls]\nHomepage = "https://no.example.org"\n[[tool.uv.index]]\nurl = "https://a.example.org"\n',
    ['a'],
  ],
  ['.cargo/config.toml', '[registries.mine]\nindex = "sparse+https://a.example.org/index/"\n', ['a']],
  ['Gemfile', "source 'https://a.example.org'\ngem 'x', git: 'https://no.example.org'\n", ['a']],
])('%s of the repository names registries, which are not trusted with this machine', (file, text, names) => {
  const hosts = named({ repository: { [file]: text } });
  expect(hosts).toEqual(names.map((name) => ({ host: `${name}.example.org`, port: 443, isTrusted: false })));
});

test('a repository can name no port of this machine', () => {
  const text = 'registry=http://127.0.0.1:2375/\n@a:registry=http://localhost:1/\n@b:registry=http://[::1]:1/\n';
  expect(named({ repository: { '.npmrc': text } })).toEqual([]);
  expect(named({ machine: { '/etc/npmrc': text } })).toHaveLength(3);
});

test('addresses that are not on the internet are known', () => {
  const inside = ['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'];
  expect(
    [...inside, '::1', '::', 'fe80::1', 'fd00::1', '::ffff:127.0.0.1'].filter((address) => !isPrivateAddress(address)),
  ).toEqual([]);
  expect(['203.0.113.80', '8.8.8.8', '172.32.0.1', '2606:4700::1'].filter(isPrivateAddress)).toEqual([]);
});
