import { expect, test } from 'vitest';
import type { Problem } from './errors.ts';
import { wordingOf } from './wording.ts';

const NASTY = 'a\nb\r\n\u001B[31mc\u0007\u009B2Jd\u2028e';

const nasty: Problem[] = [
  { code: 'usage', reason: NASTY, hint: NASTY },
  { code: 'bad-id', id: NASTY },
  { code: 'config-unreadable', file: NASTY, reason: 'ENOENT' },
  { code: 'config-invalid', file: NASTY, line: 3, path: NASTY, reason: NASTY },
  { code: 'model-spec-invalid', spec: NASTY, reason: NASTY },
  { code: 'prompt-invalid', file: NASTY, reason: NASTY },
  { code: 'repository-missing', directory: NASTY },
  { code: 'state-unwritable', directory: NASTY, reason: 'EROFS' },
  { code: 'issue-missing', id: '1', path: NASTY, near: [] },
  { code: 'provider-refused-request', provider: 'openai', status: 400, detail: NASTY },
  { code: 'command-failed', command: NASTY, exitCode: 1, signal: null, detail: NASTY },
  { code: 'git-failed', command: NASTY, exitCode: 128, detail: NASTY },
  { code: 'run-missing', run: NASTY },
  { code: 'internal', detail: NASTY },
];

test.each(nasty)('$code is one line of plain text, whatever it is told', (problem) => {
  const { message, hint } = wordingOf(problem);
  expect(message).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
  expect(message.length).toBeGreaterThan(5);
  expect(hint ?? '').not.toMatch(/[\p{Cc}\u2028\u2029]/u);
});

test('a code of the operating system is put into words, another reason is taken as it is', () => {
  const unwritable = (reason: string): string => wordingOf({ code: 'output-unwritable', path: '/x', reason }).message;
  expect(unwritable('ENOSPC')).toBe('/x could not be written: the disk is full.');
  expect(unwritable('a strange thing')).toBe('/x could not be written: a strange thing.');
  const prompt = (reason: string): string => wordingOf({ code: 'prompt-invalid', file: 'p.md', reason }).message;
  expect(prompt('EISDIR')).toBe("p.md can't be read: it is a folder.");
  expect(prompt('is empty')).toBe('p.md is empty.');
});

test('a missing key names the variables and the flag for another model', () => {
  const { message, hint } = wordingOf({
    code: 'key-missing',
    provider: 'google',
    variables: ['GEMINI_API_KEY', 'GEMINI_API_KEYS'],
    role: 'reviewer',
  });
  expect(message).toBe('The reviewer needs a key for google, and there is none.');
  expect(hint).toBe('Set GEMINI_API_KEY or GEMINI_API_KEYS, or choose another model with --reviewer.');
});

test('a mistake in the configuration is told as file:line', () => {
  const problem = {
    code: 'config-invalid',
    file: 'agentos.yaml',
    path: 'bounds.x',
    reason: 'is not a setting',
  } as const;
  expect(wordingOf({ ...problem, line: 7 }).message).toBe('agentos.yaml:7: bounds.x is not a setting.');
  expect(wordingOf({ ...problem, line: null }).message).toBe('agentos.yaml: bounds.x is not a setting.');
});

test('an id that is not one is shown shortened and escaped', () => {
  expect(wordingOf({ code: 'bad-id', id: '../\n' }).message).toBe('"../\\n" is not a valid id.');
  expect(wordingOf({ code: 'bad-id', id: 'x'.repeat(10_000) }).message.length).toBeLessThan(160);
});
