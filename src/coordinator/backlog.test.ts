import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ErrorRecord, Problem } from '../core/errors.ts';
import type { ItemStatus } from '../core/item.ts';
import { Backlog, createHaltRule, type Queued } from './backlog.ts';

interface Rules {
  keys?: string;
  after?: string;
}

const words = (text = ''): string[] => text.split(' ').filter((word) => word !== '');

function item(id: string, { keys, after }: Rules = {}): Queued {
  return { id, exclusive: words(keys), after: words(after) };
}

function backlogOf(...items: Queued[]): Backlog<Queued> {
  const backlog = new Backlog<Queued>();
  backlog.add(items);
  return backlog;
}

/** Starts all that may start now. */
function startAll(backlog: Backlog<Queued>): string[] {
  const started: string[] = [];
  for (let next = backlog.next(); next !== null; next = backlog.next()) started.push(next.id);
  return started;
}

function blocked(backlog: Backlog<Queued>): string[] {
  return backlog.takeBlocked().map(({ item: { id }, on, status }) => `${id}: ${on} ${status}`);
}

test('items without rules start in the order in which they were added', () => {
  const backlog = backlogOf(item('b'), item('a'));
  backlog.add([item('c')]);
  expect(backlog.size).toBe(3);
  expect(startAll(backlog)).toEqual(['b', 'a', 'c']);
  expect([backlog.size, backlog.next()]).toEqual([0, null]);
});

test('all rules are optional', () => {
  const backlog = new Backlog<Queued>();
  backlog.add([{ id: 'plain' }]);
  expect(backlog.next()).toEqual({ id: 'plain' });
});

describe('exclusive keys', () => {
  test('an item waits until the one that shares its key has ended, however it ended, and others overtake it', () => {
    const backlog = backlogOf(item('1', { keys: 'a b' }), item('2', { keys: 'b c' }), item('3', { keys: 'd' }));
    expect(startAll(backlog)).toEqual(['1', '3']);
    backlog.end('3', 'succeeded');
    expect(startAll(backlog)).toEqual([]);
    backlog.end('1', 'failed');
    expect(startAll(backlog)).toEqual(['2']);
  });

  test('an item that was overtaken starts first as soon as it can', () => {
    const backlog = backlogOf(
      item('1', { keys: 'a' }),
      item('2', { keys: 'a' }),
      item('3', { keys: 'b' }),
      item('4', { keys: 'b' }),
    );
    expect(startAll(backlog)).toEqual(['1', '3']);
    backlog.end('3', 'succeeded');
    backlog.end('1', 'succeeded');
    expect(backlog.next()?.id).toBe('2');
    expect(backlog.next()?.id).toBe('4');
  });
});

