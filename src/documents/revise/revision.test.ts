import { describe, expect, it } from 'vitest';
import { SAMPLE_LLD as DRAFT } from '../../../test/support/sample-lld.ts';
import { reviseDraft } from './revision.ts';

const BOUND = '**Unbounded Retry Loop:** Section 2.5 does not define a limit. **Recommendation:** add one.';
const BOUNDED = DRAFT.replace('wait and call again.', 'wait and call again, at most `maxRetries` times.');
const APPROACH = DRAFT.slice(DRAFT.indexOf('A pure policy'), DRAFT.indexOf('\n\n### 2.7'));
const SAFETY =
  'Input is checked before use. Fail mode: fail closed, the last error is thrown and nothing is swallowed on the way.';

const edit = (search: string, replace: string): string =>
  `<<<<<<< SEARCH\n${search}\n=======\n${replace}\n>>>>>>> REPLACE\n`;
const without = (text: string, from: string, to: string): string =>
  text.slice(0, text.indexOf(from)) + text.slice(text.indexOf(to));
const revise = (reply: string, named: string[] | null = [BOUND]) => reviseDraft(DRAFT, reply, { named });

describe('reviseDraft takes', () => {
  it.each([
    [
      'edit blocks',
      `Fixed.\n\n${edit('2. On a 429, wait and call again.', '2. On a 429, wait and call again, at most `maxRetries` times.')}`,
    ],
    ['the whole document', BOUNDED],
    ['the whole document in a fence', `Here is the revision:\n\n\`\`\`markdown\n${BOUNDED}\`\`\`\n\nLet me know.`],
    ['the whole document in CRLF', BOUNDED.replaceAll('\n', '\r\n')],
  ])('%s', (_name, reply) => {
    expect(revise(reply)).toEqual({ ok: true, text: BOUNDED });
  });

  it('titles that are only spelled otherwise', () => {
    const text = BOUNDED.replace('## 9. Legal & Compliance', '## 9 Legal and Compliance')
      .replace('### 2.6 Technical Approach', '### 2.6. TECHNICAL APPROACH')
      .replace('## 6. Diagram', '## 6. Diagrams')
      .replace('### 2.4 Function Signatures', '### 2.4 Function Signatures and Types');
    expect(revise(text)).toEqual({ ok: true, text });
  });

  it('a section whose text moved into new subsections', () => {
    const text = BOUNDED.replace(SAFETY, `### 7.1 Security\nInput is checked before use.\n\n### 7.2 Safety\n${SAFETY}`);
    expect(revise(text)).toEqual({ ok: true, text });
  });

  it('a document that itself speaks of merge markers', () => {
    const text = BOUNDED.replace('1. Call the vendor.', `1. Call.\n${edit('ours', 'theirs').trimEnd()}`);
    expect(revise(text)).toEqual({ ok: true, text });
  });

  it('a review log of any length, or none, as the program writes it anew', () => {
    const text = BOUNDED.replace('| None yet | Draft |\n', '');
    expect(revise(text)).toEqual({ ok: true, text });
    const without = `${BOUNDED.slice(0, BOUNDED.indexOf('## Appendix')).trimEnd()}\n`;
    expect(revise(without)).toEqual({ ok: true, text: without });
  });

  it.each([
    ['the draft itself', DRAFT],
    ['the draft with other padding and blank lines', DRAFT.replaceAll(' |\n', '  |\n').replace('\n## 3.', '\n\n## 3.')],
    ['an edit that changes nothing', edit('None.', 'None.')],
    ['words that nothing is to be changed', 'I reviewed the findings again: no changes are needed.'],
    ['words that the draft stays', 'The draft already addresses the finding, see step 3.'],
  ])('%s as no change', (_name, reply) => {
    expect(revise(reply)).toEqual({ ok: true, text: DRAFT });
  });

  it.each([
    ['by number', 'Section 2.6 repeats the issue and should be cut.'],
    ['by number in a list', 'Sections 2.4, 2.5 and 2.6 overlap.'],
    ['by a sign and number', 'See §2.6: far too long.'],
    ['by title', 'The technical approach is vague.'],
    ['by the section around it', 'Section 2 is too long.'],
  ])('a shorter section that a finding names %s', (_name, finding) => {
    const text = DRAFT.replace(APPROACH, 'One loop.');
    expect(revise(text, [finding])).toEqual({ ok: true, text });
  });

  it('a document that was written before a question was answered, and keeps the answer', () => {
    const open = '- [ ] Which module owns the retry policy?';
    const answered = '- [x] ~~Which module owns the retry policy?~~ **RESOLVED: the client.**';
    const revised = reviseDraft(DRAFT.replace(open, answered), BOUNDED, { named: [BOUND] });
    expect(revised).toEqual({ ok: true, text: BOUNDED.replace(open, answered) });
  });

  it('fewer requirements when a finding speaks of them', () => {
    const text = DRAFT.replace('3. An error other than 429 is thrown at once.\n', '');
    expect(revise(text, ['Requirement 3 is a duplicate.'])).toMatchObject({ ok: true });
  });

  it('fewer scenarios when a finding names one', () => {
    const text = DRAFT.replace(/\| 020 .*\n/, '');
    expect(revise(text, ['**Flaky Test (Scenario 020):** depends on time.'])).toMatchObject({ ok: true });
    expect(revise(text, ['The test plan is too long.'])).toMatchObject({ ok: true });
  });

  it('the removal of a section of its own when a finding asks for it', () => {
    const draft = DRAFT.replace('## 3. Req', '### 2.8 Rollout\nAll at once.\n\n## 3. Req');
    expect(reviseDraft(draft, DRAFT, { named: ['Section 2.8 is out of scope; remove it.'] })).toMatchObject({
      ok: true,
    });
    expect(reviseDraft(draft, DRAFT, { named: ['Section 2.8 is vague.'] })).toMatchObject({ ok: false });
  });

  it('any rewrite when nothing is protected, but no missing section', () => {
    const short = DRAFT.replace(APPROACH, 'One loop.').replace(SAFETY, 'Fail closed.');
    expect(revise(short, null)).toEqual({ ok: true, text: short });
    expect(revise(without(DRAFT, '## 9.', '## 10.'), null)).toMatchObject({ ok: false });
  });
});

