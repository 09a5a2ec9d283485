import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compose, type Material } from './compose.ts';
import { rangesOf, readLines } from './lines.ts';
import { mapOf } from './overview.ts';
import { termsOf } from './terms.ts';

const VALUES = new Map(termsOf('quota').map((term) => [term, 2]));
const plain = { isTest: false, isChangelog: false };

function materialOf(files: Record<string, string>, budget: number): Material {
  const paths = Object.keys(files);
  return {
    base: '0123456789abcdef0123456789abcdef01234567',
    paths,
    ranked: paths.map((path, at) => ({ path, score: 1 / (at + 1), why: 'words of the text' })),
    read: new Map(paths.map((path) => [path, readLines(path, Buffer.from(files[path] ?? ''), VALUES, plain)])),
    leftOut: [{ path: '.env', why: 'may hold secrets' }],
    budget,
  };
}

const line = fc.oneof(
  fc.constantFrom('', '```', '  quota();', 'export function quota() {', '}'),
  fc.string({ maxLength: 90 }),
);
const content = fc.array(line, { maxLength: 120 }).map((lines) => lines.join('\n'));
const name = fc.stringMatching(/^[a-z]{1,8}(\/[a-z]{1,8}){0,3}\.(ts|md|py)$/);

test('whatever the files are, the budget holds, the lines are those of the file, and the result is the same again', () => {
  fc.assert(
    fc.property(fc.dictionary(name, content, { maxKeys: 40 }), fc.integer({ min: 0, max: 20_000 }), (files, budget) => {
      const shown = compose(materialOf(files, budget));
      expect(shown.text.length).toBeLessThanOrEqual(budget);
      expect(shown.tokens).toBe(Math.ceil(shown.text.length / 4));
      expect(compose(materialOf(files, budget))).toEqual(shown);
      for (const { path, part, lines } of shown.files) {
        const count = (files[path] ?? '').replace(/\r\n?/g, '\n').replace(/\n$/, '').split('\n').length;
        let last = 0;
        for (const [from, to] of lines) {
          expect(from).toBeGreaterThan(last);
          expect(to).toBeGreaterThanOrEqual(from);
          last = to;
        }
        expect(last).toBeLessThanOrEqual(count);
        if (part === 'whole') expect(lines).toEqual([[1, count]]);
        expect(shown.text).toContain(path.slice(path.lastIndexOf('/') + 1));
      }
    }),
    { numRuns: 60 },
  );
});

test('a small file is shown whole, of a large one the lines that matter, of the next an outline, each with its reason', () => {
  const filler = Array.from({ length: 1_200 }, (_, at) => `export const value${at} = ${at};`);
  const large = [
    ...filler.slice(0, 300),
    '',
    'export function takeQuota() {',
    '  return quota;',
    '}',
    '',
    ...filler.slice(300),
  ];
  const others = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`z/${at}.ts`, filler.join('\n')]));
  const { text, files } = compose(materialOf({ 'a.ts': 'quota();\n', 'b.ts': large.join('\n'), ...others }, 20_000));
  expect(files[0]).toMatchObject({ path: 'a.ts', part: 'whole', lines: [[1, 1]], why: 'words of the text' });
  const excerpt = files.find(({ path }) => path === 'b.ts');
  expect(excerpt?.part).toBe('excerpt');
  expect(excerpt?.lines.some(([from, to]) => from <= 302 && to >= 304)).toBe(true);
  expect(text).toContain('return quota;');
  expect(files.at(-1)?.part).toBe('outline');
  expect(text).toContain('- .env: may hold secrets');
});

test('a file with fences in it can not end its own fence', () => {
  const { text } = compose(materialOf({ 'a.ts': '````\ninner\n````\n' }, 4_000));
  expect(text).toContain('`````\n````\ninner\n````\n`````');
});

test('the map opens the folders that matter and counts the others', () => {
  const paths = Array.from({ length: 2_000 }, (_, at) => `src/part-${at % 10}/file-${at}.js`);
  const map = mapOf(paths, (path) => (path.startsWith('src/part-3/') ? 1 : 0), 900);
  expect(map.length).toBeLessThanOrEqual(900);
  expect(map).toMatch(/^src\/part-3\/: .*… 170 more$/m);
  expect(map).toContain('part-4/ (200)');
  expect(map).not.toMatch(/^src\/part-4\/:/m);
});

test('blocks that touch become one range', () => {
  const blocks = [
    { from: 8, to: 9 },
    { from: 1, to: 3 },
    { from: 4, to: 6 },
  ];
  expect(rangesOf(blocks)).toEqual([
    [1, 6],
    [8, 9],
  ]);
});
