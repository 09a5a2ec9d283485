import { describe, expect, test } from 'vitest';
import type { ErrorRecord } from '../core/errors.ts';
import { NO_USAGE } from '../core/money.ts';
import { type CallEnd, createAccounts } from './accounts.ts';

const usage = { ...NO_USAGE, inputTokens: 10, outputTokens: 2 };
const answer: CallEnd = { usage, costUsd: 0.5, answered: 'm-1', begun: true, good: true, refusal: null };
const overBudget: ErrorRecord = {
  problem: { code: 'over-budget', spentUsd: 1, limitUsd: 1, scope: 'item' },
  retry: 'permanent',
};
const refused: CallEnd = { usage: null, costUsd: 0, answered: null, begun: false, good: false, refusal: overBudget };

describe('the account of an item', () => {
  test('adds up what its calls used, and says what is under way', () => {
    const accounts = createAccounts();
    accounts.begin('1');
    accounts.begin('1');
    accounts.begin('2');
    accounts.end('1', answer);
    expect(accounts.of('1')).toMatchObject({ usage, costUsd: 0.5, calls: 1, inFlight: 1, answered: 'm-1' });
    accounts.end('1', answer);
    expect(accounts.of('1')).toMatchObject({ costUsd: 1, calls: 2, inFlight: 0 });
    expect(accounts.of('2')).toMatchObject({ usage: NO_USAGE, calls: 0, inFlight: 1 });
  });

  test('keeps calls without a price apart from free ones', () => {
    const accounts = createAccounts();
    for (const costUsd of [0, null, 0.25]) {
      accounts.begin('1');
      accounts.end('1', { ...answer, costUsd });
    }
    expect(accounts.of('1')).toMatchObject({ costUsd: 0.25, unpriced: 1, calls: 3 });
  });

  test('remembers a refusal until a good answer comes, and how many there were', () => {
    const accounts = createAccounts();
    const call = (end: CallEnd | null): void => {
      accounts.begin('1');
      accounts.end('1', end);
    };
    call(answer);
    call(refused);
    expect(accounts.of('1')).toMatchObject({ refusal: overBudget, refusals: 1, answered: 'm-1' });
    call(null);
    call({ ...answer, good: false });
    expect(accounts.of('1').refusal).toEqual(overBudget);
    call(answer);
    expect(accounts.of('1')).toMatchObject({ refusal: null, refusals: 1 });
  });
});
