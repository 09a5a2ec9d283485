import { describe, expect, test } from 'vitest';
import { edited, LLD_42, withSection } from '../../../test/fixtures/lld/lld-42.ts';
import { dependenciesOf } from './dependencies.ts';
import { readLld } from './document.ts';

const dependencies = (text: string): string[] => dependenciesOf(readLld(text));
const inApproach = (text: string): string[] => dependencies(withSection('### 2.6 Technical Approach', text));
const inContext = (lines: string): string[] => dependencies(edited('* **Related Issues:** None', lines));
const inSection22 = (text: string): string[] => dependencies(withSection('### 2.2 Dependencies', text));

test('the sample depends on nothing', () => {
  expect(dependencies(LLD_42)).toEqual([]);
});

test('a document without any section depends on nothing', () => {
  expect(dependencies('Depends on #12.')).toEqual([]);
  expect(dependencies('')).toEqual([]);
});

describe('in a sentence', () => {
  test.each([
    ['This depends on #12.', '12'],
    ['It depends upon #12.', '12'],
    ['Depends on #12 and #13.', '12 13'],
    ['Depends on #12, #13, and #14.', '12 13 14'],
    ['Depends on #12 (tokens), #13 (store) & #14.', '12 13 14'],
    ['Depends on #12 for the token store and on #13 for its schema.', '12 13'],
    ['Depends on both #12 and #13.', '12 13'],
    ['Depends on issue #12.', '12'],
    ['Depends on issue 12.', '12'],
    ['Depends on issues 12, 13 and 14.', '12 13 14'],
    ['Depends on LLD-7.', '7'],
    ['Depends on `LLD-7`.', '7'],
    ['Depends on [LLD 7](../lld/LLD-7.md).', '7'],
    ['Depends on [the login design](LLD-7.md).', '7'],
    ['Depends on [adding a login](issues/auth_login.md).', 'auth_login'],
    ['Depends on [adding a login](../../issues/auth_login.md#goal).', 'auth_login'],
    ['Depends on [#12](https://example.org/owner/repository/issues/12).', '12'],
    ['Depends on https://example.org/owner/repository/issues/12.', '12'],
    ['Depends on issues/12.md.', '12'],
    ['Depends on GH-12.', '12'],
    ['Depends on #auth_login and #add-logout.', 'auth_login add-logout'],
    ['**Depends on** #12.', '12'],
    ['depends\non #12', '12'],
    ['The work is blocked by #12 and #13.', '12 13'],
    ['Blocked on #12.', '12'],
    ['This requires #7.', '7'],
    ['Requires that #7 is merged.', '7'],
    ['It needs #7 first.', '7'],
    ['Builds on LLD-7.', '7'],
    ['It is built on top of #7.', '7'],
    ['To be implemented after #12.', '12'],
    ['It starts after issue #12 is merged.', '12'],
    ['Once #12 is merged, the call is replaced.', '12'],
    ['Waits for #12.', '12'],
    ['Prerequisite: #4.', '4'],
    ['Prerequisites: #4, #5', '4 5'],
    ['The prerequisite is #4.', '4'],
    ['Its dependency on #12 is deliberate.', '12'],
    ['It depends on the token store of #12.', '12'],
    ['It depends on the token store (#12).', '12'],
    ['It requires the schema that is added by #12.', '12'],
    ['It uses the store, so it depends on #12.', '12'],
    ['This is not a large change, but it depends on #12.', '12'],
    ['It not only depends on #12.', '12'],
    ['No new packages; depends on #12.', '12'],
    ['Depends on #12, not on #13.', '12'],
    ['Depends on #12 but not #13.', '12'],
    ['Depends on #12, related to #13.', '12'],
    ['#42 depends on #12.', '12'],
    ['LLD-42 requires #7.', '7'],
    ['As in #11, this depends on #12.', '12'],
    ['This can’t start until #12 is done.', '12'],
    ['It must not be merged before #12.', '12'],
    ['It does not work without #12.', '12'],
    ['#12 must be merged first.', '12'],
    ['#12 and #13 have to be implemented before this.', '12 13'],
    ['#12 is a prerequisite.', '12'],
    ['#12 and #13 are hard dependencies.', '12 13'],
    ['#12 is required.', '12'],
    ['#12 blocks this design.', '12'],
    ['> **Note:** blocked by #12.', '12'],
    ['1. Read the token; this step depends on #12.', '12'],
    ['Depends on #12. Depends on #12 and on #9.', '12 9'],
  ])('%s', (text, ids) => {
    expect(inApproach(text)).toEqual(ids.split(' '));
  });
});

