import { expect, test } from 'vitest';
import { codeOf } from '../core/errors.ts';
import type { OutsideView } from '../git/checkout-watch.ts';
import { createCheckoutGuard } from './checkout-guard.ts';

function scene() {
  const files = new Map([['kept.txt', '1']]);
  const told: string[][] = [];
  let looks = 0;
  const look = (): Promise<OutsideView> => {
    looks += 1;
    const kinds = new Map([...files.keys()].filter((name) => name !== 'kept.txt').map((name) => [name, 'untracked']));
    return Promise.resolve({
      repository: '/r',
      base: '/r/.agentos',
      atMs: 0,
      entries: new Map(files),
      kinds: kinds as OutsideView['kinds'],
      owners: new Map(),
      busy: new Set(),
      events: new Map(),
    });
  };
  const watch = createCheckoutGuard({
    verify: () => undefined,
    look,
    events: '/r/.agentos/runs/1/events.jsonl',
    worktree: '/worktree',
    onChanged: (names) => told.push(names),
  });
  const change = (name: string) => (): Promise<void> => {
    files.set(name, `${files.get(name) ?? ''}+`);
    return Promise.resolve();
  };
  return { watch, change, told, looks: () => looks };
}

const failure = (work: Promise<unknown>): Promise<string | null> => work.then(() => null, codeOf);

test('what is changed while something runs is found behind its step, also if it failed', async () => {
  const { watch, change } = scene();
  const during = (work: () => Promise<void>): Promise<string | null> =>
    failure(watch.checked(() => watch.before(work)));
  expect(await during(() => Promise.resolve())).toBeNull();
  expect(await during(change('new.txt'))).toBe('changed-outside');
  const both = async (): Promise<void> => {
    await change('other.txt')();
    throw new Error('and it failed');
  };
  expect(await during(both)).toBe('changed-outside');
});

test('a step that was replayed looks at nothing', async () => {
  const { watch, looks } = scene();
  expect(await watch.checked(() => Promise.resolve('stored'))).toBe('stored');
  expect(looks()).toBe(0);
});

test('what is not a fault is reported once', async () => {
  const { watch, change, told } = scene();
  for (let call = 0; call < 2; call++) await watch.checked(() => watch.before(change('kept.txt')));
  expect(told).toEqual([['kept.txt']]);
});

test('what is put off is found by the next check, and by that alone', async () => {
  const { watch, change, looks } = scene();
  await watch.before(change('new.txt'));
  expect(await failure(watch.checked(() => watch.before(() => Promise.resolve())))).toBe('changed-outside');
  expect(looks()).toBe(2);
  await watch.before(change('other.txt'));
  expect(await failure(watch.check())).toBe('changed-outside');
  expect(await failure(watch.check())).toBeNull();
  expect(looks()).toBe(3);
});
