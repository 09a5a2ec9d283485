import { expect, test } from 'vitest';
import { type CaseResult, type DesignResult, type Evaluation, evaluationOf, type ReviewResult } from './evaluation.ts';

const evaluate = (results: CaseResult[]): Evaluation => evaluationOf(results, results);

const review = (name: string, candidate: string, verdict: ReviewResult['said']['verdict']): ReviewResult => ({
  kind: 'review',
  case: name,
  candidate,
  right: 'REVISE',
  because: 'revised',
  said: { verdict, findings: 0, confirmed: 0 },
  recorded: { verdict: 'REVISE', findings: 1, confirmed: 1 },
  costUsd: 1,
});

const design = (candidate: string, files: number, costUsd: number | null): DesignResult => ({
  kind: 'design',
  case: '1',
  candidate,
  said: { verdict: 'APPROVED', rounds: 2, repairs: 1, files },
  recorded: { verdict: 'DISCUSS', rounds: 3, repairs: null, files: null },
  costUsd,
});

test('only cases that every candidate finished are compared; each row has its own', () => {
  const { reviews } = evaluate([
    ...['1', '2', '3'].map((name) => review(name, 'a', 'APPROVED')),
    review('4', 'a', 'REVISE'),
    ...['1', '2', '3'].map((name) => review(name, 'b', 'REVISE')),
  ]);
  expect(reviews?.cases).toBe(4);
  expect(reviews?.recorded).toMatchObject({ cases: 4, agreed: 4, findings: 4, confirmed: 4, costUsd: null });
  expect(reviews?.candidates.map(({ cases, agreed, missed }) => [cases, agreed, missed])).toEqual([
    [4, 1, 3],
    [3, 3, 0],
  ]);
  // Three of three against none: two of eight ways by chance alone.
  expect(reviews?.best).toMatchObject({ candidate: 'b', cases: 3, hits: 3, runnerUp: { hits: 0, chance: 0.25 } });
});

test('without a case in common there is no best', () => {
  const { reviews } = evaluate([review('1', 'a', 'REVISE'), review('2', 'b', 'REVISE')]);
  expect(reviews?.best).toBeNull();
});

test('a candidate that finished nothing has its row, and nothing is called best', () => {
  const failed = { kind: 'review', candidate: 'b' } as const;
  const one = review('1', 'a', 'REVISE');
  const { reviews } = evaluationOf([one, failed], [one]);
  expect(reviews?.candidates.map(({ candidate, cases }) => [candidate, cases])).toEqual([
    ['a', 1],
    ['b', 0],
  ]);
  expect(reviews?.best).toBeNull();
});

test('ten cases that only one gets right are more than chance', () => {
  const names = Array.from({ length: 10 }, (_, at) => String(at));
  const results = names.flatMap((name) => [review(name, 'a', 'DISCUSS'), review(name, 'b', 'REVISE')]);
  const best = evaluate(results).reviews?.best;
  expect(best).toMatchObject({ candidate: 'b', between: [expect.closeTo(0.722, 3), 1] });
  expect(best?.runnerUp?.chance).toBeCloseTo(2 / 1024);
});

test('among equals files decide, then the cost', () => {
  const best = (...results: DesignResult[]) => evaluate(results).designs?.best?.candidate;
  expect(best(design('a', 0.5, 1), design('b', 1, 2))).toBe('b');
  expect(best(design('a', 1, 2), design('b', 1, 1))).toBe('b');
  expect(evaluate([design('a', 1, null)]).designs?.candidates[0]).toMatchObject({ costUsd: null, repairs: 1 });
});
