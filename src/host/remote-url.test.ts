import { expect, test } from 'vitest';
import { hostOfPlace, placeOfUrl, webHostOf } from './remote-url.ts';

const API = { github: 'https://api.github.com', gitlab: 'https://git.example.org/api/v4' };

test.each([
  ['https://github.com/acme/widget.git', 'github.com', 'acme/widget', 'github'],
  ['https://me:secret@github.com/acme/widget', 'github.com', 'acme/widget', 'github'],
  ['git@github.com:acme/widget.git', 'github.com', 'acme/widget', 'github'],
  ['ssh://git@ssh.github.com:443/acme/widget.git', 'github.com', 'acme/widget', 'github'],
  ['git@git.example.org:group/sub/tool.git', 'git.example.org', 'group/sub/tool', 'gitlab'],
  ['https://gitlab.com/group/sub/tool/', 'gitlab.com', 'group/sub/tool', 'gitlab'],
  ['https://codeberg.org/acme/widget', 'codeberg.org', 'acme/widget', null],
  ['http://127.0.0.1:8080/acme/widget.git', '127.0.0.1:8080', 'acme/widget', null],
])('%s is %s of %s', (url, webHost, path, host) => {
  const place = placeOfUrl(url);
  expect(place).toEqual({ webHost, path });
  expect(place && hostOfPlace(place, API)).toBe(host);
});

test.each([
  '/srv/git/widget.git',
  '../widget',
  'file:///srv/git/widget.git',
  'C:\\git\\widget',
  'https://github.com/',
  'x',
])('%s is on no service', (url) => expect(placeOfUrl(url)).toBeNull());

test('pages are where the interface is, but for github.com', () => {
  expect(webHostOf('https://api.github.com')).toBe('github.com');
  expect(webHostOf('https://ghe.example.org/api/v3')).toBe('ghe.example.org');
});
