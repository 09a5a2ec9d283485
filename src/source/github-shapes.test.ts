import { expect, test } from 'vitest';
import { answersTo, headOf, isItem, issueSchema, pullSchema } from './github-shapes.ts';

test('an issue needs a number, a title and a state; what is only shown may be left out', () => {
  const issue = issueSchema.parse({ number: 7, title: 'Add', state: 'open' });
  expect(isItem(issue)).toBe(true);
  expect(headOf(issue)).toEqual({ id: '7', title: 'Add', chars: 3, blockers: 0 });
  expect(issueSchema.safeParse({ number: 7, title: 'Add' }).success).toBe(false);
});

test('pull requests without an address are still told apart', () => {
  const head = { ref: 'agentos/7-add', repo: { full_name: 'o/n' } };
  const pulls = [1, 2].map((number) => pullSchema.parse({ number, state: 'open', head }));
  expect(answersTo(7, 'o/n', [], pulls).map(({ number }) => number)).toEqual([1, 2]);
});
