import { expect, test } from 'vitest';
import { toErrorRecord } from './errors.ts';
import { proxyFor, proxyVariables, withLoopbackDirect } from './proxy.ts';
import { wordingOf } from './wording.ts';

test('no proxy is set by empty variables or by exceptions alone', () => {
  expect(proxyVariables({})).toBeNull();
  expect(proxyVariables({ HTTP_PROXY: ' ', https_proxy: '', NO_PROXY: 'a.example' })).toBeNull();
});

test('both spellings are read, with their exceptions; host and port are enough', () => {
  expect(proxyVariables({ HTTPS_PROXY: 'proxy.example:3128', no_proxy: 'a.example', PATH: '/bin' })).toEqual({
    HTTPS_PROXY: 'http://proxy.example:3128/',
    no_proxy: 'a.example',
  });
});

test.each(['foo', 'socks5://127.0.0.1:1080', 'http://', 'http://user:hunter2@', 'user:hunter2@proxy'])(
  '%s is refused with the name of its variable, and not repeated',
  (value) => {
    try {
      proxyVariables({ https_proxy: value });
      expect.unreachable();
    } catch (error) {
      const { message, hint } = wordingOf(toErrorRecord(error).problem);
      expect(message).toBe('https_proxy is not the URL of a proxy.');
      expect(`${message} ${hint}`).not.toContain('hunter2');
    }
  },
);

test('children reach this machine without the proxy, whichever spelling they read', () => {
  const loopback = '127.0.0.1,localhost,::1';
  expect(withLoopbackDirect({ NO_PROXY: 'a.example' })).toEqual({ NO_PROXY: 'a.example' });
  expect(withLoopbackDirect({ http_proxy: 'http://p:1' })).toMatchObject({ NO_PROXY: loopback, no_proxy: loopback });
  expect(withLoopbackDirect({ HTTP_PROXY: 'http://p:1', NO_PROXY: 'a.example, localhost' })).toMatchObject({
    NO_PROXY: 'a.example,localhost,127.0.0.1,::1',
    no_proxy: 'a.example,localhost,127.0.0.1,::1',
  });
  expect(withLoopbackDirect({ HTTP_PROXY: 'http://p:1', NO_PROXY: '*' })).toMatchObject({
    NO_PROXY: '*',
    no_proxy: '*',
  });
});

test.each([
  ['https over its own variable', 'a.org', true, 'http://secure:1/'],
  ['http over its own', 'a.org', false, 'http://plain:1/'],
  ['not for a host that is named', 'direct.org', true, null],
  ['nor for one below it', 'www.direct.org', true, null],
  ['nor by a suffix', 'x.suffix.org', true, null],
  ['but for one whose name ends alike', 'notdirect.org', true, 'http://secure:1/'],
])('the proxy for a host: %s', (_, host, isSecure, expected) => {
  const env = { HTTPS_PROXY: 'secure:1', http_proxy: 'http://plain:1', NO_PROXY: 'direct.org, .suffix.org:443' };
  expect(proxyFor(env, host, isSecure)?.href ?? null).toBe(expected);
  expect(proxyFor({ ...env, no_proxy: '*' }, host, isSecure)).toBeNull();
  expect(proxyFor({}, host, isSecure)).toBeNull();
});
