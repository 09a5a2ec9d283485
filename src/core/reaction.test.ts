import { expect, test } from 'vitest';
import { type DispatchedReaction, needsConsent, nextReaction, type Reaction, reactionKey } from './reaction.ts';

const BASE = { branch: 'main', commit: 'b1' };
const check = (name: string) => ({ name, url: null, log: '' });
const remark = (id: string) => ({ id, thread: id, by: 'mia', body: 'x', path: null, line: null, earlier: [] });

function found(more: Partial<Reaction> = {}): Omit<Reaction, 'cycle'> {
  return {
    number: 1,
    url: 'u',
    branch: 'x',
    head: 'h1',
    base: BASE,
    isBaseMoved: false,
    checks: [],
    reviews: [],
    ...more,
  };
}

function past(more: Partial<Reaction>, end: Partial<DispatchedReaction['end']> | null = {}): DispatchedReaction {
  const reaction = { ...found(more), cycle: more.cycle ?? 1 };
  const key = reactionKey(reaction);
  return { ...reaction, end: end === null ? null : { key, commit: 'c', wrote: true, dropped: false, ...end } };
}

test.each<[string, Omit<Reaction, 'cycle'>, DispatchedReaction[], unknown]>([
  ['nothing happened', found(), [], null],
  ['a check fails', found({ checks: [check('a')] }), [], { cycle: 1 }],
  ['it was reacted to at this commit', found({ checks: [check('a')] }), [past({ checks: [check('a')] })], null],
  [
    'it fails at another commit',
    found({ head: 'h2', checks: [check('a')] }),
    [past({ checks: [check('a')] })],
    { cycle: 2 },
  ],
  [
    'a remark counts once, at every commit',
    found({ head: 'h2', reviews: [remark('1')] }),
    [past({ reviews: [remark('1')] })],
    null,
  ],
  [
    'the base moved again',
    found({ isBaseMoved: true, base: { ...BASE, commit: 'b2' } }),
    [past({ isBaseMoved: true }, { wrote: false })],
    { cycle: 1, isBaseMoved: true },
  ],
  [
    'one that did not end is resumed',
    found({ checks: [check('a')] }),
    [past({ checks: [check('a')], cycle: 3 }, null)],
    { cycle: 3 },
  ],
  [
    'also when the base moved since',
    found({ checks: [check('a')], isBaseMoved: true }),
    [past({ checks: [check('a')] }, null)],
    { isBaseMoved: false },
  ],
  [
    'not when more is asked',
    found({ checks: [check('a')], reviews: [remark('1')] }),
    [past({ checks: [check('a')] }, null)],
    { cycle: 1, reviews: [{ id: '1' }] },
  ],
  [
    'not when the base alone moved again',
    found({ isBaseMoved: true, base: { ...BASE, commit: 'b2' } }),
    [past({ isBaseMoved: true }, null)],
    { base: { commit: 'b2' } },
  ],
  ['not when it is over', found(), [past({ checks: [check('a')] }, null)], null],
])('what is to be done: %s', (_, now, earlier, expected) => {
  const next = nextReaction(now, earlier);
  if (expected === null) expect(next).toBeNull();
  else expect(next).toMatchObject(expected as object);
});

test('every sixth cycle needs a person', () => {
  expect([1, 5, 6, 7, 10, 11, 12].filter((cycle) => needsConsent({ cycle }))).toEqual([6, 11]);
});
