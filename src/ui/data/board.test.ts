import { expect, test } from 'vitest';
import type { Standing } from '../../core/summary.ts';
import { placeOf } from './pages.ts';

const standing = (given: Partial<Standing> & { status?: string }): Standing => ({
  id: '1',
  title: 'A',
  labels: [],
  state: 'issue',
  waitsFor: null,
  reason: null,
  costUsd: 0,
  runs: 0,
  branch: null,
  worktree: null,
  isUnderWay: false,
  lastRun:
    given.status === undefined
      ? null
      : { runId: 'r', workflow: 'run', status: given.status, reason: null, step: 'draft' },
  ...given,
});

test.each<[Partial<Standing> & { status?: string }, string, string]>([
  [{}, 'to-design', ''],
  [{ isUnderWay: true, status: 'running' }, 'designing', 'draft'],
  [{ isUnderWay: true, status: 'waiting' }, 'to-design', 'waits for its turn'],
  [{ waitsFor: 'person', reason: 'who pays?', status: 'discuss' }, 'needs-you', 'who pays?'],
  [{ waitsFor: 'run', status: 'discuss' }, 'to-design', 'decided, waits for the next run'],
  [{ status: 'timed-out', reason: 'after 1h' }, 'failed', 'timed-out: after 1h'],
  [{ status: 'interrupted' }, 'to-design', ''],
  [{ state: 'lld', status: 'succeeded' }, 'to-implement', ''],
  [{ state: 'lld', isUnderWay: true, status: 'running' }, 'implementing', 'draft'],
  [{ state: 'lld', status: 'failed' }, 'failed', 'failed'],
  [{ state: 'branch', branch: 'agentos/1-a', status: 'succeeded' }, 'done', 'agentos/1-a'],
  [{ state: 'branch', waitsFor: 'person', reason: 'more of them?', status: 'discuss' }, 'needs-you', 'more of them?'],
  [{ state: 'merged' }, 'done', 'merged'],
  [{ state: 'dropped', reason: 'dropped by Ada' }, 'done', 'dropped by Ada'],
  [{ state: 'unreadable', reason: 'is empty' }, 'failed', 'is empty'],
])('%j is in %s', (given, column, note) => {
  expect(placeOf(standing(given), false)).toEqual({ column, note });
});

test('a branch with a pull request is in review until it is merged', () => {
  const opened = (state: Standing['state']): string => placeOf(standing({ state, branch: 'agentos/1-a' }), true).column;
  expect([opened('branch'), opened('merged')]).toEqual(['in-review', 'done']);
});
