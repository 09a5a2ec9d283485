import fc from 'fast-check';
import type { Nodes } from 'mdast';
import { expect, test } from 'vitest';
import { parseMarkdown, plainText } from './markdown.ts';
import { asCode, asText, tableOf } from './writer.ts';

/** Made of what Markdown could take for markup. */
const awkward = fc
  .array(
    fc.oneof(
      fc.constantFrom('|', '\\', '`', '``', '\n', '\r\n', '\t', '*', '**', '_', '~~', '[', ']', '](', '<b>', '<!--'),
      fc.constantFrom(
        '&amp;',
        '&',
        '#',
        '- ',
        '1. ',
        '> ',
        '+',
        '=',
        '---',
        '![',
        'http://a.b',
        ' ',
        'a',
        'snake_case',
      ),
      fc.string(),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));

const shown = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();

function cellsOf(markdown: string): string[][] {
  const [table] = parseMarkdown(markdown).children;
  return table?.type === 'table' ? table.children.map((row) => row.children.map((cell) => plainText(cell))) : [];
}

test('whatever a test is called, its name stands in its own cell as it is', () => {
  fc.assert(
    fc.property(awkward, awkward, (left, right) => {
      for (const form of [asText, asCode]) {
        const markdown = tableOf(['A', 'B'], [[form(left), form(right)]]);
        const expected = [left, right].map((text) => shown(text) || '–');
        expect(cellsOf(markdown)).toEqual([['A', 'B'], expected]);
      }
    }),
    { numRuns: 500 },
  );
});

test('whatever a message says, it is one item of a list, without markup', () => {
  fc.assert(
    fc.property(
      awkward.filter((text) => shown(text) !== ''),
      (text) => {
        const root = parseMarkdown(`- ${asText(text)}\n- next\n`);
        expect(root.children).toHaveLength(1);
        const [list] = root.children;
        const items = list?.type === 'list' ? list.children : [];
        expect(items.map((item) => plainText(item))).toEqual([shown(text), 'next']);
        expect(kindsIn(items[0])).toEqual(['listItem', 'paragraph', 'text']);
      },
    ),
    { numRuns: 500 },
  );
});

function kindsIn(node: Nodes | undefined): string[] {
  if (!node) return [];
  return [node.type, ...('children' in node ? node.children.flatMap((child) => kindsIn(child)) : [])];
}

test('long text is cut with a mark', () => {
  expect(asText('x'.repeat(20), 10)).toBe(`${'x'.repeat(9)}…`);
  expect(asCode('x'.repeat(20), 10)).toBe(`\`${'x'.repeat(9)}…\``);
});
