import fc from 'fast-check';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { frontmatterFromMarkdown } from 'mdast-util-frontmatter';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { frontmatter } from 'micromark-extension-frontmatter';
import { gfmTable } from 'micromark-extension-gfm-table';
import { expect, test } from 'vitest';
import { parseInPieces } from './markdown-pieces.ts';

const parse = (text: string) =>
  fromMarkdown(text, {
    extensions: [gfmTable(), frontmatter(['yaml'])],
    mdastExtensions: [gfmTableFromMarkdown(), frontmatterFromMarkdown(['yaml'])],
  });

const LONG = 'Words that fill a piece, with `code` and **bold** in them. '.repeat(40);

/** Everything that may stand open where a piece ends, and everything that may come next. */
const BLOCKS = [
  '# Heading',
  '#no heading',
  '##',
  '####### seven',
  'Words',
  `${LONG}\nand a second line`,
  '- item',
  '- item\n\n  more of it',
  '* [ ] task\n\n\n* other',
  '1. one\n2. two',
  '> quoted\nlazy',
  '> ```\n> code',
  '- ```\n  code in an item',
  '- ```\n  closed\n  ```',
  '```js\ncode\n\n# not a heading\n```',
  '```js\nnever closed',
  '````\n```\nstill open',
  '~~~\n```\n~~~',
  '    indented code',
  '<div>\n# inside',
  '<!-- comment\n\n# inside\n\nstill inside',
  '<!-- closed -->',
  '<pre>\n\nopen',
  '| a | b |\n|---|---|\n| 1 | `2` |',
  '| no table |',
  '---',
  'Title\n===',
  '[reference] and [text][reference]',
  '[reference]: /somewhere "title"',
  '---\nkey: value\n# comment\n\nother: 1\n---',
  '',
  '   ',
  'hard break  \nhere\\\nand here',
  '\tTab',
];

test('a document taken apart has the tree of the whole', () => {
  const document = fc
    .array(fc.tuple(fc.constantFrom(...BLOCKS), fc.constantFrom('\n', '\n\n', '\n \n', '\n\n\n'), fc.boolean()), {
      maxLength: 14,
    })
    .map((blocks) => blocks.map(([block, end, long]) => `${block}${end}${long ? `${LONG}\n\n` : ''}`).join(''));
  fc.assert(
    fc.property(document, (text) => {
      expect(parseInPieces(text, parse)).toEqual(parse(text));
    }),
    { numRuns: 200 },
  );
});

test('a long document is not parsed as one', () => {
  const sizes: number[] = [];
  parseInPieces(`# Title\n\n${LONG}\n\n`.repeat(10), (text) => {
    sizes.push(text.length);
    return parse(text);
  });
  expect(Math.max(...sizes)).toBeLessThan(5_000);
});
