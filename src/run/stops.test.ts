import { appendFile, mkdir } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { eventually } from '../../test/support/processes.ts';
import { pathsOf } from '../core/paths.ts';
import { followCancels } from './stops.ts';

test('each request to cancel an item is passed on once; half a line waits for its end, and other lines mean nothing', async () => {
  const folder = await testFolder();
  const run = pathsOf(folder, folder).run('r1');
  const cancelled: string[] = [];
  const following = followCancels(run, (id, by) => cancelled.push(`${id} by ${by}`));
  onTestFinished(() => following.close());
  await mkdir(run.directory, { recursive: true });
  const line = (item: string, by: string): string => `${JSON.stringify({ at: '', type: 'cancel', item, by })}\n`;
  const half = line('8', 'Grace');
  await appendFile(
    run.requests,
    `${line('7', 'Ada')}{"type":"other"}\n${line('../x', 'Eve')}no JSON\n${half.slice(0, 20)}`,
  );
  await eventually('the first is read', () => cancelled.length === 1);
  await appendFile(run.requests, half.slice(20));
  await eventually('the second is read', () => cancelled.length === 2);
  expect(cancelled).toEqual(['7 by Ada', '8 by Grace']);
});
