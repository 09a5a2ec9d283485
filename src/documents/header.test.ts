import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyHash, readFrontMatter, writeFrontMatter } from './header.ts';

describe('writeFrontMatter', () => {
  it('writes plain YAML and quotes what would be read as something else', () => {
    expect(
      writeFrontMatter('# T\n', {
        issue: '42',
        status: 'approved',
        rounds: 2,
        model: false,
        reply: 'yes',
        at: '2026-01-01',
      }),
    ).toBe('---\nissue: "42"\nstatus: approved\nrounds: 2\nmodel: false\nreply: "yes"\nat: "2026-01-01"\n---\n\n# T\n');
  });

  it('is read back as it was given', () => {
    const value = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom('---', 'a\n---\nb', '…', '# x', '1e3', 'null', '~'),
    );
    const fields = fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9_-]{0,10}$/), value, { maxKeys: 6 });
    const body = fc
      .oneof(fc.string(), fc.constantFrom('', '\n', '\n\n# T', '---\na: 1\n---\n', '# T\n\ntext\n'))
      .filter((text) => !/\r/.test(text));
    fc.assert(
      fc.property(body, fields, (text, given) => {
        expect(readFrontMatter(writeFrontMatter(text, given))).toEqual({ fields: { ...given }, body: text });
      }),
    );
  });
});

describe('readFrontMatter', () => {
  it.each([
    ['CRLF and a byte-order mark', '\uFEFF---\r\ntitle: X\r\n---\r\n\r\nBody\r\n', { title: 'X' }, 'Body\n'],
    ['no blank line below', '---\ntitle: X\n---\nBody', { title: 'X' }, 'Body'],
    ['nothing below', '---\ntitle: X\n---', { title: 'X' }, ''],
    ['an end of dots and trailing spaces', '---  \ntitle: X\n...  \nBody', { title: 'X' }, 'Body'],
    ['lists', '---\nlabels: [a, b]\n---\nBody', { labels: ['a', 'b'] }, 'Body'],
    ['no fields', '---\n---\nBody', {}, 'Body'],
    ['no front matter', '# T\n\n---\na: 1\n---\n', {}, '# T\n\n---\na: 1\n---\n'],
    ['prose between two rules', '---\nSome prose\n---\nMore', {}, '---\nSome prose\n---\nMore'],
    ['a heading between two rules', '---\n\n# T\n\n---\n\nText', {}, '---\n\n# T\n\n---\n\nText'],
    ['a rule at the beginning', '---\n\nText', {}, '---\n\nText'],
    ['an empty file', '', {}, ''],
  ])('reads a file with %s', (_name, text, fields, body) => {
    expect(readFrontMatter(text)).toEqual({ fields, body });
  });

  it.each([
    ['is no YAML', '---\ntitle: "X\nb: [\n---\nBody', 'Body'],
    ['has a key twice', '---\na: 1\na: 2\n---\nBody', 'Body'],
    ['has an unknown alias', '---\na: *b\n---\nBody', 'Body'],
    ['is not closed', '---\ntitle: X\n\nBody', '---\ntitle: X\n\nBody'],
  ])('gives no fields when it %s', (_name, text, body) => {
    expect(readFrontMatter(text)).toEqual({ fields: {}, body });
  });
});

describe('bodyHash', () => {
  it('is a SHA-256 that does not see line ends, a byte-order mark or the very end', () => {
    expect(bodyHash('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(bodyHash('\uFEFFa\r\nb\r\n\r\n')).toBe(bodyHash('a\nb'));
  });

  it('sees every other change', () => {
    const texts = ['a\nb', 'a b', 'a\n b', 'a\n\nb', ' a\nb', 'a\nB', 'a \nb'];
    expect(new Set(texts.map(bodyHash)).size).toBe(texts.length);
  });
});

it('front matter longer than 16 KB is not parsed, and what nests without end is no crash', () => {
  const long = readFrontMatter(`---\ntitle: x\n${'a: b\n'.repeat(4_000)}---\nBody\n`);
  expect(long).toEqual({ fields: {}, body: 'Body\n' });
  expect(readFrontMatter(`---\na: ${'['.repeat(8_000)}\n---\nBody\n`)).toEqual({
    fields: {},
    body: 'Body\n',
  });
});
