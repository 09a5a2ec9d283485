import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { joinStreams } from './reach.ts';

test.each([0, 1])('of two streams of which one is gone already, the other goes too', (gone) => {
  const streams = [new PassThrough(), new PassThrough()] as const;
  streams[gone === 0 ? 0 : 1].destroy();
  joinStreams(...streams);
  expect(streams.map(({ destroyed }) => destroyed)).toEqual([true, true]);
});
