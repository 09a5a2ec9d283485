import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WaitReason } from '../core/events.ts';
import type { KeyView, ProgressView, WorkerView } from '../core/progress.ts';
import type { Wait } from '../core/run-state.ts';
import { cut, displayWidth, plainText, renderRows } from './live-rows.ts';

const NOW_MS = new Date(2026, 10, 3, 14, 0).getTime();
const SCREEN = { columns: 80, rows: 24, colour: false, unicode: true };

function worker(part: Partial<WorkerView> = {}): WorkerView {
  return {
    label: 'LLD-42',
    title: 'Export the report as CSV',
    step: 'review-1',
    wait: null,
    elapsedMs: 64_000,
    tokens: 12_345,
    costUsd: 0.0123,
    ...part,
  };
}

function view(part: Partial<ProgressView> = {}): ProgressView {
  return {
    nowMs: NOW_MS,
    done: 3,
    total: 12,
    counts: { succeeded: 1, failed: 1, discuss: 1 },
    etaMs: 245_000,
    workers: [worker(), worker({ label: 'LLD-137', step: 'draft', tokens: 950, costUsd: null, elapsedMs: 3_723_000 })],
    pause: null,
    keys: [],
    costUsd: 0.4321,
    stopping: false,
    ...part,
  };
}

test('a wide terminal shows everything in aligned columns', () => {
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
  expect(coloured.join('')).toContain('\u001B[35mLLD-42\u001B[0m');
  expect(coloured.map(stripVTControlCharacters)).toEqual(renderRows(view(), SCREEN));
});

const wait = (reason: WaitReason, seconds: number | null): Wait => ({
  reason,
  untilMs: seconds === null ? null : NOW_MS + seconds * 1_000,
});

test.each([
  [wait('quota', 42), 'waits for quota, 0:42 left', 'quota 0:42'],
  [wait('quota', 1_920), 'waits for quota until 14:32', 'quota 14:32'],
  [wait('quota', 19 * 3_600), 'waits for quota until Wed 09:00', 'quota Wed 09:00'],
  [wait('pace', 3), 'paced, 0:03 left', 'pace 0:03'],
  [wait('pace', -3), 'paced ', 'pace '],
  [wait('key', null), 'paced, waits for a key', 'key '],
  [wait('retry', 5), 'waits to retry, 0:05 left', 'retry 0:05'],
])('a wait says why and until when, in a narrow terminal too: %j', (waiting, wide, narrow) => {
  const workers = [worker({ wait: waiting, elapsedMs: 3_723_000 }), worker({ label: 'LLD-137' })];
  const [bar, ...rows] = renderRows(view({ workers }), { ...SCREEN, columns: 100 });
  expect(bar).toContain('ETA');
  expect(rows[0]).toContain(wide);
  expect(rows[1]).toContain('review-1');
  expect(renderRows(view({ workers }), { ...SCREEN, columns: 39 })[1]).toContain(narrow);
});

test('when everything waits, the bar says why in place of the ETA', () => {
  const [bar] = renderRows(view({ pause: wait('quota', 42) }), SCREEN);
  expect(bar).toContain('waits for quota, 0:42 left');
  expect(bar).not.toContain('ETA');
  expect(renderRows(view({ pause: wait('quota', 42) }), { ...SCREEN, columns: 39 })[0]).toContain('quota 0:42');
});

test('one row shows how many keys are ready and which are not', () => {
  const ready: KeyView = { id: 'ANTHROPIC_API_KEY', state: 'ready', untilMs: null };
  const keys: KeyView[] = [
    ready,
    { id: 'GEMINI_API_KEYS#1', state: 'cooling', untilMs: NOW_MS + 12_000 },
    { id: 'GEMINI_API_KEYS#2', state: 'rejected', untilMs: null },
  ];
  expect(renderRows(view({ keys }), { ...SCREEN, columns: 100 }).at(-1)).toBe(
    'keys  1 ready  1 cooling (GEMINI_API_KEYS#1 0:12)  1 rejected (GEMINI_API_KEYS#2)',
  );
  expect(renderRows(view({ keys: [ready] }), SCREEN).at(-1)).toBe('keys  1 ready');
  // Workers come first where there is no place for both.
  expect(renderRows(view({ keys }), { ...SCREEN, rows: 10 }).at(-1)).toMatch(/^LLD-137/);
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

test('the bar shows success, DISCUSS and failure, each in its colour', () => {
  const bar = renderRows(view({ done: 12 }), { ...SCREEN, colour: true })[0] ?? '';
  const lengths = [...bar.matchAll(/\u001B\[(\d+)m(━+)/g)].map(([, code, part]) => [code, part?.length]);
  expect(lengths).toEqual([
    ['32', 25],
    ['33', 2],
    ['31', 3],
  ]);
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
  const anyWait: fc.Arbitrary<Wait> = fc.record({
    reason: fc.constantFrom('quota', 'pace', 'key', 'retry'),
    untilMs: fc.option(
      fc.integer({ min: -1e9, max: 1e9 }).map((ms) => NOW_MS + ms),
      { nil: null },
    ),
  });
  const anyKey: fc.Arbitrary<KeyView> = fc.record({
    id: text,
    state: fc.constantFrom('ready', 'cooling', 'rejected'),
    untilMs: fc.constantFrom(null, NOW_MS + 5_000),
  });
  const anyWorker: fc.Arbitrary<WorkerView> = fc.record({
    label: fc.string({ unit: fc.constantFrom('A', '-', '7'), maxLength: 68 }),
    title: text,
    step: fc.option(text, { nil: null }),
    wait: fc.option(anyWait, { nil: null }),
    elapsedMs: fc.nat(1e9),
    tokens: fc.nat(1e9),
    costUsd: amount,
  });
  const anyView: fc.Arbitrary<ProgressView> = fc.record({
    nowMs: fc.constant(NOW_MS),
    pause: fc.option(anyWait, { nil: null }),
    keys: fc.array(anyKey, { maxLength: 4 }),
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

test.each([
  ['plain', 5],
  ['größe', 5],
  ['日本語', 6],
  ['한국어', 6],
  ['ＡＢ', 4],
  ['🚀 go', 5],
  ['e\u0301', 1],
  ['❤', 1],
])('%s takes %i columns', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test.each([
  ['fits', 4, 'fits'],
  ['too long', 4, 'too…'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['ab', 1, '…'],
  ['ab', 0, ''],
])('%s in %i columns is %s', (text, columns, expected) => {
  expect(cut(text, columns, '…')).toBe(expected);
});

test('a character is never cut in two, and a cut text fits its columns', () => {
  const awkward = fc.constantFrom('a', ' ', '日', '🚀', '👩‍🚀', 'e\u0301', '\u{1F1E9}', '\u{20000}');
  fc.assert(
    fc.property(fc.string({ unit: awkward }), fc.nat(30), (text, columns) => {
      const short = cut(text, columns, '…');
      expect(displayWidth(short)).toBeLessThanOrEqual(columns);
      expect(short.isWellFormed()).toBe(true);
    }),
  );
});

test('text from outside becomes one line that can’t move the cursor or change direction', () => {
  expect(plainText(' a\n\tb\u001B[2Jc\u202Ed\u200De\uFE0F \uD800')).toBe('a bcde \uFFFD');
});
