import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Problem } from '../../core/errors.ts';
import { ITEM_STATUSES } from '../../core/item.ts';
import { dayAround, endedItem, heldBack, startedItem, type WatchedItem, waitAfter } from './watched-items.ts';

const MINUTE = 60_000;
const NOW = { workflow: 'lld', hash: 'h', nowMs: 1_000 * MINUTE, isDecided: false } as const;

function watched(status: WatchedItem['status'], agoMs: number, more: Partial<WatchedItem> = {}): WatchedItem {
  return { workflow: 'lld', hash: 'h', attempts: 1, status, atMs: NOW.nowMs - agoMs, untilMs: null, ...more };
}

const cases: [what: string, item: WatchedItem | undefined, until: number | null | 'starts'][] = [
  ['one that is new', undefined, 'starts'],
  ['another text', watched('failed', 0, { hash: 'other' }), 'starts'],
  ['the next stage', watched('succeeded', 0, { workflow: 'issue' }), 'starts'],
  ['one that was interrupted', watched('cancelled', 0), 'starts'],
  ['one that a halted run left', watched('cancelled', 0, { untilMs: NOW.nowMs + 7 }), NOW.nowMs + 7],
  ['one that failed just now', watched('failed', 0), NOW.nowMs + 5 * MINUTE],
  ['one that failed a while ago', watched('timed-out', 5 * MINUTE), 'starts'],
  ['one that failed twice', watched('failed', 5 * MINUTE, { attempts: 2 }), NOW.nowMs + 15 * MINUTE],
  ['one that failed three times', watched('failed', 9_999 * MINUTE, { attempts: 3 }), null],
  ['one that is pending although it succeeded', watched('succeeded', 0), NOW.nowMs + 5 * MINUTE],
  ['one that waits for a decision', watched('discuss', 9_999 * MINUTE), null],
  ['one that waits for quota', watched('paused', 0, { untilMs: NOW.nowMs + 7 }), NOW.nowMs + 7],
  ['one that waited for quota', watched('paused', MINUTE, { untilMs: NOW.nowMs - 1 }), 'starts'],
  ['one that waits for quota, who knows how long', watched('paused', 0), NOW.nowMs + 15 * MINUTE],
  ['one whose run was cut off', watched(null, 0, { attempts: 2 }), 'starts'],
  ['one whose run is cut off again and again', watched(null, 0, { attempts: 3 }), NOW.nowMs + 60 * MINUTE],
];

test.each(cases)('%s starts when it should', (_, item, until) => {
  const held = heldBack('42', item, NOW);
  expect(held === null ? 'starts' : held.untilMs).toBe(until);
});

test('a decision lets an item in DISCUSS start', () => {
  expect(heldBack('42', watched('discuss', 0), { ...NOW, isDecided: true })).toBeNull();
});

test('whatever happens to one text, it is started at most three times as a failure, and never twice within five minutes of one', () => {
  const step = fc.record({
    status: fc.constantFrom(...ITEM_STATUSES.filter((status) => !['cancelled', 'paused', 'discuss'].includes(status))),
    waitMs: fc.integer({ min: 0, max: 200 * MINUTE }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let nowMs = NOW.nowMs;
      let item: WatchedItem | undefined;
      let lastMs = Number.NEGATIVE_INFINITY;
      let starts = 0;
      for (const { status, waitMs } of steps) {
        nowMs += waitMs;
        if (heldBack('42', item, { ...NOW, nowMs }) !== null) continue;
        expect(nowMs - lastMs).toBeGreaterThanOrEqual(5 * MINUTE);
        item = endedItem(startedItem(item, { ...NOW, nowMs }), { ...NOW, status, forMs: null }, nowMs);
        lastMs = nowMs;
        starts += 1;
      }
      expect(starts).toBeLessThanOrEqual(3);
    }),
  );
});

test('a pause, a decision that is asked for and an interruption do not count as tries', () => {
  let item = startedItem(undefined, NOW);
  for (const status of ['paused', 'cancelled', 'discuss'] as const) {
    item = endedItem(startedItem(item, NOW), { ...NOW, status, forMs: null }, NOW.nowMs);
    expect(item).toMatchObject({ attempts: 1, status });
  }
});

test('an item that came to its next stage has failed there once', () => {
  const item = startedItem(watched('failed', 0, { attempts: 2 }), NOW);
  expect(item.attempts).toBe(3);
  const end = { workflow: 'implement', hash: 'lld', status: 'failed', forMs: null } as const;
  expect(endedItem(item, end, NOW.nowMs)).toMatchObject({ workflow: 'implement', hash: 'lld', attempts: 1 });
});

test('a day begins and ends at midnight', () => {
  const noon = new Date(2026, 9, 31, 12).getTime();
  expect(dayAround(noon)).toEqual({
    startMs: new Date(2026, 9, 31).getTime(),
    endMs: new Date(2026, 10, 1).getTime(),
  });
});

test('what a run left undone waits, unless a person stopped the run', () => {
  const end = (problem: Problem) => ({ status: 'cancelled' as const, error: { problem, retry: 'permanent' as const } });
  expect(waitAfter(end({ code: 'interrupted', signal: 'SIGINT' }))).toBeNull();
  expect(waitAfter(end({ code: 'halted', failures: 3, cause: 'x' }))).toBe(5 * MINUTE);
  expect(waitAfter(end({ code: 'disk-unwritable', directory: '/', reason: 'ENOSPC' }))).toBe(5 * MINUTE);
  expect(waitAfter({ status: 'cancelled', error: null })).toBeNull();
});
