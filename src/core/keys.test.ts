import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import {
  keysAmong,
  keyVariables,
  readKeys,
  secretsIn,
  standardKeysAtHome,
  type VendorName,
  withoutSecrets,
} from './keys.ts';

const shown = (keys: ReturnType<typeof readKeys>): unknown =>
  keys.map(({ id, vendor, secret }) => [id, vendor, secret.reveal()]);

test('keys come from one variable, from several in one, and from those that the configuration names first', () => {
  const env = {
    ANTHROPIC_API_KEY: 'key-a',
    ANTHROPIC_API_KEYS: 'key-b, key-c,,',
    TEAM: 'key-t',
    GEMINI_API_KEY: 'key-g',
  };
  expect(shown(readKeys(env, { anthropic: ['TEAM'] }))).toEqual([
    ['TEAM', 'anthropic', 'key-t'],
    ['ANTHROPIC_API_KEY', 'anthropic', 'key-a'],
    ['ANTHROPIC_API_KEYS#1', 'anthropic', 'key-b'],
    ['ANTHROPIC_API_KEYS#2', 'anthropic', 'key-c'],
    ['GEMINI_API_KEY', 'google', 'key-g'],
  ]);
});

test('a key that stands in two variables of a vendor is one key', () => {
  const env = { OPENAI_API_KEY: 'same', OPENAI_API_KEYS: 'same,other' };
  expect(readKeys(env, {}).map((key) => key.id)).toEqual(['OPENAI_API_KEY', 'OPENAI_API_KEYS#2']);
});

test('an empty or blank variable holds no key', () => {
  expect(readKeys({ ANTHROPIC_API_KEY: '', GEMINI_API_KEY: '  ', OPENAI_API_KEYS: ' , ' }, {})).toEqual([]);
});

test('a server of one’s own has no standard variable', () => {
  expect(keyVariables('openai-compatible')).toEqual([]);
  expect(keyVariables('openai-compatible', ['MINE'])).toEqual(['MINE']);
  expect(keyVariables('google', ['GEMINI_API_KEY'])).toEqual(['GEMINI_API_KEY', 'GEMINI_API_KEYS']);
});

test('a key shows itself in no text, JSON or inspection', () => {
  const [key] = readKeys({ ANTHROPIC_API_KEY: 'sk-very-secret' }, {});
  const shownKey = [String(key?.secret), JSON.stringify(key), inspect(key, { depth: 9, showHidden: true })].join('\n');
  expect(shownKey).toContain('ANTHROPIC_API_KEY');
  expect(shownKey).not.toContain('very');
});

test.each([
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEYS',
  'MY_APIKEY',
  'GITHUB_TOKEN',
  'GH_TOKEN_READ',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_ACCESS_KEY_ID',
  'PGPASSWORD',
  'MYSQL_PWD',
  'DB_PASSWORD',
  'SSH_PASSPHRASE',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
])('%s is left out by its name', (name) => {
  expect(withoutSecrets({ [name]: 'x' }, [], [])).toEqual({});
});

test('what only resembles a secret is kept', () => {
  const env = {
    PATH: '/bin',
    HOME: '/home',
    PWD: '/here',
    OLDPWD: '/there',
    KEYBOARD: 'de',
    MAX_TOKENS: '9',
    LANG: 'C',
  };
  expect(withoutSecrets({ ...env, GONE: undefined }, [], [])).toEqual(env);
});

test('a key is left out of other variables by its value, unless one is passed by name', () => {
  const keys = readKeys({ ANTHROPIC_API_KEY: 'sk-0123456789' }, {});
  const env = { HEADER: 'x-api-key: sk-0123456789', MY_TOKEN: 'abc', PLAIN: 'sk' };
  expect(withoutSecrets(env, keys, [])).toEqual({ PLAIN: 'sk' });
  expect(withoutSecrets(env, keys, ['HEADER', 'MY_TOKEN'])).toEqual(env);
});

test('a dummy key does not take the PATH with it', () => {
  const keys = readKeys({ ANTHROPIC_API_KEY: 'x', GEMINI_API_KEY: 'test' }, {});
  expect(withoutSecrets({ PATH: '/usr/local/test/x' }, keys, [])).toEqual({ PATH: '/usr/local/test/x' });
});

test('the address of a collector is kept, unless it holds a password', () => {
  const name = 'OTEL_EXPORTER_OTLP_ENDPOINT';
  expect(withoutSecrets({ [name]: 'http://localhost:4318' }, [], [])).toHaveProperty(name);
  expect(withoutSecrets({ [name]: 'https://me:pass@host' }, [], [])).toEqual({});
});

