import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SAMPLE_LLD } from '../../test/support/sample-lld.ts';
import { foldResolvedQuestions, openQuestions } from './questions.ts';

const draft = (items: string): string =>
  `# 1 - Feature: X\n\n## 1. Context & Goal\n* **Issue:** #1\n\n### Open Questions\n${items}\n## 12. Definition of Done\n- [ ] Is it done?\n`;

const fold = (items: string, ...resolved: [question: string, answer: string][]) =>
  foldResolvedQuestions(
    draft(items),
    resolved.map(([question, answer]) => ({ question, answer })),
  );

describe('openQuestions', () => {
  it('lists the unticked questions under their heading and no other checklist', () => {
    expect(openQuestions(SAMPLE_LLD)).toEqual(['Which module owns the retry policy?']);
  });

  it.each([
    ['None', '- [ ] None\n'],
    ['a sentence', 'No open questions.\n'],
    ['a sentence in a box', '- [ ] No open questions at this time.\n'],
    ['n/a', '- N/A\n'],
    ['a ticked box', '- [x] Which one?\n'],
    ['an answer in an unticked box', '- [ ] ~~Which one?~~ **RESOLVED: the first.**\n'],
    ['an answer behind the question', '- [ ] Which one? **Answer:** the first.\n'],
    ['a remark', '- The first one was taken.\n'],
    ['a fence', '```\n- [ ] Which one?\n```\n'],
  ])('finds none in %s', (_name, items) => {
    expect(openQuestions(draft(items))).toEqual([]);
  });

  it.each([
    ['a question that begins with markup', '* [ ] **Owner:** which `module`?\n', 'Owner: which `module`?'],
    [
      'a question with "none" in it',
      '- [ ] None of the modules fits: which one is it?\n',
      'None of the modules fits: which one is it?',
    ],
    ['a question about an answer', '- [ ] Is the answer resolved late?\n', 'Is the answer resolved late?'],
    ['a statement in a box', '- [ ] The owner of the module\n', 'The owner of the module'],
    ['a question without a box', '1. Which one?\n', 'Which one?'],
    ['a question in a sentence of its own', 'Which one?\n', 'Which one?'],
  ])('finds %s', (_name, items, question) => {
    expect(openQuestions(draft(items))).toEqual([question]);
  });

  it('finds a list under bold words in place of a heading', () => {
    expect(openQuestions('## 1. Context & Goal\n* **Open Questions:**\n  - [ ] Which one?\n')).toEqual(['Which one?']);
  });
});

describe('foldResolvedQuestions', () => {
  it('strikes the question out and adds the answer, and leaves every other byte', () => {
    const resolved = [{ question: 'Which module owns the retry policy?', answer: 'The `retry` module.' }];
    expect(foldResolvedQuestions(SAMPLE_LLD, resolved)).toBe(
      SAMPLE_LLD.replace(
        '- [ ] Which module owns the retry policy?',
        '- [x] ~~Which module owns the retry policy?~~ **RESOLVED: The `retry` module.**',
      ),
    );
  });

  it.each([
    ['without the markup', 'What is the default if --parallel is given without a number?'],
    ['in other case and punctuation', 'what is the default, if `--parallel` is given without a number'],
    ['with a number before it', '1. What is the default if `--parallel` is given without a number?'],
    ['in slightly other words', 'What should the default be when `--parallel` is given without any number?'],
    ['shortened', 'Default for `--parallel` without a number'],
  ])('finds a question that the reviewer wrote %s', (_name, question) => {
    const other = '- [ ] Should there be a maximum number of workers?\n';
    expect(
      fold(`- [ ] What is the default if \`--parallel\` is given without a number?\n${other}`, [question, 'One.']),
    ).toBe(
      draft(`- [x] ~~What is the default if \`--parallel\` is given without a number?~~ **RESOLVED: One.**\n${other}`),
    );
  });

  it('takes one answer for the only question even in other words', () => {
    expect(fold('- [ ] Which module owns it?\n', ['Module ownership', 'The first.'])).toContain('RESOLVED: The first.');
  });

  it.each([
    [
      'a question that begins with markup',
      '- [ ] **Owner:** which?\n',
      'Owner: which?',
      '- [x] ~~**Owner:** which?~~ **RESOLVED: A.**\n',
    ],
    [
      'a wrapped question with options below',
      '* [ ] Which\n  one?\n  - a\n  - b\n',
      'Which one?',
      '* [x] ~~Which\n  one?~~ **RESOLVED: A.**\n  - a\n  - b\n',
    ],
    ['a question without a box', '- Which one?\n', 'Which one?', '- [x] ~~Which one?~~ **RESOLVED: A.**\n'],
    ['a question outside of a list', 'Which one?\n', 'Which one?', '~~Which one?~~ **RESOLVED: A.**\n'],
    ['a numbered question', '1. [ ] Which one?\n', 'Which one?', '1. [x] ~~Which one?~~ **RESOLVED: A.**\n'],
  ])('folds %s', (_name, items, question, expected) => {
    expect(fold(items, [question, 'A.'])).toBe(draft(expected));
  });

  it('makes one bold line of the answer', () => {
    expect(fold('- [ ] Which one?\n', ['Which one?', ' **RESOLVED: The\n  first** one.** '])).toBe(
      draft('- [x] ~~Which one?~~ **RESOLVED: The first one.**\n'),
    );
  });

  it('folds nothing for another question, without an answer, or where two questions fit equally well', () => {
    const items = '- [ ] Which module owns the retry policy?\n- [ ] Which module owns the cache policy?\n';
    const result = fold(
      items,
      ['Who pays for the database?', 'We.'],
      ['Which module owns the cache policy?', ' '],
      ['Module that owns the policy', 'A.'],
    );
    expect(result).toBe(draft(items));
  });

  it('changes nothing the second time', () => {
    const words = fc.array(fc.constantFrom('module', 'cache', '`policy`', 'the', 'limit', '**which**', 'a?', 'own'), {
      minLength: 1,
    });
    const question = words.map((list) => `${list.join(' ')}?`);
    const item = fc
      .tuple(fc.constantFrom('- [ ] ', '* [x] ', '1. ', '- '), question)
      .map(([mark, text]) => mark + text);
    const answer = fc.record({ question, answer: fc.constantFrom('Yes.', 'No', '**x** y', '') });
    fc.assert(
      fc.property(fc.array(item), fc.array(answer), (items, resolved) => {
        const once = foldResolvedQuestions(draft(`${items.join('\n\n')}\n`), resolved);
        expect(foldResolvedQuestions(once, resolved)).toBe(once);
      }),
    );
  });
});
