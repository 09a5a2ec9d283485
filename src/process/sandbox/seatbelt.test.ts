import { expect, test } from 'vitest';
import type { Rule } from './rules.ts';
import { seatbeltProfile } from './seatbelt.ts';

const rule = (path: string, access: Rule['access']): Rule => ({ path, access, source: path, isFolder: true });

const RULES = [
  rule('/Users', 'hidden'),
  rule('/Users/me', 'private'),
  rule('/Users/me/.nvm', 'read'),
  rule('/Users/me/odd "name"', 'write'),
];

test('what is hidden is denied, and what is shown in it is allowed after that', () => {
  expect(seatbeltProfile(RULES, false)).toBe(`(version 1)
(allow default)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper") (literal "/dev/stdout") (literal "/dev/stderr"))
(deny file-read* file-write* (subpath "/Users"))
(deny file-read* file-write* (subpath "/Users/me"))
(allow file-read* (subpath "/Users/me/.nvm"))
(deny file-write* (subpath "/Users/me/.nvm"))
(allow file-read* file-write* (subpath "/Users/me/odd \\"name\\""))
(allow file-read-metadata (literal "/Users"))
(allow file-read-metadata (literal "/Users/me"))
(deny mach-lookup (global-name "com.apple.pasteboard.1") (global-name "com.apple.coreservices.launchservicesd") (global-name "com.apple.coreservices.appleevents") (global-name "com.apple.SecurityServer") (global-name "com.apple.securityd.xpc"))
(deny appleevent-send)
(deny lsopen)
(deny network*)
(allow network-bind (local ip "localhost:*"))
(allow network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
`);
});

test('an agent with its own login has the network and the keychain', () => {
  const profile = seatbeltProfile(RULES, true);
  expect(profile).not.toMatch(/network|SecurityServer/);
  expect(profile).toContain('(deny lsopen)');
});
