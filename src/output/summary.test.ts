import { describe, expect, test } from 'vitest';
import { NO_USAGE } from '../core/money.ts';
import { countsOf, type ItemSummary, type Summary } from '../core/summary.ts';
import type { Guide } from './summary.ts';
import { printSummary } from './summary.ts';
import type { Terminal } from './terminal.ts';

const GUIDE: Guide = { place: [], offline: false, checkout: { name: 'trunk', canPush: true } };

function printed(items: Partial<ItemSummary>[], guide = GUIDE, more: Partial<Summary> = {}): string[] {
  const lines: string[] = [];
  const terminal: Terminal = { line: (text) => void lines.push(text), colour: false };
  const full = items.map(
    (item): ItemSummary => ({
      id: '42',
      workflow: 'lld',
      title: 'x',
      status: 'discuss',
      reason: null,
      attempts: 1,
      steps: [],
      durationMs: 1,
      usage: NO_USAGE,
      costUsd: 0,
      error: null,
      outputs: [],
      kept: null,
      question: null,
      ...item,
    }),
  );
  const at = '2026-01-01T00:00:00.000Z';
  const run = { runId: 'r', workflow: 'run', startedAt: at, finishedAt: at, parallel: 1, exitCode: 3 } as const;
  const retry = { retryCommand: null, changeFirst: null };
  printSummary(terminal, { ...run, counts: countsOf(full), ...retry, items: full, ...more }, guide);
  // Without the rows and the total.
  return lines.slice(full.length + 2);
}

test('an item in DISCUSS shows the file to read, then the possible decisions', () => {
  const items: Partial<ItemSummary>[] = [
    { id: '1', question: { read: 'docs/lineage/1/003-verdict.md', decide: 'agentos decide 1 --approve | --drop' } },
    { id: '2', question: { read: null, decide: 'agentos decide 2 --drop' } },
    { id: '3', reason: 'no model has seen it' },
  ];
  expect(printed(items)).toEqual([
    'Waiting for a person: 1. Read the last verdict in docs/lineage/1/, then: agentos decide 1 --approve | --drop',
    'Waiting for a person: 2. agentos decide 2 --drop',
    'Waiting: 3, no model has seen it.',
  ]);
});

test('only the first ten items in DISCUSS have a line', () => {
  const question = { read: null, decide: 'agentos decide' };
  const lines = printed(Array.from({ length: 25 }, (_, index) => ({ id: String(index + 1), question })));
  expect(lines.filter((line) => line.startsWith('Waiting for a person'))).toHaveLength(10);
  expect(lines.at(-1)).toBe('15 more wait: see agentos status');
});

