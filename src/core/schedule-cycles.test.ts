import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withoutCycles } from './schedule.ts';

/** `a: b c` – a comes after b and c. */
function items(...lines: string[]): { id: string; after: string[] }[] {
  return lines.map((line) => {
    const [id = '', others = ''] = line.split(':');
    return { id, after: others.split(' ').filter((other) => other !== '') };
  });
}

function kept(...lines: string[]) {
  const { after, cycles } = withoutCycles(items(...lines));
  return { after: Object.fromEntries(after), cycles };
}

test('what has no cycle stays as it is, whatever it names', () => {
  expect(kept('a: b elsewhere', 'b: c', 'c:')).toEqual({
    after: { a: ['b', 'elsewhere'], b: ['c'], c: [] },
    cycles: [],
  });
});

test('who depends on itself does not', () => {
  expect(kept('a: a b', 'b:')).toEqual({ after: { a: ['b'], b: [] }, cycles: [] });
});

test('the first of a cycle in the given order does not wait; the others do', () => {
  expect(kept('a: b', 'b: c', 'c: a')).toEqual({ after: { a: [], b: ['c'], c: ['a'] }, cycles: [['a', 'b', 'c']] });
  expect(kept('c: a', 'b: c', 'a: b')).toEqual({ after: { a: ['b'], b: ['c'], c: [] }, cycles: [['c', 'b', 'a']] });
});

test('who only waits for a cycle goes on waiting for it, and a cycle for what is outside', () => {
  expect(kept('waits: a', 'a: b base', 'b: a', 'base:')).toEqual({
    after: { waits: ['a'], a: ['base'], b: ['a'], base: [] },
    cycles: [['a', 'b']],
  });
});

test('a cycle inside a cycle is broken too, and told once', () => {
  expect(kept('a: b', 'b: a c', 'c: b')).toEqual({
    after: { a: [], b: ['a'], c: ['b'] },
    cycles: [['a', 'b', 'c']],
  });
});

test('two cycles are told in the given order', () => {
  expect(kept('d: c', 'a: b', 'c: d', 'b: a').cycles).toEqual([
    ['d', 'c'],
    ['a', 'b'],
  ]);
});

test('a long chain is no problem', () => {
  const chain = Array.from({ length: 50_000 }, (_, index) => ({ id: `${index}`, after: [`${index + 1}`] }));
  expect(withoutCycles(chain).cycles).toEqual([]);
  chain.push({ id: '50000', after: ['0'] });
  const { after, cycles } = withoutCycles(chain);
  expect(cycles[0]).toHaveLength(50_001);
  expect([after.get('0'), after.get('50000')]).toEqual([[], ['0']]);
});

test('what is left never has a cycle, and only what was in one loses anything', () => {
  const graph = fc.array(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 4 }), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(graph, (edges) => {
      const given = edges.map((others, index) => ({ id: `${index}`, after: others.map(String) }));
      const { after, cycles } = withoutCycles(given);
      const cyclic = new Map(cycles.flatMap((ids) => ids.map((id) => [id, new Set(ids)])));
      for (const { id, after: before } of given) {
        const lost = before.filter((other) => other !== id && !after.get(id)?.includes(other));
        expect(lost.every((other) => cyclic.get(id)?.has(other))).toBe(true);
      }
      const placed = new Set<string>();
      const isFree = (id: string): boolean =>
        (after.get(id) ?? []).every((other) => placed.has(other) || !after.has(other));
      for (let round = 0; round < given.length; round++)
        for (const { id } of given) if (!placed.has(id) && isFree(id)) placed.add(id);
      expect(placed.size).toBe(given.length);
    }),
  );
});
