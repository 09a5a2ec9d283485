import { describe, expect, it } from 'vitest';
import { SAMPLE_LLD } from '../../../test/support/sample-lld.ts';
import { withReviewLog } from './review-log.ts';

const TABLE =
  '| Finding | Answer |\n|---------|--------|\n| F1: no bound | Fixed in round 2 |\n| F2: vague | Withdrawn |';

describe('withReviewLog', () => {
  it('replaces the table and leaves every other byte', () => {
    expect(withReviewLog(SAMPLE_LLD, TABLE)).toBe(SAMPLE_LLD.replace(/\| Finding \| Answer[\s\S]*\|(?=\n$)/, TABLE));
  });

  it('is the same when done twice', () => {
    expect(withReviewLog(withReviewLog(SAMPLE_LLD, TABLE), TABLE)).toBe(withReviewLog(SAMPLE_LLD, TABLE));
  });

  it('keeps what stands around the table and after the section', () => {
    const draft = SAMPLE_LLD.replace(
      '## 12.',
      '## Appendix A – Review Log (rounds)\nRounds:\n\n| A | B |\n|---|---|\n| x | y |\n\nEnd.\n\n## 12.',
    );
    const text = draft.slice(0, draft.indexOf('## Appendix: Review Log'));
    expect(withReviewLog(text, TABLE)).toBe(text.replace('| A | B |\n|---|---|\n| x | y |', TABLE));
  });

  it.each([
    ['is missing', '', '## Appendix: Review Log\n'],
    ['is empty', '## Appendix: Review Log\n', '## Appendix: Review Log\n\n'],
  ])('writes the table when the section %s', (_name, section, heading) => {
    const text = SAMPLE_LLD.slice(0, SAMPLE_LLD.indexOf('## Appendix'));
    expect(withReviewLog(`${text}${section}`, TABLE)).toBe(`${text}${heading}${TABLE}\n`);
  });

  it('writes the table above prose in a section without one', () => {
    expect(withReviewLog('## Review Log\nNone yet.\n\n## More\nText.\n', TABLE)).toBe(
      `## Review Log\n\n${TABLE}\n\nNone yet.\n\n## More\nText.\n`,
    );
  });
});
