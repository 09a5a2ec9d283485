import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MarkdownNode } from '../api.ts';
import { markdownTree } from './tree.ts';

test('a document becomes a tree of known nodes', () => {
  const text =
    '# Title\n\nSome *words*, `code` and **more**.\n\n- [x] done\n- [ ] open\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nlet a;\n```\n\n> quoted\n';
  expect(markdownTree(text)).toEqual([
    ['h', 1, 'Title'],
    ['p', 'Some ', ['em', 'words'], ', ', ['code', 'code'], ' and ', ['strong', 'more'], '.'],
    ['ul', ['task', true, ['p', 'done']], ['task', false, ['p', 'open']]],
    ['table', ['row', ['cell', 'a'], ['cell', 'b']], ['row', ['cell', '1'], ['cell', '2']]],
    ['pre', 'js', 'let a;'],
    ['quote', ['p', 'quoted']],
  ]);
});

test.each([
  ['a script', '<script>alert(1)</script>', [['p', '<script>alert(1)</script>']]],
  ['an image with a handler', '<img src=x onerror=alert(1)>', [['p', '<img src=x onerror=alert(1)>']]],
  ['an image from outside', '![a chart](https://evil.example/pixel.png)', [['p', ['em', 'a chart']]]],
  ['a link that is a script', '[click](javascript:alert(1))', [['p', 'click']]],
  ['one in other letters', '[click](JaVaScRiPt&colon;alert(1))', [['p', 'click']]],
  ['one behind a reference', '[click][x]\n\n[x]: data:text/html,<script>alert(1)</script>', [['p', 'click']]],
  ['a link to a file', '[click](file:///etc/passwd)', [['p', 'click']]],
  ['a link to the web', '[click](https://example.org/a?b=1#c)', [['p', ['a', 'https://example.org/a?b=1#c', 'click']]]],
  ['a comment', '<!-- nothing -->', []],
  ['a language that is markup', '```"><script>\nx\n```', [['pre', '', 'x']]],
])('%s stays text', (_, text, tree) => {
  expect(markdownTree(text)).toEqual(tree);
});

test('what is nested deeper than anybody writes is cut, and so is a document without end', () => {
  const depthOf = (node: MarkdownNode): number =>
    typeof node === 'string'
      ? 0
      : 1 + Math.max(0, ...(node.slice(1) as MarkdownNode[]).map((one) => (Array.isArray(one) ? depthOf(one) : 0)));
  expect(Math.max(...markdownTree(`${'> '.repeat(500)}x`).map(depthOf))).toBeLessThan(50);
  expect(JSON.stringify(markdownTree('word '.repeat(81_000))).length).toBeLessThan(500_000);
});

const NAMES = new Set('p em strong del quote ul ol li table row cell h task a code pre br hr'.split(' '));

test('whatever is written, the tree has no other nodes, and links lead to the web alone', () => {
  const piece = fc.constantFrom(
    '<',
    '>',
    '[',
    ']',
    '(',
    ')',
    '!',
    '`',
    '*',
    '_',
    '#',
    '|',
    '\n',
    ' ',
    'a',
    'javascript:',
    'https://e.org',
    '<b onclick=x>',
    '&lt;',
    '~',
    '-',
    '"',
  );
  const check = (node: MarkdownNode): void => {
    if (typeof node === 'string') return;
    expect(NAMES.has(node[0])).toBe(true);
    if (node[0] === 'a') expect(node[1]).toMatch(/^https?:\/\//);
    for (const one of node.slice(1)) if (Array.isArray(one)) check(one);
  };
  fc.assert(fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => markdownTree(pieces.join('')).forEach(check)));
});
