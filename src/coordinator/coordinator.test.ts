import { mkdtempSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { Behaviour } from '../../test/support/coordinated-task.ts';
import { AgentosError } from '../core/errors.ts';
import {
  type CoordinatedEnd,
  type CoordinatedItem,
  type CoordinatorOptions,
  ParallelCoordinator,
} from './coordinator.ts';

const TASKS = new URL('../../test/support/coordinated-task.ts', import.meta.url).href;

type Item = Pick<CoordinatedItem, 'id' | 'task' | 'exclusive' | 'after'> & Behaviour;

interface Place {
  coordinator: ParallelCoordinator;
  item: (given: Item) => CoordinatedItem;
  /** `+id` when an item begins, `-id` at its end, in order. */
  course: string[];
  file: (name: string) => string;
  /** Lets go on who waits for it. */
  open: (name: string) => void;
}

/** Compiled once for all workers of this file: that is most of what starting one costs. */
const compileCache = mkdtempSync(join(tmpdir(), 'agentos-compiled-'));
afterAll(() => rm(compileCache, { recursive: true, force: true }));

/** Real workers, run from their source. */
async function place(options: Partial<CoordinatorOptions> = {}): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'agentos-coordinator-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const course: string[] = [];
  const file = (name: string): string => join(folder, name);
  return {
    course,
    file,
    open: (name) => writeFileSync(file(name), ''),
    item: ({ id, task, exclusive, after, ...behaviour }) => ({
      id,
      checkpoint: file(`${id}.db`),
      input: { ...behaviour, ...(behaviour.waitsFor && { waitsFor: file(behaviour.waitsFor) }) },
      ...(task && { task }),
      ...(exclusive && { exclusive }),
      ...(after && { after }),
    }),
    coordinator: new ParallelCoordinator({
      task: { module: TASKS, export: 'behaveTask' },
      parallel: 2,
      worker: {
        script: join(import.meta.dirname, '..', 'worker', 'main.ts'),
        env: { PATH: process.env['PATH'] ?? '' },
        cwd: folder,
        compileCache,
      },
      maxRetries: 1,
      timeoutMs: 60_000,
      idleTimeoutMs: 60_000,
      globalTimeoutMs: null,
      haltAfter: Number.POSITIVE_INFINITY,
      runTag: `test-${folder.slice(-6)}`,
      random: () => 0,
      claim: (id) => {
        course.push(`+${id}`);
        return () => course.push(`-${id}`);
      },
      onEvent: () => undefined,
      ...options,
    }),
  };
}

const statuses = (ends: readonly CoordinatedEnd[]): string[] => ends.map(({ id, status }) => `${id} ${status}`);

test('an item with a task of its own gets that one, in a worker that was warmed for the other', async () => {
  const { coordinator, item } = await place({ parallel: 1 });
  const task = { module: TASKS, export: 'otherTask' };
  const ends = await coordinator.run([item({ id: 'usual' }), item({ id: 'own', task }), item({ id: 'again' })]);
  expect(ends.map(({ reason }) => reason)).toEqual(['the usual task', 'the other task', 'the usual task']);
});

test('items that share a key never run together, and others don’t wait for them', async () => {
  const { coordinator, item, course, open } = await place({
    onEvent: (id, { type }) => type === 'item-finished' && id === 'free' && open('free-has-ended'),
  });
  const ends = await coordinator.run([
    item({ id: 'first', exclusive: ['a'], waitsFor: 'free-has-ended' }),
    item({ id: 'second', exclusive: ['b', 'a'] }),
    item({ id: 'free', exclusive: ['c'] }),
  ]);
  expect(statuses(ends)).toEqual(['first succeeded', 'second succeeded', 'free succeeded']);
  expect(course).toEqual(['+first', '+free', '-free', '-first', '+second', '-second']);
});

test('a key stays held between two attempts', async () => {
  const { coordinator, item, course } = await place({
    onEvent: (_id, { type }) => type === 'item-retrying' && coordinator.poke(),
  });
  const ends = await coordinator.run([
    item({ id: 'flaky', exclusive: ['a'], failsTimes: 1 }),
    item({ id: 'second', exclusive: ['a'] }),
  ]);
  expect(ends.map(({ attempts }) => attempts)).toEqual([2, 1]);
  expect(course).toEqual(['+flaky', '-flaky', '+second', '-second']);
});

test('an item that comes after another starts when that one has succeeded, even if it was given first', async () => {
  const { coordinator, item, course } = await place();
  const ends = await coordinator.run([
    item({ id: 'after', after: ['before', 'not-in-this-run'] }),
    item({ id: 'before' }),
  ]);
  expect(statuses(ends)).toEqual(['after succeeded', 'before succeeded']);
  expect(course).toEqual(['+before', '-before', '+after', '-after']);
});