describe('after', () => {
  test.each(['succeeded', 'skipped'] as const)('an item starts when what it comes after has %s', (status) => {
    const backlog = backlogOf(item('2', { after: '1' }), item('1'));
    expect(startAll(backlog)).toEqual(['1']);
    backlog.end('1', status);
    expect(startAll(backlog)).toEqual(['2']);
  });

  test('an item waits until all items that it comes after have ended', () => {
    const backlog = backlogOf(item('1'), item('2'), item('3', { after: '1 2' }));
    expect(startAll(backlog)).toEqual(['1', '2']);
    backlog.end('2', 'succeeded');
    expect(startAll(backlog)).toEqual([]);
    backlog.end('1', 'succeeded');
    expect(startAll(backlog)).toEqual(['3']);
  });

  test('an unknown id and the item’s own id are ignored', () => {
    expect(startAll(backlogOf(item('1', { after: 'gone 1' })))).toEqual(['1']);
  });

  test('items added ahead start before earlier ones, in their own order', () => {
    const backlog = backlogOf(item('1', { keys: 'a' }), item('2'), item('3'));
    expect(backlog.next()?.id).toBe('1');
    backlog.add([item('4', { keys: 'a' }), item('5')], { ahead: true });
    backlog.add([item('6')], { ahead: true });
    expect(startAll(backlog)).toEqual(['5', '6', '2', '3']);
    backlog.end('1', 'succeeded');
    expect(startAll(backlog)).toEqual(['4']);
    expect(backlog.size).toBe(0);
  });

  test('an item that joins later is waited for by items that have not started yet', () => {
    const backlog = backlogOf(item('1', { keys: 'a' }), item('2', { keys: 'a', after: 'late' }));
    expect(startAll(backlog)).toEqual(['1']);
    backlog.add([item('late')]);
    backlog.end('1', 'succeeded');
    expect(startAll(backlog)).toEqual(['late']);
    backlog.end('late', 'succeeded');
    expect(startAll(backlog)).toEqual(['2']);
  });

  test.each(['failed', 'discuss', 'cancelled', 'timed-out', 'over-budget', 'stalled', 'crashed', 'paused'] as const)(
    'when it ends as %s, who waits for it can never start',
    (status: ItemStatus) => {
      const backlog = backlogOf(item('1'), item('2', { after: '1' }));
      startAll(backlog);
      backlog.end('1', status);
      expect(blocked(backlog)).toEqual([`2: 1 ${status}`]);
      expect([backlog.size, backlog.next(), blocked(backlog)]).toEqual([0, null, []]);
    },
  );

  test('neither can the items that wait for those; each is reported once', () => {
    const backlog = backlogOf(
      item('1'),
      item('4', { after: '3 2' }),
      item('3', { after: '2' }),
      item('2', { after: '1' }),
      item('5'),
    );
    expect(startAll(backlog)).toEqual(['1', '5']);
    backlog.end('1', 'failed');
    expect(blocked(backlog)).toEqual(['2: 1 failed', '4: 2 cancelled', '3: 2 cancelled']);
  });

  test('an item that joins after its dependency failed is blocked at once', () => {
    const backlog = backlogOf(item('1'));
    startAll(backlog);
    backlog.end('1', 'failed');
    backlog.add([item('3', { after: '2' }), item('2', { after: '1' })]);
    expect(blocked(backlog)).toEqual(['2: 1 failed', '3: 2 cancelled']);
  });

  test('a cycle starts with its first item, and items that wait for the cycle still wait', () => {
    const backlog = backlogOf(
      item('0', { after: '2' }),
      item('1', { after: '2' }),
      item('2', { after: '3' }),
      item('3', { after: '1' }),
    );
    const order: string[] = [];
    for (let next = backlog.next(); next !== null; next = backlog.next()) {
      order.push(next.id);
      backlog.end(next.id, 'succeeded');
    }
    expect(order).toEqual(['1', '3', '2', '0']);
  });

  test('a cycle that a later item closes is broken and reported', () => {
    const cycles: (readonly string[])[] = [];
    const backlog = new Backlog<Queued>((ids) => cycles.push(ids));
    backlog.add([item('0'), item('1', { after: '0 late' })]);
    startAll(backlog);
    backlog.add([item('late', { after: '1' }), item('other')]);
    expect(cycles).toEqual([['1', 'late']]);
    backlog.end('0', 'succeeded');
    expect(startAll(backlog)).toEqual(['1', 'other']);
    backlog.end('1', 'succeeded');
    expect(startAll(backlog)).toEqual(['late']);
  });
});

describe('announced items', () => {
  const first = (id: string): Queued => ({ ...item(`${id}-first`), announces: `${id}-second` });

  test('an item waits for an announced item that has not joined yet', () => {
    const backlog = backlogOf(first('a'), item('b-second', { after: 'a-second' }));
    expect(startAll(backlog)).toEqual(['a-first']);
    backlog.end('a-first', 'succeeded');
    backlog.add([item('a-second')], { ahead: true });
    expect(startAll(backlog)).toEqual(['a-second']);
    backlog.end('a-second', 'succeeded');
    expect(startAll(backlog)).toEqual(['b-second']);
  });

  test('an item that waits for an announced item that will not join is blocked', () => {
    const backlog = backlogOf(first('a'), item('b-second', { after: 'a-second' }));
    expect(startAll(backlog)).toEqual(['a-first']);
    backlog.end('a-first', 'discuss');
    backlog.end('a-second', 'discuss');
    expect(blocked(backlog)).toEqual(['b-second: a-second discuss']);
  });

  test('a blocked item also blocks those that wait for the item it announced', () => {
    const second = { ...item('b-first', { after: 'a-first' }), announces: 'b-second' };
    const backlog = backlogOf(first('a'), second, item('c', { after: 'b-second' }));
    expect(startAll(backlog)).toEqual(['a-first']);
    backlog.end('a-first', 'failed');
    expect(blocked(backlog)).toEqual(['b-first: a-first failed', 'c: b-second cancelled']);
  });
});

