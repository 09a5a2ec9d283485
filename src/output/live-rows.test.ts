import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renderRows } from './live-rows.ts';
import { displayWidth } from './live-width.ts';
import type { ProgressView, WorkerView } from './progress.ts';

const SCREEN = { columns: 80, rows: 24, colour: false, unicode: true };

function worker(part: Partial<WorkerView> = {}): WorkerView {
  return {
    label: 'LLD-42',
    title: 'Export the report as CSV',
    step: 'review-1',
    state: 'running',
    resumesInMs: null,
    elapsedMs: 64_000,
    tokens: 12_345,
    costUsd: 0.0123,
    ...part,
  };
}

function view(part: Partial<ProgressView> = {}): ProgressView {
  return {
    done: 3,
    total: 12,
    counts: { succeeded: 1, failed: 1, discuss: 1 },
    etaMs: 245_000,
    workers: [worker(), worker({ label: 'LLD-137', step: 'draft', tokens: 950, costUsd: null, elapsedMs: 3_723_000 })],
    costUsd: 0.4321,
    stopping: false,
    ...part,
  };
}

test('a wide terminal shows everything, figures below each other', () => {
  expect(renderRows(view(), SCREEN)).toEqual([
    '━━━━━━━────────────────────────  3/12  ETA 4:05  1 failed  1 to discuss  $0.4321',
    'LLD-42   review-1           1:04  12.3k tok  $0.0123  Export the report as CSV',
    'LLD-137  draft           1:02:03    950 tok       $?  Export the report as CSV',
  ]);
});

test('40 columns keep item, step, time, tokens and cost', () => {
  expect(renderRows(view(), { ...SCREEN, columns: 39 })).toEqual([
    '━━━──────────  3/12  ETA 4:05  1 failed',
    'LLD-42  review-1    1:04 12.3k $0.0123',
    'LLD-137 draft    1:02:03   950      $?',
  ]);
});

test('10 columns keep the count and the item', () => {
  expect(renderRows(view(), { ...SCREEN, columns: 10 })).toEqual(['3/12', 'LLD-42', 'LLD-137']);
});

test('without UTF-8 only ASCII is drawn', () => {
  const workers = [worker({ title: 'Größe der 日本語 pages that are a bit too many for one row' })];
  const rows = renderRows(view({ workers }), { ...SCREEN, unicode: false });
  expect(rows.join('')).toMatch(/^[ -~]*$/);
  expect(rows[0]).toContain('###');
  expect(rows[1]).toMatch(/Gr\?\?e der .*\.\.$/);
});

test('colour adds nothing but colour', () => {
  const coloured = renderRows(view(), { ...SCREEN, colour: true });
  expect(coloured.join('')).toContain('\u001B[36mLLD-42\u001B[0m');
  expect(coloured.map(stripVTControlCharacters)).toEqual(renderRows(view(), SCREEN));
});

test('a retry and a pause say when they go on', () => {
  const workers = [worker({ state: 'retrying', resumesInMs: 5_000 }), worker({ state: 'paused', resumesInMs: 42_000 })];
  const [bar, ...rows] = renderRows(view({ workers }), SCREEN);
  expect(bar).toContain('ETA');
  expect(rows[0]).toContain('retry in 0:05');
  expect(rows[1]).toContain('paused, resumes in 0:42');
  expect(renderRows(view({ workers }), { ...SCREEN, columns: 39 })[2]).toContain('paused 0:42');
});

test('when all workers are paused the bar says so in place of the ETA', () => {
  const workers = [worker({ state: 'paused', resumesInMs: 90_000 }), worker({ state: 'paused', resumesInMs: 42_000 })];
  const [bar] = renderRows(view({ workers }), SCREEN);
  expect(bar).toContain('paused, resumes in 0:42');
  expect(bar).not.toContain('ETA');
});

test('a run that is stopping says so', () => {
  expect(renderRows(view({ stopping: true }), SCREEN)[0]).toContain('stopping');
});

test('workers beyond a third of the height are counted instead of shown', () => {
  const workers = Array.from({ length: 10 }, (_, index) => worker({ label: `LLD-${index}` }));
  const rows = renderRows(view({ workers }), SCREEN);
  expect(rows).toHaveLength(8);
  expect(rows.at(-1)).toBe('+4 more');
  expect(renderRows(view({ workers }), { ...SCREEN, rows: 6 }).slice(1)).toEqual(['10 at work']);
  expect(renderRows(view({ workers }), { ...SCREEN, rows: 2 })).toHaveLength(1);
});

test('nothing is drawn before there is anything to show', () => {
  expect(renderRows(view({ total: 0, done: 0, workers: [] }), SCREEN)).toEqual([]);
});

test('the bar is full only when everything is done', () => {
  const bar = (done: number): string => renderRows(view({ done, total: 1_000, counts: {} }), SCREEN)[0] ?? '';
  expect(bar(999)).toContain('─');
  expect(bar(1_000)).not.toContain('─');
});

test('every row fits any terminal, whatever it holds', () => {
  const awkward = fc.constantFrom(
    'a',
    ' ',
    '\n',
    '日',
    '🚀',
    '👩‍🚀',
    'e\u0301',
    '\u202E',
    '\u001B[2J',
    '\u{1F1E9}',
    '\uD800',
  );
  const anyCharacter = fc.nat(0x10ffff).map((code) => String.fromCodePoint(code));
  const text = fc.string({ unit: fc.oneof(awkward, anyCharacter), maxLength: 80 });
  const amount = fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: null });
  const anyWorker: fc.Arbitrary<WorkerView> = fc.record({
    label: fc.string({ unit: fc.constantFrom('A', '-', '7'), maxLength: 68 }),
    title: text,
    step: fc.option(text, { nil: null }),
    state: fc.constantFrom('running', 'retrying', 'paused'),
    resumesInMs: fc.option(fc.nat(), { nil: null }),
    elapsedMs: fc.nat(1e9),
    tokens: fc.nat(1e9),
    costUsd: amount,
  });
  const anyView: fc.Arbitrary<ProgressView> = fc.record({
    done: fc.nat(10_000),
    total: fc.constant(10_000),
    counts: fc.record({ failed: fc.nat(10_000), discuss: fc.nat(10_000) }),
    etaMs: amount,
    workers: fc.array(anyWorker, { maxLength: 10 }),
    costUsd: amount,
    stopping: fc.boolean(),
  });
  const anyScreen = fc.record({
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 60 }),
    colour: fc.boolean(),
    unicode: fc.boolean(),
  });
  fc.assert(
    fc.property(anyView, anyScreen, (anything, screen) => {
      const rows = renderRows(anything, screen);
      expect(rows.length).toBeLessThanOrEqual(Math.max(1, screen.rows / 3));
      for (const row of rows) {
        const plain = stripVTControlCharacters(row);
        expect(displayWidth(plain)).toBeLessThanOrEqual(screen.columns);
        expect(plain).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u);
      }
    }),
    { numRuns: 500 },
  );
});
