import { expect, test } from 'vitest';
import type { ErrorRecord, Problem } from '../core/errors.ts';
import { createHaltRule } from './loop.ts';

function failure(problem: Problem): ErrorRecord {
  return { problem, retry: 'permanent' };
}
const KEY = failure({ code: 'provider-rejected-key', provider: 'anthropic', status: 401, detail: '' });
const GIT = failure({ code: 'git-missing' });

test('three failures in a row with the same cause halt, a success in between resets the count', () => {
  const rule = createHaltRule(null);
  expect([KEY, KEY, null, KEY, KEY].map((end) => rule.ended(end))).toEqual([null, null, null, null, null]);
  expect(rule.ended(KEY)).toEqual({ failures: 3, cause: 'provider-rejected-key' });
});

test('failures with different causes never halt by default', () => {
  const rule = createHaltRule(null);
  expect([KEY, GIT, KEY, GIT, KEY, GIT].map((end) => rule.ended(end))).toEqual(Array.from({ length: 6 }, () => null));
});

test('a limit counts every failure, whatever its cause', () => {
  const rule = createHaltRule(2);
  expect(rule.ended(KEY)).toBeNull();
  expect(rule.ended(null)).toBeNull();
  expect(rule.ended(GIT)).toEqual({ failures: 2, cause: 'git-missing' });
});
