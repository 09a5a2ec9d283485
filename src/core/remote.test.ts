import { expect, test } from 'vitest';
import { codeOf } from './errors.ts';
import { environmentTokens, parseSource, resolveRemote } from './remote.ts';

test.each([
  ['directory', null],
  ['github', { host: 'github', path: null }],
  ['github:acme/widget', { host: 'github', path: 'acme/widget' }],
  ['github:acme/widget.git', { host: 'github', path: 'acme/widget' }],
  ['gitlab:group/sub/tool', { host: 'gitlab', path: 'group/sub/tool' }],
  ['github:acme', undefined],
  ['github:a/b/c', undefined],
  ['github:../x', undefined],
  ['svn:x/y', undefined],
  ['', undefined],
])('a source of %j', (text, source) => expect(parseSource(text)).toEqual(source));

test('issues are opted in by a label, unless a search says which', () => {
  expect(resolveRemote({}, {}, {}).select.labels).toEqual(['agentos']);
  expect(resolveRemote({ label: 'a, b' }, {}, {}).select.labels).toEqual(['a', 'b']);
  expect(resolveRemote({ query: 'label:bug' }, {}, {}).select.labels).toEqual([]);
  expect(resolveRemote({}, { select: { query: 'x', label: 'y' } }, {}).select).toMatchObject({
    labels: ['y'],
    query: 'x',
  });
});

test('nothing is written unless a flag or the configuration says so', () => {
  expect(resolveRemote({}, {}, {})).toMatchObject({
    comment: false,
    create: false,
    pr: { open: false, ready: 'green' },
  });
  expect(resolveRemote({ pr: true }, { pr: { ready: 'never' } }, {}).pr).toEqual({ open: true, ready: 'never' });
});

test.each([
  ['https://ghe.example.org/api/v3/', 'https://ghe.example.org/api/v3'],
  ['http://127.0.0.1:99', 'http://127.0.0.1:99'],
  ['http://ghe.example.org/api/v3', null],
  ['https://me:secret@ghe.example.org', null],
  ['nonsense', null],
])('a token is sent to %s: %s', (url, used) => {
  const resolve = () => resolveRemote({}, {}, { GITHUB_API_URL: url }).apiUrls.github;
  if (used !== null) return expect(resolve()).toBe(used);
  try {
    resolve();
    expect.unreachable();
  } catch (error) {
    expect(codeOf(error)).toBe('usage');
    expect(String(error)).not.toContain('secret');
  }
});

test('every token of the environment is a secret, whichever is used', () => {
  const env = { GITHUB_TOKEN: 'one', GH_TOKEN: 'two', GITLAB_TOKEN: 'three', OTHER: 'four' };
  expect(environmentTokens(env).map((secret) => secret.reveal())).toEqual(['one', 'two', 'three']);
});
