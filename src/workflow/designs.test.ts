import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { edited, LLD_42 } from '../../test/fixtures/lld/lld-42.ts';
import { testFolder } from '../../test/support/folder.ts';
import { designFacts } from '../documents/lld/document.ts';
import { createDesignCache, designNames, rememberDesign } from './designs.ts';

const OTHER = LLD_42.replaceAll('42', '43').replace('**Related Issues:** None', '**Related Issues:** depends on #42');

async function place(): Promise<{ file: string; lines: () => Promise<string[]> }> {
  const file = join(await testFolder(), 'caches', 'designs.jsonl');
  return { file, lines: async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean) };
}

/** What the file says counts, so that a changed entry shows whether it was used. */
async function change(file: string, edit: (text: string) => string): Promise<void> {
  await writeFile(file, edit(await readFile(file, 'utf8')));
}

test('what was parsed is stored once by save, and not parsed again; nothing is written without it', async () => {
  const { file, lines } = await place();
  const cache = createDesignCache(file);
  expect(await cache.factsOf(LLD_42)).toEqual({ ...designFacts(LLD_42), ...designNames(LLD_42) });
  expect(await cache.factsOf(OTHER)).toMatchObject({ after: ['42'] });
  expect(await lines()).toEqual([]);
  await cache.save();
  await rememberDesign(file, LLD_42);
  expect(await lines()).toHaveLength(3);

  await change(file, (text) => text.replaceAll('src/item-43.js', 'src/from-the-cache.js'));
  const next = createDesignCache(file);
  expect((await next.factsOf(OTHER)).files).toContain('src/from-the-cache.js');
  await next.save();
  expect(await lines()).toHaveLength(3);
  // Another text is another design.
  expect((await next.factsOf(`${OTHER}\n`)).files).toContain('src/item-43.js');
});

test('what is damaged, torn or of another version is ignored, and spoils no other entry', async () => {
  const { file } = await place();
  await mkdir(dirname(file));
  for (const damage of ['{"hash":"a","re', 'null', '[]', '\0\0', '{"hash":1}']) await appendFile(file, `\n${damage}`);
  await rememberDesign(file, LLD_42);
  await rememberDesign(file, OTHER);
  await change(file, (text) => text.replaceAll('src/item-', 'lib/item-'));
  const files = async (text: string): Promise<string> => (await createDesignCache(file).factsOf(text)).files.join();
  expect(await files(LLD_42)).toContain('lib/item-42.js');
  expect(await files(OTHER)).toContain('lib/item-43.js');
  for (const [from, to] of [
    ['"reader":"', '"reader":"0.0.1-'],
    ['"files":[', '"files":[7,'],
    ['"after":[', '"after":"none","x":['],
  ] as const) {
    const before = await readFile(file, 'utf8');
    await change(file, (text) => text.replaceAll(from, to));
    expect(await files(OTHER), to).toContain('src/item-43.js');
    await writeFile(file, before);
  }
});

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
