import { describe, expect, test } from 'vitest';
import { createJsonLines } from './json-lines.ts';

function split(lines: readonly string[]): { events: unknown[]; texts: string[] } {
  const events: unknown[] = [];
  const texts: string[] = [];
  const reader = createJsonLines(
    (event) => events.push(event),
    (line) => texts.push(line),
  );
  for (const line of lines) reader.push(line);
  reader.end();
  return { events, texts };
}

function inPieces(text: string, chars: number): string[] {
  return Array.from({ length: Math.ceil(text.length / chars) }, (_, index) =>
    text.slice(index * chars, (index + 1) * chars),
  );
}

describe('lines of JSON', () => {
  test('are told from other lines', () => {
    expect(split(['Warning: no colours', '{"a":1}', '[1]', '"text"', '', '{"b":2}'])).toEqual({
      events: [{ a: 1 }, { b: 2 }],
      texts: ['Warning: no colours', '[1]', '"text"', ''],
    });
  });

  test('that come in pieces are put together, also where a piece looks like an end or a beginning', () => {
    const event = { type: 'user', content: '}{"a":1}'.repeat(500), nested: { deep: [{}] } };
    for (const chars of [7, 8, 100, 1_000]) {
      expect(split(['before', ...inPieces(JSON.stringify(event), chars), '{"b":2}'])).toEqual({
        events: [event, { b: 2 }],
        texts: ['before'],
      });
    }
  });

  test('that never become whole are told as text when the next event comes, or at the end', () => {
    expect(split(['{ not json', 'more', '{"a":1}', '{again'])).toEqual({
      events: [{ a: 1 }],
      texts: ['{ not json', 'more', '{again'],
    });
  });

  test('that have no end don’t fill the memory, and the next event is read', () => {
    const pieces = Array.from({ length: 1_000 }, () => 'x'.repeat(10_000));
    expect(split(['{"a":"', ...pieces, '{"b":2}'])).toEqual({ events: [{ b: 2 }], texts: [] });
  });
});
