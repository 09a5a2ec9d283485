import { describe, expect, test } from 'vitest';
import { readReview } from '../documents/review/reader.ts';
import { namesEvidence, weighEvidence } from './document.ts';

describe('what counts as evidence', () => {
  test.each([
    'Missing bound: Section 2.6 names no largest value.',
    'The retry in `fetchAll` has no bound.',
    'src/main.js:12 ignores the error.',
    'worker.ts has no timeout.',
    'REQ-3 has no test.',
    'Scenario 010 proves nothing.',
    'The issue asks for a TypeError, and none is thrown.',
    'It says "always retry" without a bound.',
  ])('%s', (text) => expect(namesEvidence(text)).toBe(true));

  test.each([
    'Naming: could be better.',
    'This feels risky, and I would not build it.',
    'Errors: e.g. none are handled.',
  ])('not: %s', (text) => expect(namesEvidence(text)).toBe(false));
});

const FILES: Record<string, string> = { 'src/main.js': 'one\ntwo\n' };
const TREE = {
  kindOf: (path: string) => (path in FILES ? ('file' as const) : null),
  read: async (path: string) => Buffer.from(FILES[path] ?? ''),
};

const weighed = (finding: string, verdict = 'REVISE') =>
  weighEvidence(readReview(`## Tier 1: BLOCKING Issues\n- [ ] ${finding}\n\n## Verdict\n[x] **${verdict}**\n`), TREE, [
    'The draft adds `src/new.js`.',
  ]);

test('a path or a line that is not there is named; what the draft adds, a recommendation and an address are not', async () => {
  const wrong = async (finding: string): Promise<string[]> => (await weighed(finding)).wrong;
  expect(await wrong('**A:** `src/gone.js` leaks.')).toEqual([
    '"A: `src/gone.js` leaks." cites what is not there: src/gone.js',
  ]);
  expect(await wrong('**A:** src/main.js:3 leaks.')).toEqual([
    '"A: src/main.js:3 leaks." cites what is not there: src/main.js:3 (it has 2 lines)',
  ]);
  for (const fine of [
    'src/main.js:2 leaks.',
    '`src/new.js` leaks.',
    'see https://example.org/a/b.html and github.com/a/b.git, which main.js does not.',
    'the folder lib/ and *.ts files',
    'it leaks.\n  - **Recommendation:** move it to `src/other.js`.',
  ]) {
    expect(await wrong(`**A:** ${fine}`)).toEqual([]);
  }
});

test('a finding without evidence is marked, and keeps its tier; an approval is taken as it is', async () => {
  const { review, wrong } = await weighed('**A:** this feels risky.');
  expect(review).toMatchObject({ verdict: 'REVISE', findings: [{ tier: 1, isUnproven: true }] });
  expect(wrong).toEqual([]);
  expect((await weighed('**A:** this feels risky.', 'APPROVED')).review.findings).toEqual([
    { tier: 1, area: '', text: 'A: this feels risky.' },
  ]);
});
