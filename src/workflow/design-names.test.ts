import { expect, test } from 'vitest';
import { edited, LLD_42 } from '../../test/fixtures/lld/lld-42.ts';
import { designNames } from './designs.ts';

test('a design with one file of code declares in it what its signatures list', () => {
  const { declares, adds } = designNames(LLD_42);
  expect(declares).toContain('src/item-42.js#item42');
  expect(adds).toEqual(expect.arrayContaining(['src/item-42.js', 'src/item-42.js#item42']));
});

test('names in the table of files belong to their file; what a file is said to get is added', () => {
  const rows = [
    '| `src/parse.js` | Modify | `parseDate()` takes null |',
    '| `src/words.js` | Modify | Adds `slugify` for `src/item-42.js` |',
    '| `src/item-42.js`',
  ].join('\n');
  const { declares, adds, uses } = designNames(edited('| `src/item-42.js`', rows));
  expect(declares).toEqual(expect.arrayContaining(['src/parse.js#parseDate', 'src/words.js#slugify']));
  expect(adds).toContain('src/words.js#slugify');
  expect(adds).not.toContain('src/parse.js#parseDate');
  // Another design may add the file that this one changes.
  expect(uses).toContain('src/parse.js');
  expect(uses).not.toContain('slugify');
});

test('a listing belongs to the file that is named above it or in it, and to none where there are several', () => {
  const listing = [
    '`src/parse.js`:',
    '```ts\nexport function parseDate(text: string): Date;\n  parseTime(text)\n```',
    '#### More',
    '```py\n# src/words.js\nclass Words:\n    def slug(self): ...\n```',
    '```go\nfunc (w *Words) Len() int { return 0 }\n```',
  ].join('\n\n');
  const text = edited(
    '| `src/item-42.js`',
    '| `src/parse.js` | Modify | x |\n| `src/words.js` | Modify | x |\n| `src/item-42.js`',
  ).replace(/(### 2\.4 [^\n]*\n)[^#]*/, `$1${listing}\n\n`);
  expect(designNames(text).declares).toEqual([
    'src/parse.js#parseDate',
    'src/parse.js#parseTime',
    'src/words.js#Words',
    'src/words.js#slug',
    '#Len',
  ]);
});

test('what is set off as code elsewhere is used, in the form in which another design adds it', () => {
  const text = edited('**Related Issues:** None', 'It calls `Words.slugify(text)` of `src/words.js` and `x`');
  expect(designNames(text).uses).toEqual(expect.arrayContaining(['slugify', 'src/words.js']));
  expect(designNames(text).uses).not.toContain('x');
});
