import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { keyVariables, readKeys, secretsIn, withoutSecrets } from './keys.ts';

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
