import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createChain, createChainReader } from './chain.ts';

function chainOf(records: readonly unknown[]): string[] {
  const chain = createChain();
  return records.map((record) => {
    const { line, commit } = chain.link(JSON.stringify(record));
    commit();
    return line.slice(0, -1);
  });
}

function readingOf(lines: readonly string[]) {
  const reader = createChainReader();
  for (const line of lines) reader.push(line);
  return reader.reading();
}

const records = fc.array(fc.record({ at: fc.string(), n: fc.nat() }), { minLength: 2, maxLength: 12 });

test('a chain holds, and each line is the record that was given', () => {
  fc.assert(
    fc.property(records, (given) => {
      const lines = chainOf(given);
      expect(readingOf(lines)).toMatchObject({ lines: given.length, broken: null });
      expect(lines.map((line) => JSON.parse(line))).toMatchObject(given);
    }),
  );
});

test('a line that was changed, left out, put in, repeated or moved breaks it there', () => {
  fc.assert(
    fc.property(records, fc.nat(), (given, n) => {
      const lines = chainOf(given);
      const at = n % lines.length;
      const line = lines[at] ?? '';
      const changed = line.replace('"n":', '"n":1');
      const brokenAt = (some: string[]): number | null => readingOf(some).broken?.line ?? null;
      expect(brokenAt(lines.with(at, changed))).toBe(at + 1);
      expect(brokenAt(lines.with(at, line.slice(0, -5)))).toBe(at + 1);
      expect(brokenAt(lines.toSpliced(at, 0, line))).toBe(at + 2);
      expect(brokenAt(lines.toSpliced(at, 0, JSON.stringify(given[at])))).toBe(at + 1);
      if (at < lines.length - 1) expect(brokenAt(lines.toSpliced(at, 1))).toBe(at + 1);
    }),
  );
});

test('what was not written is no link', () => {
  const chain = createChain();
  chain.link('{"a":1}');
  const { line, commit } = chain.link('{"b":2}');
  commit();
  expect(readingOf([line.trimEnd()])).toMatchObject({ broken: null, head: chain.head() });
});
