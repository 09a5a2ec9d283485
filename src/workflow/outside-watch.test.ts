import { expect, test } from 'vitest';
import { codeOf } from '../core/errors.ts';
import type { OutsideView } from '../workspace/outside.ts';
import { createOutsideWatch } from './outside-watch.ts';

function scene() {
  const files = new Map([['kept.txt', '1']]);
  let looks = 0;
  const look = (): Promise<OutsideView> => {
    looks += 1;
    return Promise.resolve({ entries: new Map(files) });
  };
  const watch = createOutsideWatch(look, '/worktree');
  const change = (name: string) => (): Promise<void> => {
    files.set(name, `${files.get(name) ?? ''}+`);
    return Promise.resolve();
  };
  return { watch, change, looks: () => looks };
}

const failure = (work: Promise<unknown>): Promise<string | null> => work.then(() => null, codeOf);

test('what is changed while something runs is found when it has ended, also if it failed', async () => {
  const { watch, change } = scene();
  expect(await failure(watch.during(() => Promise.resolve()))).toBeNull();
  expect(await failure(watch.during(change('new.txt')))).toBe('changed-outside');
  const both = async (): Promise<void> => {
    await change('kept.txt')();
    throw new Error('and it failed');
  };
  expect(await failure(watch.during(both))).toBe('changed-outside');
});

test('what is put off is found by the next check, and by that alone', async () => {
  const { watch, change, looks } = scene();
  await watch.before(change('new.txt'));
  expect(await failure(watch.during(() => Promise.resolve()))).toBe('changed-outside');
  expect(looks()).toBe(2);
  await watch.before(change('other.txt'));
  expect(await failure(watch.check())).toBe('changed-outside');
  expect(await failure(watch.check())).toBeNull();
  expect(looks()).toBe(3);
});