describe('what is no dependency', () => {
  test.each([
    'Related to #12.',
    'See #12.',
    'See also #12 and #13.',
    'Similar to #12.',
    'As described in #12.',
    'Fixes #12.',
    'Part of #12.',
    'Follow-up to #12.',
    '#12 depends on this.',
    '#12 depends on #13.',
    '#12, which depends on #13, is older.',
    '#12 requires #7.',
    '#12 is blocked by this.',
    '#12 is required by #13.',
    '#12 is a prerequisite for #13.',
    'This is a prerequisite for #12.',
    'A dependency of #12.',
    'This does not depend on #12.',
    'This doesn’t depend on #12.',
    "It doesn't require #12.",
    'It no longer depends on #12.',
    'It does not, however, depend on #12.',
    'It neither requires nor depends on #12.',
    'It is not blocked by #12.',
    'There is no dependency on #12.',
    'Works without depending on #12.',
    'Independent of #12.',
    'It is independent from #12.',
    'Depends on nothing of #12.',
    'Requires neither #12 nor #13.',
    'It would depend on #12.',
    'It could require #12.',
    'It formerly needed the store of #12.',
    'Does this depend on #12?',
    'Blocks #12.',
    'Unblocks #12.',
    'This blocks #12 and #13.',
    'It has to be merged before #12.',
    'Depended on by #12.',
    'Needed by #12.',
    'It depends on lodash, see #12.',
    'It depends on `lodash` 4.17.',
    'It requires Node 24.',
    'It requires version 12.',
    'Depends on owner/repository#12.',
    'Depends on #TBD.',
    'Depends on #42.',
    'Depends on LLD-42.',
    'Depends on #042.',
    '~~Depends on #12.~~ It stands alone.',
    'The text `depends on #12` is recognised.',
    'The text "depends on #12" is recognised.',
    '```\ndepends on #12\n```',
    '    depends on #12',
    '<!-- depends on #12 -->',
    'It depends on the caller. #12 is related.',
    'The result depends on 12 values.',
  ])('%s', (text) => {
    expect(inApproach(text)).toEqual([]);
  });
});

describe('in the context', () => {
  test.each([
    ['* **Depends on:** #12', '12'],
    ['* **Depends On:** #12, #13', '12 13'],
    ['* **Dependencies:** LLD-12', '12'],
    ['* **Dependencies:** #12 (token store), #auth_login', '12 auth_login'],
    ['* **Blocked by:** #12', '12'],
    ['* **Blockers:** #12', '12'],
    ['* **Prerequisites:** #4 and #5', '4 5'],
    ['* **Depends on:** 12, 13', '12 13'],
    ['* **Depends on:** [Add login](issues/add-login.md)', 'add-login'],
    ['* **Depends on:**\n  * #12\n  * #13: the store', '12 13'],
    ['* **Related Issues:** #11, depends on #12', '12'],
    ['* **Related Issues:** #11 (related), #12 (depends on), #13', '12'],
    ['* **Related Issues:** #11; #12 (blocker); #13 (blocks)', '12'],
    ['* **Related Issues:** #12 – dependency', '12'],
    ['* **Related Issues:** #12 (hard dependency: the store), #13 (not a dependency)', '12'],
    ['* **Related Issues:**\n  * #11 – related\n  * #12 – prerequisite\n  * depends on #13', '12 13'],
    ['\n**Related:** #11\n**Depends on:** #12\n**Owner:** nobody', '12'],
    ['\nDepends on:\n\n- #12\n- #13', '12 13'],
    ['\n### Depends on\n- [ ] #12\n- [x] #13', '12 13'],
    ['\n| Field | Value |\n|---|---|\n| Depends on | #12 |\n| Related | #13 |', '12'],
    ['\n| Issue | Relation |\n|---|---|\n| #11 | related |\n| #12 | depends on |\n| #13 | blocks |', '12'],
    ['\n| Relation | Issue |\n|---|---|\n| related | #11 |\n| blocked by | #12 |', '12'],
    ['\n| Issue | Depends on |\n|---|---|\n| #42 | #12, #13 |', '12 13'],
  ])('%s', (lines, ids) => {
    expect(inContext(lines)).toEqual(ids.split(' '));
  });

  test.each([
    '* **Related Issues:** #11, #12',
    '* **Related Issues:** #11 (depends on this), #12 (blocks)',
    '* **Related Issues:** #11 (depends on #12)',
    '* **Related Issues:** #12 (required by)',
    '* **Depends on:** None',
    '* **Depends on:** none (see #12)',
    '* **Dependencies:** 3 packages',
    '* **Blocks:** #12',
    '* **Dependents:** #12',
    '* **Follow-ups:** #12',
    '\n### Dependents\n- #12',
    '\n### Follow-ups\n- depends on #12',
  ])('but not: %s', (lines) => {
    expect(inContext(lines)).toEqual([]);
  });
});

