import { expect, test } from 'vitest';
import type { Problem } from './errors.ts';
import { type RunFacts, retryOf } from './summary.ts';

const RUN: RunFacts = {
  workflow: 'lld',
  flags: ['--parallel', '2'],
  models: { drafter: 'openai:gpt-nope', reviewer: 'google:gemini-3-pro-preview' },
  anySucceeded: false,
};
const refused = (provider: string): Problem => ({
  code: 'provider-refused-request',
  provider,
  status: 404,
  detail: 'no such model',
});
const passing: Problem = { code: 'provider-overloaded', provider: 'openai', status: 529, detail: 'x' };
const of = (problems: (Problem | null)[], run: Partial<RunFacts> = {}): ReturnType<typeof retryOf> =>
  retryOf(
    problems.map((problem, index) => ({ id: String(index + 1), problem })),
    { ...RUN, ...run },
  );

test('what may do better is retried as it was, with all that failed', () => {
  expect(of([])).toEqual({ command: null, changeFirst: null });
  expect(of([passing, null])).toEqual({ command: 'agentos lld --ids 1 2 --parallel 2', changeFirst: null });
  expect(of([passing, refused('openai')]).command).toBe('agentos lld --ids 1 2 --parallel 2');
});

test('no line repeats a model that was refused, unless it served another item', () => {
  const drafted = { flags: ['--drafter', 'openai:gpt-nope', '--parallel', '2'] };
  expect(of([refused('openai'), refused('openai')], drafted)).toEqual({
    command: 'agentos lld --ids 1 2 --parallel 2 --drafter <model>',
    changeFirst: { what: 'choose another model than openai:gpt-nope', flags: ['--drafter <model>'] },
  });
  expect(of([refused('google'), refused('openai')]).changeFirst?.flags).toEqual([
    '--reviewer <model>',
    '--drafter <model>',
  ]);
  expect(of([refused('elsewhere')]).changeFirst).toEqual({ what: 'choose another model', flags: [] });
  expect(of([refused('openai')], { anySucceeded: true }).command).toBe('agentos lld --ids 1 --parallel 2');
});

test.each<[Problem, string]>([
  [{ code: 'provider-rejected-key', provider: 'openai', status: 401, detail: '' }, 'set a key that openai accepts'],
  [
    { code: 'key-missing', missing: [{ provider: 'openai', variables: ['OPENAI_API_KEY'], roles: ['drafter'] }] },
    'OPENAI_API_KEY',
  ],
  [{ code: 'tests-undetected', directory: '/x', script: null, runner: null }, 'tests.command'],
  [{ code: 'lld-not-approved', id: '1', path: 'x', why: 'edited' }, 'agentos lld 1'],
  [{ code: 'over-budget', scope: 'item', spentUsd: 1, limitUsd: 2 }, '--max-cost-per-item'],
  [{ code: 'over-budget', scope: 'run', spentUsd: 0, limitUsd: 2 }, '--max-cost'],
])('$code asks for a change first', (problem, words) => {
  const { command, changeFirst } = of([problem]);
  expect(command).toMatch(/^agentos lld --ids 1 --parallel 2/);
  expect(`${changeFirst?.what} ${changeFirst?.flags.join(' ')}`).toContain(words);
});

test('a run whose budget was spent has its whole budget again in the next one', () => {
  expect(of([{ code: 'over-budget', scope: 'run', spentUsd: 1, limitUsd: 2 }]).changeFirst).toBeNull();
});