describe('items that succeeded have a next command', () => {
  const design = (id: string): Partial<ItemSummary> => ({
    id,
    status: 'succeeded',
    outputs: [`docs/lld/LLD-${id}.md`],
  });
  const branch = (id: string): Partial<ItemSummary> => {
    return { id, workflow: 'implement', status: 'succeeded', outputs: [`agentos/${id}-add`, `docs/reports/${id}.md`] };
  };

  test('for a design it is implement, with the flags that name the repository', () => {
    expect(printed([design('42'), { id: '7' }])[0]).toBe('Next: agentos implement 42');
    const place = ['--repo', "'my repo'"];
    expect(printed([design('42'), design('57')], { ...GUIDE, place })).toEqual([
      "Next: agentos implement 42 57 --repo 'my repo'",
    ]);
    // The tour says itself what to try next.
    expect(printed([design('42')], { ...GUIDE, offline: true })).toEqual([]);
    const many = Array.from({ length: 13 }, (_, index) => design(String(index)));
    expect(printed(many)).toEqual(['Next: agentos implement --all']);
  });

  test('for an issue it is lld, with the id of the new issue', () => {
    const brief: Partial<ItemSummary> = { workflow: 'issue', status: 'succeeded', outputs: ['issues/12.md'] };
    expect(printed([brief])).toEqual(['Next: agentos lld 12']);
  });

  test('for a branch it is diff, merge and push, from the checked-out branch', () => {
    expect(printed([branch('33')])).toEqual([
      'Next: git diff trunk...agentos/33-add',
      '      git merge agentos/33-add',
      '      git push',
    ]);
    const elsewhere = { ...GUIDE, place: ['--repo', '../x'], checkout: { name: 'trunk', canPush: false } };
    expect(printed([branch('33')], elsewhere)).toEqual([
      'Next: git -C ../x diff trunk...agentos/33-add',
      '      git -C ../x merge agentos/33-add',
    ]);
    expect(printed(['1', '2', '3', '4', '5', '6'].map(branch))).toEqual([
      'Next: for each branch, in this order: git diff trunk...<branch>, then git merge <branch>',
      '      git push',
      '      or as one branch, tested together: agentos land 1 2 3 4 5 6',
    ]);
  });

  test('a landing has one branch', () => {
    const landed = { ...branch('33'), workflow: 'land' as const, outputs: ['agentos/land-2026-01-31'] };
    expect(printed([landed, { ...landed, id: '34' }])).toEqual([
      'Next: git diff trunk...agentos/land-2026-01-31',
      '      git merge agentos/land-2026-01-31',
      '      git push',
    ]);
  });

  test('skipped, dropped and failed items have none', () => {
    expect(
      printed([
        { ...design('42'), status: 'skipped' },
        { ...branch('7'), status: 'failed' },
      ]),
    ).toEqual([]);
  });
});

test('the total has counts, cost and duration', () => {
  const lines: string[] = [];
  const items = [
    { status: 'succeeded', costUsd: 0.25 },
    { status: 'failed', costUsd: 0.5 },
  ] as ItemSummary[];
  const times = { startedAt: '2026-01-01T00:00:00.000Z', finishedAt: '2026-01-01T00:04:05.000Z' };
  const print = (some: ItemSummary[]): string => {
    const full = some.map((item) => ({ ...item, id: '1', durationMs: 1, outputs: [], error: null, kept: null }));
    const summary = { ...times, items: full, counts: countsOf(full), retryCommand: null, changeFirst: null };
    printSummary({ line: (text) => void lines.push(text), colour: false }, summary as unknown as Summary, null);
    return lines.findLast((line) => line.startsWith('Total')) ?? '';
  };
  expect(print(items)).toBe('Total: 2 items (1 succeeded, 1 failed), $0.7500, 4m 05s');
  expect(print(items.slice(0, 1))).toBe('Total: 1 item (1 succeeded), $0.2500, 4m 05s');
  expect(print([...items, { status: 'failed', costUsd: null } as ItemSummary])).toBe(
    'Total: 3 items (1 succeeded, 2 failed), $0.7500 and an unknown cost, 4m 05s',
  );
});

test('a long retry command is followed by a short one; a necessary change comes first', () => {
  const failed: Partial<ItemSummary>[] = [
    { id: '137', status: 'failed' },
    { id: '142', status: 'crashed' },
  ];
  const retry = (retryCommand: string | null, changeFirst: Summary['changeFirst'] = null): string[] =>
    printed(failed, { ...GUIDE, place: ['--repo', 'x'] }, { retryCommand, changeFirst });
  expect(retry('agentos lld --ids 137 142')).toEqual(['Failed: 137, 142. Retry with: agentos lld --ids 137 142']);
  const long = `agentos lld --ids 137 142 --drafter ${'x'.repeat(150)}`;
  expect(retry(long)).toEqual([`Failed: 137, 142. Retry with: ${long}`, 'Or, shorter: agentos resume r --repo x']);
  const change = { what: 'choose another model', flags: ['--drafter <model>'] };
  expect(retry('agentos lld --ids 137 142 --drafter <model>', change)).toEqual([
    'First choose another model.',
    'Failed: 137, 142. Retry with: agentos lld --ids 137 142 --drafter <model>',
  ]);
});
