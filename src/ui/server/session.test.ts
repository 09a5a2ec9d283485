import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { createSession } from './session.ts';

const session = createSession({
  token: 'the-token-0123456789',
  port: 7117,
  hosts: ['127.0.0.1', 'localhost', '[::1]'],
});
const request = (method: string, headers: Record<string, string>): IncomingMessage =>
  ({ method, headers }) as unknown as IncomingMessage;
const HERE = { host: '127.0.0.1:7117' };

test.each<[string, string, Record<string, string>, boolean]>([
  ['a page of its own', 'GET', { ...HERE, 'sec-fetch-site': 'same-origin' }, true],
  ['an address that was typed', 'GET', { ...HERE, 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, true],
  ['a link on another site', 'GET', { ...HERE, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, true],
  ['another name of this machine', 'GET', { host: 'localhost:7117' }, true],
  ['a program without a browser', 'GET', HERE, true],
  ['a name that was pointed here', 'GET', { host: 'evil.example:7117' }, false],
  ['no name at all', 'GET', {}, false],
  ['a script of another site', 'GET', { ...HERE, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, false],
  ['another server of this machine', 'GET', { ...HERE, 'sec-fetch-site': 'same-site' }, false],
  ['a form of its own', 'POST', { ...HERE, origin: 'http://127.0.0.1:7117' }, true],
  ['a form of another site', 'POST', { ...HERE, origin: 'https://evil.example' }, false],
  ['a form of another port', 'POST', { ...HERE, origin: 'http://127.0.0.1:3000' }, false],
  ['a form of a page without an origin', 'POST', { ...HERE, origin: 'null' }, false],
  ['a form that does not say where it is from', 'POST', HERE, false],
])('%s (%s): %j', (_, method, headers, isTaken) => {
  expect(session.refusal(request(method, headers)) === null).toBe(isTaken);
});

test('the token is exchanged for a cookie that scripts and other sites have no use of; nothing else is', () => {
  const cookie = session.cookieFor('the-token-0123456789') ?? '';
  expect(cookie).toMatch(/^agentos-ui-7117=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  expect(cookie).not.toContain('the-token');
  const [pair = ''] = cookie.split(';');
  expect(session.isSignedIn(request('GET', { cookie: `a=b; ${pair}` }))).toBe(true);
  for (const other of ['', 'a=b', pair.slice(0, -1), `${pair}x`, 'agentos-ui-7117=the-token-0123456789'])
    expect(session.isSignedIn(request('GET', { cookie: other }))).toBe(false);
  expect(session.cookieFor('another-token-012345')).toBeNull();
});

test('a key that others could read from a command line signs in once', () => {
  const key = session.oneTimeKey();
  expect(session.cookieFor(key)).not.toBeNull();
  expect(session.cookieFor(key)).toBeNull();
});
