import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SAMPLE_LLD as LLD } from '../../../test/support/sample-lld.ts';
import { applyEdits, readEdits } from './edits.ts';

const block = (search: string, replace: string): string =>
  `<<<<<<< SEARCH\n${search}\n=======\n${replace === '' ? '' : `${replace}\n`}>>>>>>> REPLACE\n`;

const revised = (draft: string, reply: string) => applyEdits(draft, readEdits(reply) ?? []);

describe('readEdits', () => {
  it('reads any number of blocks with prose and fences around them', () => {
    const reply = `I fixed both.\n\n1. The bound:\n\`\`\`\n${block('a', 'b')}\`\`\`\nand\n\n${block('c\nd', '')}\nDone.`;
    expect(readEdits(reply)).toEqual([
      { search: 'a', replace: 'b' },
      { search: 'c\nd', replace: '' },
    ]);
  });

  it.each([
    ['other labels', '<<<<<<< ORIGINAL\na\n=======\nb\n>>>>>>> UPDATED'],
    ['shorter markers', '<<<<< SEARCH\na\n=====\nb\n>>>>> REPLACE'],
    ['longer markers', '<<<<<<<<< SEARCH\na\n=========\nb\n>>>>>>>>> REPLACE'],
    ['trailing spaces', '<<<<<<< SEARCH  \na\n=======  \nb\n>>>>>>> REPLACE  '],
    ['CRLF', '<<<<<<< SEARCH\r\na\r\n=======\r\nb\r\n>>>>>>> REPLACE\r\n'],
    ['small letters', '<<<<<<< search\na\n=======\nb\n>>>>>>> replace'],
    ['no labels', '<<<<<<<\na\n=======\nb\n>>>>>>>'],
  ])('reads a block with %s', (_name, reply) => {
    expect(readEdits(reply)).toEqual([{ search: 'a', replace: 'b' }]);
  });

  it('finds none in a whole document, in prose, or in a lone line of brackets', () => {
    expect([LLD, 'No changes needed.', 'a\n<<<<<<<\nb'].map((reply) => readEdits(reply))).toEqual([null, null, null]);
  });

  it('counts an edit that is shown twice once, and none that was only thought of', () => {
    expect(readEdits(`${block('a', 'b')}In short:\n${block('a', 'b')}`)).toEqual([{ search: 'a', replace: 'b' }]);
    expect(readEdits(`<thinking>\n${block('x', 'y')}</thinking>\n${block('a', 'b')}`)).toEqual([
      { search: 'a', replace: 'b' },
    ]);
  });

  it('does not lose a block that breaks off', () => {
    const edits = readEdits(`${block('## 5. Data & Fixtures', '## 5. Data')}<<<<<<< SEARCH\nNone.\n=======\nTwo.`);
    expect(edits).toHaveLength(2);
    expect(applyEdits(LLD, edits ?? [])).toEqual({
      ok: false,
      reason: expect.stringMatching(/edit 2 of 2.*not complete/),
    });
  });
});

describe('applyEdits', () => {
  it('replaces whole lines, parts of a line, and deletes', () => {
    const reply =
      block('2. On a 429, wait and call again.', '2. On a 429, wait and call again, at most 3 times.') +
      block('takes its clock as a parameter', 'takes clock and randomness as parameters') +
      block('* **Status:** Draft', '');
    expect(revised(LLD, reply)).toEqual({
      ok: true,
      text: LLD.replace('call again.', 'call again, at most 3 times.')
        .replace('takes its clock as a parameter', 'takes clock and randomness as parameters')
        .replace('* **Status:** Draft\n', ''),
    });
  });

  it('applies each edit to the result of the one before', () => {
    expect(revised('a\n', block('a', 'b') + block('b', 'c'))).toEqual({ ok: true, text: 'c\n' });
  });

  it('takes replacements literally', () => {
    expect(revised('x a y\n', block('a', "$& $1 $'"))).toEqual({ ok: true, text: "x $& $1 $' y\n" });
  });

  it('finds lines that differ only in white space, blank lines and padding of tables', () => {
    const search = '|ID|Scenario|Type|Input|Expected Output|Pass Criteria|Requirements|';
    expect(revised(LLD, block(search, '| ID |'))).toMatchObject({
      ok: true,
      text: expect.stringContaining('\n| ID |\n'),
    });
    expect(revised('The  loop\n\n\nNext\n', block('The loop\nNext', 'x'))).toEqual({ ok: true, text: 'x\n' });
  });

  it('keeps the indentation of the draft when the search text had none', () => {
    expect(revised('- a\n    - b  c\n', block('- b c', '- b\n- d'))).toEqual({
      ok: true,
      text: '- a\n    - b\n    - d\n',
    });
  });

  it('prefers a whole line over the same text inside another', () => {
    expect(revised('ab\na\n', block('a', 'c'))).toEqual({ ok: true, text: 'ab\nc\n' });
  });

  it.each([
    ['text that is not there', block('No such line', 'x'), /edit 1 of 1: the draft has no such text: "No such line"/],
    ['text that is there twice', block('|----------|', 'x'), /times; quote more lines/],
    ['lines that are there twice', block('```js', 'x'), /2 times.*"```js"/],
    ['an empty search', block('', 'x'), /search text is empty/],
    ['a good edit before a bad one', block('None.', 'x') + block('No such line', 'y'), /edit 2 of 2/],
  ])('refuses %s', (_name, reply, reason) => {
    expect(revised(LLD, reply)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });

  it('makes of a document what its edits say, written as a reply', () => {
    const word = fc.stringMatching(/^[a-z |#.*-]{0,12}$/);
    const lines = fc.uniqueArray(word, { minLength: 1, maxLength: 20 });
    const cut = fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.array(word, { maxLength: 4 }));
    fc.assert(
      fc.property(lines, fc.array(cut, { maxLength: 4 }), (original, cuts) => {
        let text = original.join('\n');
        let reply = 'Edits:\n';
        for (const [at, more, replacement] of cuts) {
          const current = text.split('\n');
          const first = at % current.length;
          const search = current.slice(first, first + more + 1);
          const next = current.toSpliced(first, search.length, ...replacement);
          const occurrences = current.filter((_line, index) =>
            search.every((line, offset) => current[index + offset] === line),
          );
          const isBlankOnly = replacement.length > 0 && replacement.join('\n') === '';
          if (occurrences.length !== 1 || search.join('').trim() === '' || isBlankOnly || next.length === 0) continue;
          text = next.join('\n');
          reply += block(search.join('\n'), replacement.join('\n'));
        }
        const edits = readEdits(reply);
        expect(
          edits === null ? { ok: true, text: original.join('\n') } : applyEdits(original.join('\n'), edits),
        ).toEqual({
          ok: true,
          text,
        });
      }),
    );
  });
});
