import { expect, test } from 'vitest';
import { claimsOfSettings } from './trust.ts';

const where = (settings: Parameters<typeof claimsOfSettings>[0]): string[] =>
  claimsOfSettings(settings).map((claim) => claim.where);

test('an address or key for tokens, and writing to a repository that is named, need trust', () => {
  expect(where({ github: { apiUrl: 'https://evil.example.org' } })).toEqual(['github.apiUrl']);
  expect(where({ gitlab: { apiUrl: 'https://evil.example.org' } })).toEqual(['gitlab.apiUrl']);
  expect(where({ github: { app: { id: 1, installation: 2, keyFile: '../key.pem' } } })).toEqual(['github.app.keyFile']);
  expect(where({ source: 'github:victim/repository', comment: true })).toEqual(['source, forge']);
  expect(where({ forge: 'gitlab:victim/repository', pr: { open: true } })).toEqual(['source, forge']);
});

test('reading issues, and writing to the repository of origin, need none', () => {
  expect(where({ source: 'github:acme/widget', select: { label: 'x' }, pr: { ready: 'never' } })).toEqual([]);
  expect(where({ source: 'github', comment: true, pr: { open: true } })).toEqual([]);
});