test('what must not be shown because of its name is known as a whole and in its parts', () => {
  const env = {
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=0123456789,project=mine',
    GITHUB_TOKEN: 'gh-0123456',
    LANG: 'C.UTF-8.x',
  };
  expect(secretsIn(env).map((secret) => secret.reveal())).toEqual([
    'x-api-key=0123456789,project=mine',
    'x-api-key=0123456789',
    '0123456789',
    'project=mine',
    'gh-0123456',
  ]);
});

const SECRET = 'sk-ant-0123456789abcdef';

test('a vendor’s standard key is for its own host, or for one that the environment names; other keys go where they are named for', () => {
  const env = {
    ANTHROPIC_API_KEY: SECRET,
    COPY: SECRET,
    OPENAI_API_KEY: 'sk-openai-012345678',
    OWN: 'key-of-the-gateway',
  };
  const named = { anthropic: ['COPY', 'OWN'], 'openai-compatible': ['OPENAI_API_KEY'] } as const;
  const split = (endpoints: Partial<Record<VendorName, string>>, more: Record<string, string> = {}) => {
    const all = { ...env, ...more };
    const { kept, withheld } = standardKeysAtHome(readKeys(all, named), endpoints, all);
    return { kept: kept.map(({ id }) => id), withheld: withheld.map(({ id }) => id) };
  };
  const all = ['COPY', 'OWN', 'OPENAI_API_KEY', 'OPENAI_API_KEY'];
  expect(split({})).toEqual({ kept: all, withheld: [] });
  expect(split({ anthropic: 'https://api.anthropic.com/v1' })).toEqual({ kept: all, withheld: [] });
  expect(split({ anthropic: 'https://evil.example', 'openai-compatible': 'http://127.0.0.1:1/v1' })).toEqual({
    kept: ['OWN', 'OPENAI_API_KEY'],
    withheld: ['COPY', 'OPENAI_API_KEY'],
  });
  const own = { ANTHROPIC_BASE_URL: 'https://proxy.example/v1' };
  expect(split({ anthropic: 'https://proxy.example' }, own).withheld).toEqual([]);
  expect(split({ anthropic: 'https://evil.example' }, own).withheld).toEqual(['COPY']);
  expect(split({}, own)).toEqual({ kept: all, withheld: [] });
});

test('a standard key is not for another vendor, unless that has the same key', () => {
  const named = { google: ['ANTHROPIC_API_KEY'] } as const;
  const withheld = (env: Record<string, string>, endpoints: Partial<Record<VendorName, string>> = {}): string[] =>
    standardKeysAtHome(readKeys(env, named), endpoints, env).withheld.map(({ vendor }) => vendor);
  expect(withheld({ ANTHROPIC_API_KEY: SECRET })).toEqual(['google']);
  expect(withheld({ ANTHROPIC_API_KEY: SECRET, GOOGLE_GEMINI_BASE_URL: 'https://proxy.example' })).toEqual(['google']);
  expect(withheld({ ANTHROPIC_API_KEY: SECRET, GEMINI_API_KEY: SECRET })).toEqual([]);
  expect(withheld({ ANTHROPIC_API_KEY: SECRET }, { google: 'https://api.anthropic.com' })).toEqual([]);
});

test('a variable that holds a key, or is there for one, can’t be handed over', () => {
  const env = { ANTHROPIC_API_KEY: SECRET, NOTE: `my key is ${SECRET}`, NPM_TOKEN: 'npm_0123456789' };
  const known = { keys: readKeys(env, {}), named: { openai: ['MINE'] } };
  const names = ['ANTHROPIC_API_KEY', 'GEMINI_API_KEYS', 'MINE', 'NOTE', 'NPM_TOKEN'];
  expect(keysAmong(names, env, known)).toEqual(['ANTHROPIC_API_KEY', 'GEMINI_API_KEYS', 'MINE', 'NOTE']);
});

test('credentials in the URLs of proxies and registries are handed over by name only; the addresses stay', () => {
  const env = {
    HTTPS_PROXY: 'http://user:p%40ss@proxy:8080',
    GOPROXY: 'https://me@corp.example:secret@goproxy.example/x,https://proxy.golang.org,direct',
    npm_config_registry: 'https://token@registry.example/npm/',
    PIP_INDEX_URL: 'https://a:b@pypi.example/simple',
    NOTE: 'mail me@example.org',
  };
  expect(withoutSecrets(env, [], ['PIP_INDEX_URL'])).toEqual({
    HTTPS_PROXY: 'http://proxy:8080',
    GOPROXY: 'https://goproxy.example/x,https://proxy.golang.org,direct',
    npm_config_registry: 'https://registry.example/npm/',
    PIP_INDEX_URL: 'https://a:b@pypi.example/simple',
    NOTE: 'mail me@example.org',
  });
});
