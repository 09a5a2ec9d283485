import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ModelQueue, type Waiter } from './queue.ts';

function waiterOf(item: string, { isRetry = false } = {}): Waiter {
  const signal = new AbortController().signal;
  const request = {
    vendor: 'google',
    model: 'm',
    item,
    estimatedInputTokens: 1,
    isRetry,
    deadlineMs: 1,
    signal,
  } as const;
  return { request, granted: () => undefined, refused: () => undefined };
}

function newQueue(): ModelQueue {
  return new ModelQueue('google', 'm');
}

/** The item that is served. */
function serve(queue: ModelQueue): string {
  const first = queue.first();
  if (first === undefined) return '';
  queue.serve(first, 'key');
  return first.request.item;
}

it('is first come, first served within an item, but a retry goes first', () => {
  const queue = newQueue();
  const [a, b, retry] = [waiterOf('w'), waiterOf('w'), waiterOf('w', { isRetry: true })];
  for (const waiter of [a, b, retry]) queue.push(waiter);
  expect(queue.waiters()).toEqual([retry, a, b]);
});

it('gives an item that was away no claim on the time it missed', () => {
  const queue = newQueue();
  queue.push(waiterOf('late'));
  serve(queue);
  for (let n = 0; n < 20; n++) queue.push(waiterOf('busy'));
  for (let n = 0; n < 10; n++) serve(queue);
  for (let n = 1; n < 10; n++) queue.push(waiterOf('late'));
  const next = Array.from({ length: 6 }, () => serve(queue));
  expect(next.filter((item) => item === 'late').length).toBeLessThanOrEqual(4);
  expect(next.filter((item) => item === 'late').length).toBeGreaterThanOrEqual(3);
});

it('never lets a waiting item get more than a turn ahead of another', () => {
  const items = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 5, maxLength: 200 });
  fc.assert(
    fc.property(items, (numbers) => {
      const queue = newQueue();
      for (const number of numbers) queue.push(waiterOf(`w${number}`));
      const given = new Map<string, number>();
      for (let item = serve(queue); item !== ''; item = serve(queue)) {
        given.set(item, (given.get(item) ?? 0) + 1);
        const shares = [...new Set(queue.waiters().map(({ request }) => request.item))].map(
          (one) => given.get(one) ?? 0,
        );
        expect(Math.max(...shares, 0) - Math.min(...shares, Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(1);
      }
    }),
  );
});
