import { describe, expect, test } from 'vitest';
import { SAMPLE_ISSUE } from '../../test/support/sample-issue.ts';
import { describeDuplicate, findDuplicates, type KnownWork, LIKELY_DUPLICATE } from './duplicates.ts';

const issue = (id: string, title: string, body: string): KnownWork => ({
  id,
  kind: 'issue',
  title,
  text: `# ${title}\n\n${body}\n`,
});

const KNOWN: KnownWork[] = [
  { id: '42', kind: 'issue', title: 'Retry calls that met a quota', text: SAMPLE_ISSUE },
  issue('43', 'Colours in the summary', 'The summary prints failures in red. `NO_COLOR` turns it off.'),
  issue('44', 'Cancel a batch', 'Ctrl+C ends a batch within five seconds, and its items can be resumed.'),
  issue('45', 'Keys of a vendor', 'The command lists each key with the limits that were learned.'),
  issue('46', 'Export as CSV', 'The report can be exported as CSV, one line for each item and a header.'),
  issue('47', 'Move `src/core/clock.ts`', 'Time becomes a parameter in the coordinator.'),
];

function found(title: string, body: string, known = KNOWN): string[] {
  return findDuplicates({ title, body }, known).map(({ id }) => id);
}

describe('what a brief looks like', () => {
  test('the same text has score 1', () => {
    const [first] = findDuplicates({ title: 'Retry calls that met a quota', body: SAMPLE_ISSUE }, KNOWN);
    expect(first).toMatchObject({ id: '42', score: 1, designed: false });
  });

  test('the same wish in a few other words comes first and is likely the same, with the words that both use', () => {
    const [first] = findDuplicates(
      {
        title: 'Retrying when a quota is exhausted',
        body: 'A vendor that answers 429 should be asked again after Retry-After. After some refusals the item is paused.',
      },
      KNOWN,
    );
    expect(first?.id).toBe('42');
    expect(first?.score).toBeGreaterThanOrEqual(LIKELY_DUPLICATE);
    expect(first?.shared).toEqual(expect.arrayContaining(['retrying', 'quota']));
  });

  test('another wish is not shown, whatever small words it shares', () => {
    expect(found('Dark mode', 'As a user I want a dark theme that follows the system, so that my eyes rest.')).toEqual(
      [],
    );
  });

  test('something related is less alike than the same', () => {
    const [first] = findDuplicates({ title: 'Quota on the page', body: 'The page shows what quota is left.' }, KNOWN);
    expect(first?.score ?? 0).toBeLessThan(LIKELY_DUPLICATE);
  });

  test('the words of a path count as words', () => {
    const known = [
      issue('1', 'Time', 'It is read in many places of the coordinator.'),
      issue('2', 'Time', 'It is read in `src/core/clock.ts` alone.'),
    ];
    const brief = { title: 'Time', body: 'Change src/core/clock.ts, and places of the coordinator' };
    const found = findDuplicates(brief, known);
    expect(found.map(({ id }) => id)).toEqual(['2', '1']);
    expect(found[0]?.shared).toContain('clock');
  });

  test('a word that only one issue has counts for more than one that many have', () => {
    const many = Array.from({ length: 30 }, (_, at) => issue(`${at}`, `Batch ${at}`, 'A batch has a summary.'));
    const rare = issue('99', 'Watermarks', 'A batch stamps watermarks.');
    expect(found('Watermarks of a batch', 'A batch has a summary with watermarks.', [...many, rare])[0]).toBe('99');
  });
});

test('an issue and its approved design are one, at the better score', () => {
  const design: KnownWork = {
    id: '44',
    kind: 'lld',
    title: 'Cancel a batch',
    text: 'The undertaker signals process groups, SIGTERM before SIGKILL.',
  };
  const result = findDuplicates({ title: 'Undertaker', body: 'Signals process groups with SIGTERM, then SIGKILL.' }, [
    ...KNOWN,
    design,
  ]);
  expect(result.map(({ id }) => id)).toEqual(['44']);
  expect(result[0]?.designed).toBe(true);
});

test('equal scores are in the order of ids, 2 before 10, and no more than three are shown', () => {
  const same = ['10', '2', '3', '30', '4', '5'].map((id) => issue(id, 'Export CSV', 'Export CSV with a header.'));
  expect(found('Export CSV', 'Export CSV with a header.', same)).toEqual(['2', '3', '4']);
});

test('without known work, or without words, nothing is found', () => {
  expect(found('Anything', 'At all', [])).toEqual([]);
  expect(found('', '… ?! 42')).toEqual([]);
});

test('other alphabets are words too', () => {
  const known = [issue('1', 'Ошибка экспорта', 'Таблица экспортируется без заголовка.')];
  expect(found('Экспорт без заголовка', 'Таблица экспортируется без заголовка.', known)).toEqual(['1']);
});

test('a line for people names the id, the score, the title and what is shared', () => {
  const duplicate = { id: '42', title: 'Retry', score: 0.7, shared: ['retry', 'quota'], designed: true };
  expect(describeDuplicate(duplicate)).toBe('42 (0.70): Retry, which has an approved LLD; shares: retry, quota');
});

test('one of ten thousand is found', () => {
  const vocabulary = Array.from({ length: 5_000 }, (_, at) => `word${((at * 7919) % 100_003).toString(36)}`);
  const text = (seed: number): string =>
    Array.from({ length: 60 }, (_, at) => vocabulary[((seed + at) * (at + 31)) % vocabulary.length]).join(' ');
  const known = Array.from({ length: 10_000 }, (_, at) => issue(`${at}`, `Number ${at}`, text(at)));
  expect(found('Number 77', text(77).slice(0, 300), known)[0]).toBe('77');
});
