import { expect, test } from 'vitest';
import { webHostOf } from '../../host/client.ts';
import { placeOfUrl } from './services.ts';

const API = { github: 'https://api.github.com', gitlab: 'https://git.example.org/api/v4' };

test.each([
  ['https://github.com/acme/widget.git', 'acme/widget', 'github'],
  ['https://me:secret@github.com/acme/widget', 'acme/widget', 'github'],
  ['git@github.com:acme/widget.git', 'acme/widget', 'github'],
  ['ssh://git@ssh.github.com:443/acme/widget.git', 'acme/widget', 'github'],
  ['git@git.example.org:group/sub/tool.git', 'group/sub/tool', 'gitlab'],
  ['https://gitlab.com/group/sub/tool/', 'group/sub/tool', 'gitlab'],
  ['https://codeberg.org/acme/widget', 'acme/widget', null],
  ['http://127.0.0.1:8080/acme/widget.git', 'acme/widget', null],
  ['https://git.example.org:8443/group/tool.git', 'group/tool', null],
])('%s is %s on %s', (url, path, host) => expect(placeOfUrl(url, API)).toEqual({ host, path }));

test.each([
  '/srv/git/widget.git',
  '../widget',
  'file:///srv/git/widget.git',
  'C:\\git\\widget',
  'https://github.com/',
  'x',
])('%s is on no service', (url) => expect(placeOfUrl(url, API)).toBeNull());

test('pages are where the interface is, but for github.com', () => {
  expect(webHostOf('https://api.github.com')).toBe('github.com');
  expect(webHostOf('https://ghe.example.org/api/v3')).toBe('ghe.example.org');
});
