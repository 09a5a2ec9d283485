import { expect, test } from 'vitest';
import { READERS, STRINGS } from '../../test/support/adversarial.ts';

const SMALL = 1_000;
const TIMES = 8;
/** What takes no longer than this is not asked how it grows. */
const NOTHING_MS = 100;
/** Between 8, which is in proportion, and 64, which is the square. */
const MOST_RATIO = 24;
const ATTEMPTS = 3;

/** Of this thread alone, so that it is the same on a busy machine. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function costMs(read: (text: string) => unknown, text: string): number {
  const before = cpuMs();
  read(text);
  return cpuMs() - before;
}

/** The fastest of some attempts. Trees of documents are kept for a while: no attempt has the text of another. */
function fastestMs(read: (text: string) => unknown, text: string): number {
  return Math.min(...Array.from({ length: ATTEMPTS }, (_, index) => costMs(read, `${text}${' x'.repeat(index + 1)}`)));
}

test('every reader of text from outside takes time in proportion to it', () => {
  const slow: string[] = [];
  for (const [kind, make] of Object.entries(STRINGS)) {
    const large = make(SMALL * TIMES);
    for (const [name, read] of Object.entries(READERS)) {
      const firstMs = costMs(read, large);
      if (firstMs < NOTHING_MS || firstMs / Math.max(1, costMs(read, make(SMALL))) < MOST_RATIO) continue;
      const largeMs = fastestMs(read, large);
      const ratio = largeMs / Math.max(1, fastestMs(read, make(SMALL)));
      if (largeMs > NOTHING_MS && ratio > MOST_RATIO) slow.push(`${name} of ${kind}: ${largeMs} ms, ×${ratio}`);
    }
  }
  expect(slow).toEqual([]);
}, 180_000);
