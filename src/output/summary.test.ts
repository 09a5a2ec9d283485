import { expect, test } from 'vitest';
import { NO_USAGE } from '../core/money.ts';
import { countsOf, type ItemSummary } from '../core/summary.ts';
import { printSummary } from './summary.ts';
import type { Terminal } from './terminal.ts';

function printed(items: Partial<ItemSummary>[]): string[] {
  const lines: string[] = [];
  const terminal: Terminal = { line: (text) => void lines.push(text), colour: false };
  const full = items.map(
    (item): ItemSummary => ({
      id: '42',
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
  printSummary(terminal, { ...run, counts: countsOf(full), retryCommand: null, items: full });
  return lines.filter((line) => !line.includes('  discuss  '));
}

const DECIDE = '--approve | --revise "…" | --drop';
const reviews = (id: string): string => `.agentos/homes/implement-${id}/reviews`;

test('who decides on an implementation is sent to its reviews, also when its design has a lineage', () => {
  expect(printed([{ outputs: [reviews('42'), 'x', 'docs/lld/LLD-42.md', 'docs/lineage/42'] }])).toEqual([
    '',
    `Waiting for a person: 42. Read the last review in .agentos/homes/implement-42/reviews/, then: agentos decide 42 ${DECIDE}`,
  ]);
});

test('designs and implementations that wait have a line each', () => {
  const items = ['1', '2'].map((id) => ({ id, outputs: [reviews(id)] }));
  expect(printed([...items, { id: '3', outputs: ['docs/lineage/3.brief'] }])).toEqual([
    '',
    `Waiting for a person: 1, 2. Read the last review in .agentos/homes/implement-<id>/reviews/, then: agentos decide <id> ${DECIDE}`,
    `Waiting for a person: 3. Read the last verdict in docs/lineage/3.brief/, then: agentos decide 3 ${DECIDE}`,
  ]);
});