test('an item whose dependency did not succeed is cancelled with a reason, and so are those that wait for it', async () => {
  const events: string[] = [];
  const { coordinator, item, course } = await place({
    onEvent: (id, event) => event.type === 'item-finished' && events.push(`${id} ${event.status}`),
  });
  const ends = await coordinator.run([
    item({ id: '42', ends: 'failed' }),
    item({ id: '43', after: ['42'] }),
    item({ id: '44', after: ['43'] }),
    item({ id: '45', ends: 'discuss' }),
    item({ id: '46', after: ['45'] }),
  ]);
  expect(ends.filter(({ status }) => status === 'cancelled')).toMatchObject([
    { id: '43', attempts: 0, error: null, reason: 'not started: it depends on 42, which ended as failed' },
    { id: '44', attempts: 0, error: null, reason: 'not started: it depends on 43, which ended as cancelled' },
    { id: '46', attempts: 0, error: null, reason: 'not started: it depends on 45, which ended as discuss' },
  ]);
  expect(events.toSorted()).toEqual(statuses(ends).toSorted());
  expect(course.filter((entry) => entry.startsWith('+')).toSorted()).toEqual(['+42', '+45']);
});

test('items that depend on each other all end, the first one first', async () => {
  const { coordinator, item, course } = await place();
  const ends = await coordinator.run([item({ id: '1', after: ['2'] }), item({ id: '2', after: ['1'] })]);
  expect(statuses(ends)).toEqual(['1 succeeded', '2 succeeded']);
  expect(course).toEqual(['+1', '-1', '+2', '-2']);
});

test('items that join at another’s end run ahead of waiting ones, and come last in the result', async () => {
  const { coordinator, item, course } = await place({ parallel: 1 });
  const ends = await coordinator.run([item({ id: '1' }), item({ id: '2' })], {
    next: ({ id, status }) =>
      status === 'succeeded' && id.length < 3 ? [item({ id: `${id}+`, exclusive: ['one-at-a-time'] })] : [],
  });
  expect(statuses(ends)).toEqual([
    '1 succeeded',
    '2 succeeded',
    '1+ succeeded',
    '1++ succeeded',
    '2+ succeeded',
    '2++ succeeded',
  ]);
  expect(course.filter((entry) => entry.startsWith('+'))).toEqual(['+1', '+1+', '+1++', '+2', '+2+', '+2++']);
});

test('the run does not end while items join, even if a subscriber pokes it at the last end', async () => {
  const at = await place({ onEvent: (_id, { type }) => type === 'item-finished' && at.coordinator.poke() });
  const ends = await at.coordinator.run([at.item({ id: '1' })], {
    next: ({ id }) => (id === '1' ? [at.item({ id: '2' })] : []),
  });
  expect(statuses(ends)).toEqual(['1 succeeded', '2 succeeded']);
});

test('a halt and a stop also apply to items that join', async () => {
  const halted = await place({ parallel: 1, haltAfter: 1 });
  const join = (at: Place) => ({
    next: ({ id }: CoordinatedEnd) => (id.length < 2 ? [at.item({ id: `${id}+`, after: [] })] : []),
  });
  const afterHalt = await halted.coordinator.run([halted.item({ id: '1', ends: 'failed' })], join(halted));
  expect(afterHalt).toMatchObject([
    { id: '1', status: 'failed' },
    { id: '1+', status: 'cancelled', attempts: 0, reason: 'not started', error: { problem: { code: 'halted' } } },
  ]);

  const reason = new AgentosError({ code: 'interrupted', signal: 'SIGINT' });
  const stopped = await place({
    onEvent: (_id, { type }) => type === 'item-finished' && stopped.coordinator.stop(reason),
  });
  const afterStop = await stopped.coordinator.run(
    [stopped.item({ id: '1' }), stopped.item({ id: '2', after: ['1'] })],
    join(stopped),
  );
  expect(statuses(afterStop)).toEqual(['1 succeeded', '2 cancelled', '1+ cancelled', '2+ cancelled']);
  expect(afterStop.slice(1).map(({ error }) => error?.problem.code)).toEqual(Array(3).fill('interrupted'));
});

test('a stop ends an item whose retry delay is over but that has no worker yet', async () => {
  const reason = new AgentosError({ code: 'interrupted', signal: 'SIGINT' });
  const at = await place({
    parallel: 1,
    claim: (id) => {
      if (id === 'long') setImmediate(() => at.coordinator.stop(reason));
      return () => undefined;
    },
    clock: {
      // Another item takes the worker meanwhile, and the delay is over at once.
      sleep: async () => at.coordinator.poke(),
    },
  });
  const ends = await at.coordinator.run([
    at.item({ id: 'flaky', failsTimes: 1 }),
    at.item({ id: 'long', waitsFor: 'never' }),
  ]);
  expect(ends).toMatchObject([
    { id: 'flaky', status: 'cancelled', attempts: 1 },
    { id: 'long', status: 'cancelled', attempts: 1 },
  ]);
});

