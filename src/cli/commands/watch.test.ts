import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createIdleLine } from './watch.ts';

function shown(isTTY: boolean, quiet = false): { stream: Writable; text: () => string; options: never } {
  let text = '';
  const stream = Object.assign(
    new Writable({
      write(chunk: Buffer, _, done) {
        text += chunk.toString('utf8');
        done();
      },
    }),
    { isTTY, columns: 40 },
  );
  const options = { env: {}, quiet, mask: (given: string) => given.replace('secret', '***') };
  return { stream, text: () => text, options: options as never };
}

test('on a terminal one line is rewritten, cut to its width, and removed before anything else is printed', () => {
  const { stream, text, options } = shown(true);
  const line = createIdleLine(stream, options);
  line.show('watching a secret', 'next look 14:00');
  line.show('watching \u001B[31mmuch more than fits into a line of it', 'next look 14:01');
  line.clear();
  line.clear();
  expect(text().split('\r\u001B[K')).toEqual([
    '',
    'watching a *** · next look 14:00',
    'watching much more than fits into a li…',
    '',
  ]);
});

test('without a terminal, a line is printed when it changes', () => {
  const { stream, text, options } = shown(false);
  const line = createIdleLine(stream, options);
  for (const now of ['1', '2']) line.show('waits', now);
  line.show('waits for a secret', '3');
  line.clear();
  expect(text()).toBe('[COORDINATOR] waits\n[COORDINATOR] waits for a ***\n');
});

test('with --quiet nothing is printed', () => {
  const { stream, text, options } = shown(true, true);
  const line = createIdleLine(stream, options);
  line.show('waits', '1');
  line.keep('waits');
  expect(text()).toBe('');
});
