import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readReview } from '../review/reader.ts';
import { checkLld } from './checks.ts';
import { withGuards } from './document.ts';
import { guardsIn } from './scenarios.ts';

const LLD = readFileSync(new URL('../../../test/fixtures/lld/LLD-42.md', import.meta.url), 'utf8');
const SCENARIOS = [{ id: '010' }, { id: '020' }, { id: '100' }];

const review = (findings: string, verdict = 'APPROVED'): string => `# LLD Review: 42

## Tier 1: BLOCKING Issues
### Cost
- [ ] No issues found.

${findings}

## Verdict
[${verdict === 'APPROVED' ? 'x' : ' '}] **APPROVED**
[${verdict === 'REVISE' ? 'x' : ' '}] **REVISE**
`;

test.each([
  ['a heading in its own tier', '## Tier 3: SUGGESTIONS\n### Guard\n- **020:** existing files load already', ['020']],
  [
    'a heading in another tier',
    '## Tier 2: HIGH PRIORITY Issues\n### Guard\n- [ ] Scenarios 010 and 020 hold.',
    ['010', '020'],
  ],
  ['a heading without a tier', '## Guard\n- 020 holds already', ['020']],
  ['a finding that says so', '## Tier 2: HIGH PRIORITY Issues\n### Quality\n- [ ] **Guard (020):** it holds.', ['020']],
  ['the same without the id in its title', '## Tier 3: SUGGESTIONS\n- **Guard:** 020 holds', ['020']],
  ['a table', '## Tier 3: SUGGESTIONS\n| Area | Finding |\n|---|---|\n| Guard | 020 holds already |', ['020']],
  ['an id alone', '## Tier 3: SUGGESTIONS\n### Guard\n- 010\n- 020: satisfied', ['010', '020']],
  ['an amount', '## Tier 3: SUGGESTIONS\n### Guard\n- 020 holds within 100 ms', ['020']],
  ['nothing', '## Tier 3: SUGGESTIONS\n### Guard\n- [ ] No issues found.', []],
  ['a denial', '## Tier 3: SUGGESTIONS\n### Guard\n- 020 is not a guard: it asserts nothing', []],
  ['another area', '## Tier 2: HIGH PRIORITY Issues\n### Quality\n- [ ] 020 asserts nothing', []],
  ['code that has guards', '## Tier 2: HIGH PRIORITY Issues\n### Quality\n- [ ] **Guard clause:** 020 lacks one', []],
])('guards named by %s', (_, findings, ids) => {
  expect(guardsIn(readReview(review(findings)), SCENARIOS).map(({ id }) => id)).toEqual(ids);
});

test('a finding of the area Guard holds nothing back, in whatever tier it stands; without an id it is like any other', () => {
  const [named] = readReview(review('## Tier 1: BLOCKING Issues\n### Guard\n- [ ] 020 holds', 'REVISE')).findings;
  expect(named).toMatchObject({ tier: 3, area: 'Guard' });
  const text = '## Tier 1: BLOCKING Issues\n### Guard\n- [ ] Nothing keeps strangers out.';
  expect(readReview(review(text, 'REVISE')).findings).toMatchObject([{ tier: 1, area: 'Guard' }]);
  const json = { verdict: 'APPROVED', findings: [{ area: 'Guard', tier: 1, text: '020 holds' }] };
  expect(readReview(JSON.stringify(json)).findings).toMatchObject([{ tier: 3, area: 'Guard' }]);
});

test('the engine sets the type of a scenario, and nothing else; the checks take it', () => {
  const named = readReview(review('## Tier 3: SUGGESTIONS\n### Guard\n- 020 holds already'));
  const changed = withGuards(LLD, named);
  const row = /^\| 020 .*$/m;
  expect(row.exec(changed)?.[0]).toBe(row.exec(LLD)?.[0].replace('| Auto |', '| Guard |'));
  expect(changed.replace(row, '')).toBe(LLD.replace(row, ''));
  expect(withGuards(changed, named)).toBe(changed);
  expect(checkLld(changed).findings).toEqual(checkLld(LLD).findings);
  const all = withGuards(changed, readReview(review('### Guard\n- 010')));
  expect(checkLld(all).findings.filter(({ rule }) => rule === 'scenario-guards')).toMatchObject([
    { severity: 'warning' },
  ]);
});
