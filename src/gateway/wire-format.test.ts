import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSseReader } from './wire-format.ts';

function read(pieces: readonly Uint8Array[]): string[] {
  const events: string[] = [];
  const reader = createSseReader((data) => events.push(data));
  for (const piece of pieces) reader.push(piece);
  return events;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test('the data of each event comes out, whatever else the stream holds', () => {
  const text = ': comment\n\nevent: a\ndata: one\nid: 4\n\n\n\ndata:two\ndata: lines\n\nretry: 5\n\ndata: torn';
  expect(read([bytes(text)])).toEqual(['one', 'two\nlines']);
});

test('lines may end as in HTTP', () => {
  expect(read([bytes('event: a\r\ndata: {"x":1}\r\n\r\n')])).toEqual(['{"x":1}']);
});

test('it does not matter where the stream is cut, not even within a character', () => {
  const whole = bytes('data: Größe 🥊\n\ndata: zwei\r\n\r\n');
  fc.assert(
    fc.property(fc.array(fc.nat(whole.length)), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
      const pieces = at.slice(1).map((end, index) => whole.subarray(at[index], end));
      expect(read(pieces)).toEqual(['Größe 🥊', 'zwei']);
    }),
  );
});

test('an event without end is given up instead of kept, and the next one is read again', () => {
  const piece = new Uint8Array(1024 * 1024).fill(0x78);
  const pieces = [bytes('data: '), ...Array.from({ length: 40 }, () => piece), bytes('\n\ndata: next\n\n')];
  expect(read(pieces)).toEqual(['next']);
});
