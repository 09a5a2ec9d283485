import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstBroken, type LandingBranch, landingOrder, stackedOn } from './landing.ts';

const branch = (id: string, after: string[] = []): LandingBranch => ({
  id,
  title: id,
  branch: `agentos/${id}`,
  commit: `c${id}`,
  files: [],
  after,
});

const idsOf = (branches: readonly LandingBranch[]): string[] => branches.map(({ id }) => id);

test('what is built on comes first, otherwise the order stays; what is not part of the landing holds nothing up', () => {
  const ordered = landingOrder([branch('9', ['42']), branch('42', ['57', '7']), branch('57'), branch('1')]);
  expect(idsOf(ordered)).toEqual(['57', '42', '9', '1']);
  expect(ordered.map(({ after }) => after)).toEqual([[], ['57'], ['42'], []]);
});

const graphs = fc.integer({ min: 1, max: 12 }).chain((count) =>
  fc.array(fc.array(fc.integer({ min: 0, max: count - 1 }), { maxLength: 3 }), {
    minLength: count,
    maxLength: count,
  }),
);

test('every branch is landed once, and after all that it still names, also where some build on each other', () => {
  fc.assert(
    fc.property(graphs, (after) => {
      const branches = after.map((others, at) => branch(`${at}`, others.map(String)));
      const ordered = landingOrder(branches);
      expect(idsOf(ordered).toSorted()).toEqual(idsOf(branches).toSorted());
      const before = new Set<string>();
      for (const { id, after: needed } of ordered) {
        for (const other of needed) expect(before).toContain(other);
        before.add(id);
      }
    }),
  );
});

test('a branch is stacked on those whose end it contains, through any number of commits and merges', () => {
  const graph = new Map([
    ['c1', ['base']],
    ['x', ['c1']],
    ['c2', ['x']],
    ['merge', ['c2', 'c3']],
    ['c3', ['base']],
    ['c4', ['merge']],
  ]);
  const branches = ['1', '2', '3', '4'].map((id) => ({ id, commit: `c${id}` }));
  expect(Object.fromEntries(stackedOn(branches, graph))).toEqual({
    '1': [],
    '2': ['1'],
    '3': [],
    '4': ['1', '2', '3'],
  });
});

const verdicts = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 });

test('the step that is found is broken and the one before it is not, whatever lies between, in as few looks as halving takes', async () => {
  await fc.assert(
    fc.asyncProperty(verdicts, async (wells) => {
      const count = wells.length;
      const isWell = (steps: number): boolean => steps === 0 || (steps < count && (wells[steps - 1] ?? false));
      const asked: number[] = [];
      const found = await firstBroken(count, async (steps) => {
        asked.push(steps);
        return isWell(steps);
      });
      expect([isWell(found), isWell(found - 1)]).toEqual([false, true]);
      expect(asked.length).toBeLessThanOrEqual(Math.ceil(Math.log2(count)));
      expect(new Set(asked).size).toBe(asked.length);
      expect(asked).not.toContain(count);
    }),
  );
});
