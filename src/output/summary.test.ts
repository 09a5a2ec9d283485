import { describe, expect, test } from 'vitest';
import { NO_USAGE } from '../core/money.ts';
import { countsOf, type ItemSummary, type Summary } from '../core/summary.ts';
import type { Guide } from './next-steps.ts';
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

const DECIDE = '--approve | --revise "…" | --drop';
const reviews = (id: string): string => `.agentos/homes/implement-${id}/reviews`;

test('who decides on an implementation is sent to its reviews, also when its design has a lineage', () => {
  expect(printed([{ outputs: [reviews('42'), 'x', 'docs/lld/LLD-42.md', 'docs/lineage/42'] }])).toEqual([
    `Waiting for a person: 42. Read the last review in .agentos/homes/implement-42/reviews/, then: agentos decide 42 ${DECIDE}`,
  ]);
});

test('designs and implementations that wait have a line each', () => {
  const items = ['1', '2'].map((id) => ({ id, outputs: [reviews(id)] }));
  expect(printed([...items, { id: '3', outputs: ['docs/lineage/3.brief'] }])).toEqual([
    `Waiting for a person: 1, 2. Read the last review in .agentos/homes/implement-<id>/reviews/, then: agentos decide <id> ${DECIDE}`,
    `Waiting for a person: 3. Read the last verdict in docs/lineage/3.brief/, then: agentos decide 3 ${DECIDE}`,
  ]);
});

describe('what succeeded has a next command', () => {
  const design = (id: string): Partial<ItemSummary> => ({
    id,
    status: 'succeeded',
    outputs: [`docs/lld/LLD-${id}.md`],
  });
  const branch = (id: string): Partial<ItemSummary> => {
    return { id, workflow: 'implement', status: 'succeeded', outputs: [`agentos/${id}-add`, `docs/reports/${id}.md`] };
  };

  test('a design is implemented, with the flags that say where', () => {
    expect(printed([design('42'), { id: '7' }])[0]).toBe('Next: agentos implement 42');
    const place = ['--repo', "'my repo'"];
    expect(printed([design('42'), design('57')], { ...GUIDE, place, offline: true })).toEqual([
      "Next: agentos implement 42 57 --repo 'my repo' --offline",
    ]);
    const many = Array.from({ length: 13 }, (_, index) => design(String(index)));
    expect(printed(many)).toEqual(['Next: agentos implement --all']);
  });

  test('an issue is designed, under the number that it was given', () => {
    const brief: Partial<ItemSummary> = { workflow: 'issue', status: 'succeeded', outputs: ['issues/12.md'] };
    expect(printed([brief])).toEqual(['Next: agentos lld 12']);
  });

  test('a branch is looked at, merged and pushed, from the branch that the checkout is on', () => {
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
    ]);
  });

  test('what was skipped, dropped or failed has none', () => {
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

test('a long line to retry has a short one beside it; what has to change first stands in its place', () => {
  const failed: Partial<ItemSummary>[] = [
    { id: '137', status: 'failed' },
    { id: '142', status: 'crashed' },
  ];
  const retry = (retryCommand: string | null, changeFirst: Summary['changeFirst'] = null): string[] =>
    printed(failed, { ...GUIDE, place: ['--repo', 'x'] }, { retryCommand, changeFirst });
  expect(retry('agentos lld --ids 137 142')).toEqual(['Failed: 137, 142. Retry with: agentos lld --ids 137 142']);
  const long = `agentos lld --ids 137 142 --drafter ${'x'.repeat(150)}`;
  expect(retry(long)).toEqual([`Failed: 137, 142. Retry with: ${long}`, 'Or, shorter: agentos resume r --repo x']);
  expect(retry(null, { what: 'choose another model', flags: ['--drafter <model>'] })).toEqual([
    'Failed: 137, 142. First choose another model, then: agentos resume r --drafter <model> --repo x',
  ]);
});