describe('in the section on dependencies', () => {
  test.each([
    ['- #12', '12'],
    ['- #12: the token store\n- #13', '12 13'],
    ['- Issue #12 – the token store', '12'],
    ['- **#12** (token store)', '12'],
    ['- LLD-7 must be there', '7'],
    ['- The token store of #12', '12'],
    ['- Token store (#12)', '12'],
    ['- Internal: #12', '12'],
    ['- [ ] #auth_login', 'auth_login'],
    ['- `lodash` 4.17.21 (MIT)\n- #12', '12'],
    ['No new packages. Depends on #12.', '12'],
    ['#12', '12'],
    ['| Dependency | Why |\n|---|---|\n| #12 | the store |\n| `lodash` | see #13 |', '12'],
    ['| Package | Version | Why |\n|---|---|---|\n| lodash | 4.17.21 | requires #12 |', '12'],
  ])('%s', (text, ids) => {
    expect(inSection22(text)).toEqual(ids.split(' '));
  });

  test.each([
    'None.',
    'None. See #12.',
    'None; #12 is related.',
    '- `lodash` 4.17.21',
    '- lodash 4.17.21, see #12',
    '- `lodash` (see #12)',
    '- zod 4 (MIT), was discussed in #12',
    '- See #12',
    '- Related: #12',
    '- Blocks #12',
    '- Needed by #12',
    '- Follow-up of #12',
    '- #12 depends on this',
    '- #12 is not needed',
    '- #12 does not matter here',
    '| Package | Version | Why |\n|---|---|---|\n| lodash | 4.17.21 | was asked for in #12 |',
    '```\n#12\n```',
  ])('but not: %s', (text) => {
    expect(inSection22(text)).toEqual([]);
  });
});

test('open questions, alternatives, scenarios and the review log say nothing about dependencies', () => {
  const questions = edited(
    '- [x] ~~Which module owns it?~~',
    '- [ ] Does it depend on #12?\n- [x] ~~Which module owns it?~~',
  );
  const alternatives = withSection('## 4. Alternatives Considered', 'A queue: depends on #12. **Rejected**');
  const scenario = edited('| 020 | Refuses text | Auto | "x" |', '| 020 | Refuses text | Auto | depends on #12 |');
  const log = withSection(
    '## Appendix: Review Log',
    '| Finding | Answer |\n|---|---|\n| It depends on #12 | Settled |',
  );
  expect([questions, alternatives, scenario, log].map(dependencies)).toEqual([[], [], [], []]);
});

test('each is named once, in the order of the document, and never the design’s own issue', () => {
  const text = edited('* **Related Issues:** None', '* **Depends on:** #9, #42, #10').replace(
    'A pure function, no state.',
    'Builds on #3 and requires #9.',
  );
  expect(dependencies(text)).toEqual(['9', '10', '3']);
});

test('a long text without any reference takes no time', { timeout: 10_000 }, () => {
  expect(inApproach(`It depends on ${'the store of the item '.repeat(5_000)}#12`)).toEqual([]);
  expect(inApproach('depends on '.repeat(5_000))).toEqual([]);
  expect(inApproach('(#1) , '.repeat(3_000))).toEqual([]);
});
