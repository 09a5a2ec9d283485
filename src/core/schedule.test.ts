import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Scheduled, scheduleOf } from './schedule.ts';

const item = (id: string, files: string[] = [], after: string[] = []): Scheduled => ({ id, files, after });

describe('the order', () => {
  test('is the given one where nothing speaks against it', () => {
    expect(scheduleOf([item('3'), item('1'), item('2')]).order).toEqual(['3', '1', '2']);
    expect(scheduleOf([])).toEqual({ order: [], groups: [], cycles: [], shared: new Map() });
  });

  test('has dependencies first; who waited comes as soon as it can', () => {
    expect(scheduleOf([item('1', [], ['3']), item('2'), item('3'), item('4')]).order).toEqual(['2', '3', '1', '4']);
    expect(scheduleOf([item('1', [], ['2']), item('2', [], ['3']), item('3')]).order).toEqual(['3', '2', '1']);
  });

  test('does not care for ids that are not there, for itself, or for being told twice', () => {
    expect(scheduleOf([item('1', [], ['9', '1', '2', '2']), item('2')]).order).toEqual(['2', '1']);
  });

  test('begins a cycle with its first item, and says that there is one', () => {
    const schedule = scheduleOf([item('0'), item('1', [], ['2']), item('2', [], ['3']), item('3', [], ['1'])]);
    expect(schedule.order).toEqual(['0', '1', '3', '2']);
    expect(schedule.cycles).toEqual([['1', '2', '3']]);
  });
});

describe('groups', () => {
  const groups = (...items: Scheduled[]) => scheduleOf(items).groups;

  test('are those that change the same file; who touches nobody is in none', () => {
    expect(groups(item('1', ['a.ts', 'b.ts']), item('2', ['c.ts']), item('3', ['b.ts', 'd.ts']))).toEqual([
      { ids: ['1', '3'], files: ['b.ts'] },
    ]);
  });

  test('reach over several files, and name all that is shared, sorted', () => {
    expect(groups(item('1', ['z', 'own']), item('2', ['z', 'a']), item('3', ['a']), item('4', ['z']))).toEqual([
      { ids: ['1', '2', '3', '4'], files: ['a', 'z'] },
    ]);
  });

  test('are also those that depend on each other, in the order of the schedule', () => {
    expect(groups(item('1', ['a'], ['2']), item('2', ['b']), item('3', ['c']))).toEqual([
      { ids: ['2', '1'], files: [] },
    ]);
  });

  test('stay apart when nothing connects them', () => {
    expect(groups(item('1', ['a']), item('2', ['b']), item('3', ['a']), item('4', ['b']))).toEqual([
      { ids: ['1', '3'], files: ['a'] },
      { ids: ['2', '4'], files: ['b'] },
    ]);
  });

  test('don’t come from one item that names a file twice, or an empty path', () => {
    expect(groups(item('1', ['a', './a', '']), item('2', ['b', '', '.']))).toEqual([]);
  });
});

describe('paths', () => {
  const shared = (left: string, right: string) => scheduleOf([item('1', [left]), item('2', [right])]).groups[0]?.files;

  test.each([
    ['src/a.ts', './src/a.ts', 'src/a.ts'],
    ['src/a/', 'src/a', 'src/a'],
    ['src//a.ts', 'src/a.ts', 'src/a.ts'],
    ['src/x/../a.ts', 'src/a.ts', 'src/a.ts'],
    ['src', 'src/deep/inside/a.ts', 'src'],
    ['src/a/**', 'src/a/b.ts', 'src/a'],
    ['src/*', 'src/b.ts', 'src'],
  ])('%s and %s are shared', (left, right, path) => {
    expect(shared(left, right)).toEqual([path]);
    expect(shared(right, left)).toEqual([path]);
  });

  test.each([
    ['src/a.ts', 'src/A.ts'],
    ['src/a', 'src/a.ts'],
    ['src/ab/c.ts', 'src/a'],
    ['src/a.ts', 'src/b.ts'],
  ])('%s and %s are not', (left, right) => {
    expect(shared(left, right)).toBeUndefined();
  });

  test('each item knows which of its paths somebody else changes too', () => {
    const schedule = scheduleOf([item('1', ['./b', 'a', 'own']), item('2', ['a', 'b/x']), item('3', ['c'])]);
    expect([...schedule.shared]).toEqual([
      ['1', ['a', 'b']],
      ['2', ['a', 'b']],
    ]);
  });
});

test('any schedule holds each item once, after what it depends on unless in a cycle, and every conflict in one group', () => {
  const path = fc.constantFrom('a', 'a/b', 'a/b/c', 'd', 'd/e', 'f');
  const items = fc.array(
    fc.record({
      files: fc.array(path, { maxLength: 3 }),
      after: fc.array(fc.integer({ min: 0, max: 8 }).map(String), { maxLength: 2 }),
    }),
    { maxLength: 9 },
  );
  const inside = (left: string, right: string): boolean => left === right || left.startsWith(`${right}/`);
  fc.assert(
    fc.property(items, (given) => {
      const all = given.map((one, index) => ({ id: `${index}`, ...one }));
      const { order, groups, cycles, shared } = scheduleOf(all);
      expect(order.toSorted()).toEqual(all.map(({ id }) => id).toSorted());
      const groupOf = new Map(groups.flatMap((group) => group.ids.map((id) => [id, group])));
      for (const one of all) {
        for (const other of all) {
          if (one === other) continue;
          const isAfter = one.after.includes(other.id);
          const inCycle = cycles.some((ids) => ids.includes(one.id) && ids.includes(other.id));
          if (isAfter && !inCycle) expect(order.indexOf(one.id)).toBeGreaterThan(order.indexOf(other.id));
          const conflicts = one.files.some((a) => other.files.some((b) => inside(a, b) || inside(b, a)));
          if (conflicts) expect(shared.get(one.id)?.some((key) => shared.get(other.id)?.includes(key))).toBe(true);
          if (conflicts || isAfter) expect(groupOf.get(one.id)).toBe(groupOf.get(other.id) ?? 'no group');
        }
      }
    }),
  );
});

test('ten thousand items take a moment, also when all of them change one file or stand in one chain', {
  timeout: 10_000,
}, () => {
  const many = Array.from({ length: 10_000 }, (_, index) =>
    item(`${index}`, ['package.json', `src/${index}/a.ts`, `src/${index}/b.ts`], [`${index + 1}`]),
  );
  const { order, groups } = scheduleOf(many);
  expect(order[0]).toBe('9999');
  expect(groups).toMatchObject([{ files: ['package.json'] }]);
});