test('a duplicate id is refused, and no process is left behind', async () => {
  const twice = await place();
  await expect(twice.coordinator.run([twice.item({ id: '1' }), twice.item({ id: '1' })])).rejects.toThrow('the id 1');
  const again = await place();
  const run = again.coordinator.run([again.item({ id: '1' }), again.item({ id: '2', waitsFor: 'never' })], {
    next: () => [again.item({ id: '1' })],
  });
  await expect(run).rejects.toThrow('the id 1');
});

test('an item that another run has claimed waits for a while; if that run finishes it, it is not done again', async () => {
  const refusals = new Map([
    ['soon', 1],
    ['never', Number.POSITIVE_INFINITY],
  ]);
  const notices: string[] = [];
  const { coordinator, item } = await place({
    claimWaitMs: 1_500,
    claim: (id) => {
      const left = refusals.get(id) ?? 0;
      refusals.set(id, left - 1);
      if (left > 0) throw new AgentosError({ code: 'item-locked', id, workflow: 'x', pid: 7, since: '' });
      return () => undefined;
    },
    alreadyDone: async (id) => (id === 'soon' ? { status: 'skipped', reason: 'by another run', outputs: ['x'] } : null),
    onEvent: (id, event) => event.type === 'notice' && notices.push(`${id} ${event.text}`),
  });
  const items = ['never', 'soon', 'free'].map((id) => item({ id }));
  const ends = await coordinator.run([...items, item({ id: 'after', after: ['soon'] })]);
  expect(statuses(ends)).toEqual(['never failed', 'soon skipped', 'free succeeded', 'after succeeded']);
  expect(ends[0]?.error?.problem.code).toBe('item-locked');
  expect(ends[1]).toMatchObject({ attempts: 0, reason: 'by another run', outputs: ['x'] });
  expect(notices).toEqual(['never', 'soon'].map((id) => `${id} waits for process 7, which is working on it`));
});

test('a halt from outside starts nothing new; running items and those claimed elsewhere end', async () => {
  const { coordinator, item, open } = await place({
    parallel: 1,
    claimWaitMs: 60_000,
    claim: (id) => {
      if (id === 'locked') throw new AgentosError({ code: 'item-locked', id, workflow: 'x', pid: 7, since: '' });
      if (id === 'busy') coordinator.halt({ problem: { code: 'usage', reason: 'enough' }, retry: 'permanent' });
      open('go');
      return () => undefined;
    },
  });
  const ends = await coordinator.run([
    item({ id: 'locked' }),
    item({ id: 'busy', waitsFor: 'go' }),
    item({ id: 'new' }),
  ]);
  expect(statuses(ends)).toEqual(['locked cancelled', 'busy succeeded', 'new cancelled']);
  expect(ends[2]?.error?.problem).toEqual({ code: 'usage', reason: 'enough' });
});

test('one item can be cancelled while it runs, waits or is to be retried; the others continue', async () => {
  const events: string[] = [];
  const { coordinator, item, open } = await place({
    parallel: 2,
    maxRetries: 3,
    random: () => 1,
    onEvent: (id, event) => {
      events.push(`${id} ${event.type}`);
      if (id === 'failing' && event.type === 'item-retrying') cancel('failing', 'waiting', 'running');
      if (id === 'running' && event.type === 'item-finished') open('go');
    },
  });
  const cancel = (...ids: string[]): void => {
    for (const id of ids) coordinator.cancel(id, new AgentosError({ code: 'item-cancelled', by: 'Ada' }));
  };
  const ends = await coordinator.run([
    item({ id: 'running', waitsFor: 'never' }),
    item({ id: 'failing', failsTimes: 9 }),
    item({ id: 'other', waitsFor: 'go' }),
    item({ id: 'waiting', exclusive: ['x'], after: ['other'] }),
    item({ id: 'behind', after: ['waiting'] }),
  ]);
  expect(statuses(ends)).toEqual([
    'running cancelled',
    'failing cancelled',
    'other succeeded',
    'waiting cancelled',
    'behind cancelled',
  ]);
  expect(ends.slice(0, 4).map(({ error }) => error?.problem.code)).toEqual([
    'item-cancelled',
    'item-cancelled',
    undefined,
    'item-cancelled',
  ]);
  expect(ends[4]?.reason).toContain('depends on waiting');
  expect(ends[3]?.attempts).toBe(0);
});
