import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FairQueue } from './queue.ts';

function serve(queue: FairQueue<string>): string | undefined {
  const head = queue.firsts()[0];
  if (head === undefined) return undefined;
  queue.remove(head.owner, head.waiter);
  queue.charge(head.owner, 1);
  return head.waiter;
}

it('is first come, first served within an item, but a retry goes first', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a', 'b']) queue.push('w', item, 'tail');
  queue.push('w', 'retry', 'head');
  expect([serve(queue), serve(queue), serve(queue), serve(queue)]).toEqual(['retry', 'a', 'b', undefined]);
});

it('gives an item that was away no claim on the time it missed', () => {
  const queue = new FairQueue<string>();
  queue.push('late', 'late-0', 'tail');
  serve(queue);
  for (let n = 0; n < 20; n++) queue.push('busy', `busy-${n}`, 'tail');
  for (let n = 0; n < 10; n++) serve(queue);
  for (let n = 1; n < 10; n++) queue.push('late', `late-${n}`, 'tail');
  const next = Array.from({ length: 6 }, () => serve(queue) ?? '');
  expect(next.filter((item) => item.startsWith('late')).length).toBeLessThanOrEqual(4);
  expect(next.filter((item) => item.startsWith('late')).length).toBeGreaterThanOrEqual(3);
});

it('does not count a turn that was of no use', () => {
  const queue = new FairQueue<string>();
  for (const workflow of ['x', 'y']) for (let n = 0; n < 3; n++) queue.push(workflow, `${workflow}${n}`, 'tail');
  const first = serve(queue);
  queue.refund('x', 1);
  expect([first, serve(queue)]).toEqual(['x0', 'x1']);
});

it('never lets a waiting item get more than a turn ahead of another, whatever a turn costs', () => {
  const turns = fc.array(
    fc.record({ workflow: fc.integer({ min: 0, max: 4 }), cost: fc.double({ min: 0.1, max: 5, noNaN: true }) }),
    {
      minLength: 5,
      maxLength: 200,
    },
  );
  fc.assert(
    fc.property(turns, (items) => {
      const queue = new FairQueue<{ cost: number }>();
      for (const { workflow, cost } of items) queue.push(`w${workflow}`, { cost }, 'tail');
      const given = new Map<string, number>();
      for (;;) {
        const heads = queue.firsts();
        const head = heads[0];
        if (head === undefined) return;
        queue.remove(head.owner, head.waiter);
        queue.charge(head.owner, head.waiter.cost);
        given.set(head.owner, (given.get(head.owner) ?? 0) + head.waiter.cost);
        const shares = queue.firsts().map(({ owner }) => given.get(owner) ?? 0);
        expect(Math.max(...shares, 0) - Math.min(...shares, Number.POSITIVE_INFINITY)).toBeLessThanOrEqual(5 + 1e-9);
      }
    }),
  );
});
