import { expect, test } from 'vitest';
import { READERS, STRINGS } from '../../test/support/adversarial.ts';

const SMALL = 10_000;
const TIMES = 4;
/** So much is not worth a second look, however often the machine is busy with others. */
const NOTHING_MS = 40;
/** Between four, which is linear, and sixteen, which is the square. */
const MOST_RATIO = 9;
const ATTEMPTS = 4;

/** The fastest of some attempts: other programs of the machine only ever add to it. */
function fastestMs(read: (text: string) => unknown, text: string, attempts: number): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const startedAt = performance.now();
    read(text);
    fastest = Math.min(fastest, performance.now() - startedAt);
  }
  return fastest;
}

for (const [name, read] of Object.entries(READERS)) {
  test(`${name} takes time in proportion to what it reads`, () => {
    const slow = Object.entries(STRINGS).flatMap(([kind, make]) => {
      const large = make(SMALL * TIMES);
      // Trees of documents are kept for a while: each text is one that was not read before.
      if (fastestMs(read, large, 1) < NOTHING_MS) return [];
      const distinct = Array.from({ length: ATTEMPTS }, (_, index) => index);
      const best = (size: number): number =>
        Math.min(...distinct.map((index) => fastestMs(read, `${make(size)}${' x'.repeat(index + 1)}`, 1)));
      const largeMs = best(SMALL * TIMES);
      const ratio = largeMs / best(SMALL);
      return largeMs > NOTHING_MS && ratio > MOST_RATIO
        ? [`${kind}: ${largeMs.toFixed(0)} ms, ×${ratio.toFixed(1)}`]
        : [];
    });
    expect(slow).toEqual([]);
  });
}
