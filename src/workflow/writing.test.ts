import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { testItem } from '../../test/support/test-item.ts';
import { testJournal } from '../../test/support/test-journal.ts';
import { codeOf } from '../core/errors.ts';
import { NO_USAGE } from '../core/money.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import type { WorktreeContext } from './worktree-item.ts';
import { createWriterCalls } from './writing.ts';

test('a gate that names a file opens it for all further calls, and a note that a file was undone opens nothing', async () => {
  const journal = testJournal(join(await testFolder(), 'journal.db'));
  onTestFinished(() => journal.close());
  let calls = 0;
  const worktree: Partial<Worktree> = {
    directory: '/worktree',
    branch: 'agentos/42',
    restore: async () => undefined,
    snapshot: async () => `written ${(calls += 1)}`,
  };
  const setUp: Partial<WorktreeContext['setUp']> = { afterWriting: async (_, tree) => ({ tree, problem: null }) };
  const place: Partial<WorktreeContext> = {
    worktree: worktree as Worktree,
    setUp: setUp as WorktreeContext['setUp'],
    portable: (text) => text,
    writer: {
      spec: 'a model',
      isModel: true,
      writesByItself: false,
      write: async () => ({ text: '', answered: null, usage: NO_USAGE, metered: true, costUsd: 0 }),
    },
  };
  const { write } = createWriterCalls({ ...testItem({ journal }), ...place } as WorktreeContext, null);
  const named: (readonly string[])[] = [];
  const told: (readonly string[])[] = [];
  const failed = write({
    phase: 'code',
    name: 'revise-1',
    start: 'start',
    failures: ['F1 of the review'],
    task: (failures) => {
      told.push(failures);
      return failures.join('\n');
    },
    gates: {
      limit: async (tree, step, files) => {
        named.push([...files]);
        return { tree, notes: [`src/${step}.js was undone: no finding of the review names it`] };
      },
      judge: async ({ step }) => ({ problems: [`lib/${step}.js fails`], gate: 'gate green' }),
    },
  });
  expect(await failed.then(() => null, codeOf)).toBe('gate-failed');
  expect(told).toEqual([
    ['F1 of the review'],
    ['lib/revise-1-1.js fails', 'src/revise-1-1.js was undone: no finding of the review names it'],
    ['lib/revise-1-2.js fails', 'src/revise-1-2.js was undone: no finding of the review names it'],
  ]);
  expect(named).toEqual([[], ['lib/revise-1-1.js fails'], ['lib/revise-1-1.js fails', 'lib/revise-1-2.js fails']]);
});