describe('reviseDraft rejects', () => {
  it.each([
    ['a document without a section', without(BOUNDED, '## 9.', '## 10.'), /drops the section "9. Legal & Compliance"/],
    ['a document without a subsection', without(BOUNDED, '### 2.2', '### 2.3'), /drops the section "2.2 Dependencies"/],
    ['a document without its title', BOUNDED.slice(BOUNDED.indexOf('## 1.')), /drops the title/],
    [
      'a document that ends early',
      BOUNDED.slice(0, BOUNDED.indexOf('## 11.')),
      /"11. Risks & Mitigations".*"12. Definition of Done"/,
    ],
    ['the changed section alone', '## 2.5 Logic Flow\n1. Call at most 3 times.\n', /drops the section/],
    [
      'a long section made short',
      BOUNDED.replace(APPROACH, 'One loop.'),
      /shortens the section "2.6 .*no finding names it/,
    ],
    ['a short section made shorter', BOUNDED.replace(SAFETY, 'Fine.'), /shortens the section "7. /],
    ['an emptied section', BOUNDED.replace('No personal data and no new licence.\n', ''), /empties the section "9. /],
    [
      'a section that is only called unchanged',
      BOUNDED.replace('No personal data and no new licence.', '*(unchanged)*'),
      /leaves text out: "\*\(unchanged\)\*"/,
    ],
    ['a placeholder', BOUNDED.replace('| 030 ', '[... remaining rows unchanged ...]\n\n| 030 '), /leaves text out/],
    ['a lost requirement', BOUNDED.replace(/3\. An error .*\n/, ''), /drops an entry of the section "3. Requirements"/],
    ['a lost scenario', BOUNDED.replace(/\| 020 .*\n/, ''), /drops an entry of the section "10. /],
    [
      'an edit that deletes a section',
      edit('## 9. Legal & Compliance\nNo personal data and no new licence.', ''),
      /drops the section "9. /,
    ],
    ['edits that do not fit', edit('No such line', 'x'), /no such text: "No such line"/],
    ['an empty reply', '', /empty/],
    ['a refusal', "I'm sorry, I can't make changes to this document.", /no heading/],
    ['an error in words of no change', 'Error: no changes were made because the model is overloaded.', /no heading/],
    ['prose', 'I have updated the logic flow and bounded the loop.', /no heading/],
  ])('%s', (_name, reply, reason) => {
    expect(revise(reply)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });

  it.each([
    ['a version', 'Node 2.6 is not supported.'],
    ['a duration', 'Waiting 2.6 s is too long.'],
    ['an amount', 'It costs $2.6 a call.'],
  ])('a shorter section whose number stands in a finding as %s', (_name, finding) => {
    expect(revise(DRAFT.replace(APPROACH, 'One loop.'), [finding])).toMatchObject({ ok: false });
  });
});