test('abandoned items do not start, and items that join later and depend on them are blocked', () => {
  const backlog = backlogOf(item('1'), item('2'), item('3', { after: '1' }));
  expect(backlog.next()?.id).toBe('1');
  expect(backlog.abandon().map(({ id }) => id)).toEqual(['2', '3']);
  expect([backlog.size, backlog.next()]).toEqual([0, null]);
  backlog.add([item('4', { after: '2' })]);
  expect(blocked(backlog)).toEqual(['4: 2 cancelled']);
});

test('an id can be used only once, whatever became of its first item', () => {
  const backlog = backlogOf(item('ended'), item('under-way'), item('waiting', { after: 'under-way' }));
  backlog.next();
  backlog.next();
  backlog.end('ended', 'succeeded');
  for (const id of ['ended', 'under-way', 'waiting']) expect(() => backlog.add([item(id)])).toThrow(id);
  expect(() => backlog.add([item('twice'), item('twice')])).toThrow('twice');
});

test('whatever the rules, every item ends exactly once, and no rule is broken', () => {
  const rules = fc.record({
    keys: fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }),
    after: fc.array(fc.integer({ min: 0, max: 14 }).map(String), { maxLength: 2 }),
    status: fc.constantFrom<ItemStatus>('succeeded', 'succeeded', 'succeeded', 'skipped', 'failed', 'discuss'),
    joins: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(rules, { maxLength: 14 }),
      fc.integer({ min: 1, max: 4 }),
      fc.infiniteStream(fc.nat(3)),
      (given, limit, which) => {
        const all = given.map((rule, index) => ({ id: `${index}`, ...rule, exclusive: rule.keys }));
        const byId = new Map(all.map((one) => [one.id, one]));
        const later = all.filter(({ joins }) => joins);
        const backlog = new Backlog<(typeof all)[number]>();
        backlog.add(all.filter(({ joins }) => !joins));
        const joined = new Set(all.filter(({ joins }) => !joins).map(({ id }) => id));
        const ends = new Map<string, ItemStatus>();
        const running: (typeof all)[number][] = [];
        const end = (id: string, status: ItemStatus): void => {
          expect(ends.has(id)).toBe(false);
          ends.set(id, status);
        };
        /** Whether it waits for itself by way of others; those may have been started against a rule. */
        const inCycle = (id: string): boolean => {
          const seen = new Set<string>();
          const reach = (from: string): boolean =>
            (byId.get(from)?.after ?? []).some(
              (other) => other === id || (!seen.has(other) && seen.add(other) && reach(other)),
            );
          return reach(id);
        };

        for (;;) {
          while (running.length < limit) {
            const next = backlog.next();
            if (next === null) break;
            for (const other of running) expect(other.keys.filter((key) => next.keys.includes(key))).toEqual([]);
            const unmet = next.after.filter((id) => joined.has(id) && !/succeeded|skipped/.test(ends.get(id) ?? ''));
            if (!inCycle(next.id)) expect(unmet).toEqual([]);
            running.push(next);
          }
          for (const { item: lost } of backlog.takeBlocked()) end(lost.id, 'cancelled');
          const [ended] = running.splice(which.next().value % Math.max(1, running.length), 1);
          if (ended === undefined) {
            const [joiner] = later.splice(0, 1);
            if (joiner === undefined) break;
            backlog.add([joiner]);
            joined.add(joiner.id);
            continue;
          }
          backlog.end(ended.id, ended.status);
          end(ended.id, ended.status);
          const [joiner] = later.splice(0, 1);
          if (joiner) {
            backlog.add([joiner]);
            joined.add(joiner.id);
          }
        }
        for (const { item: lost } of backlog.takeBlocked()) end(lost.id, 'cancelled');
        expect([...ends.keys()].toSorted()).toEqual(all.map(({ id }) => id).toSorted());
        expect(backlog.size).toBe(0);
      },
    ),
    { numRuns: 500 },
  );
});

test('thousands of items that all want the same key all run', { timeout: 20_000 }, () => {
  const backlog = backlogOf(...Array.from({ length: 4_000 }, (_, index) => item(`${index}`, { keys: 'package.json' })));
  let count = 0;
  for (let next = backlog.next(); next !== null; next = backlog.next()) {
    expect(backlog.next()).toBeNull();
    backlog.end(next.id, 'succeeded');
    count += 1;
  }
  expect(count).toBe(4_000);
});

function failure(problem: Problem): ErrorRecord {
  return { problem, retry: 'permanent' };
}
const KEY = failure({ code: 'provider-rejected-key', provider: 'anthropic', status: 401, detail: '' });
const GIT = failure({ code: 'git-missing' });

describe('the halt rule', () => {
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
});
