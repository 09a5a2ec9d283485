import { describe, expect, it } from 'vitest';
import { SAMPLE_LLD } from '../../../test/support/sample-lld.ts';
import { withReviewLog } from './review-log.ts';

const ROWS = '| F1: no bound | Fixed in round 2 |\n| F2: vague | Withdrawn |';

describe('withReviewLog', () => {
  it('replaces the rows and leaves every other byte', () => {
    expect(withReviewLog(SAMPLE_LLD, ROWS)).toBe(SAMPLE_LLD.replace('| None yet | Draft |', ROWS));
  });

  it('replaces the whole table when it is given one', () => {
    const table = `| Id | Finding | Answer |\n|:---|---|---:|\n| F1 | No bound | Fixed |\n`;
    expect(withReviewLog(SAMPLE_LLD, table)).toBe(SAMPLE_LLD.replace(/\| Finding \| Answer[\s\S]*$/, table));
  });

  it('is the same when done twice, and empty without rows', () => {
    expect(withReviewLog(withReviewLog(SAMPLE_LLD, ROWS), ROWS)).toBe(withReviewLog(SAMPLE_LLD, ROWS));
    expect(withReviewLog(SAMPLE_LLD, '')).toBe(SAMPLE_LLD.replace('| None yet | Draft |\n', ''));
  });

  it('keeps what stands around the table and after the section', () => {
    const draft = SAMPLE_LLD.replace(
      '## 12.',
      '## Appendix A – Review Log (rounds)\nRounds:\n\n| A | B |\n|---|---|\n| x | y |\n\nEnd.\n\n## 12.',
    );
    const text = draft.slice(0, draft.indexOf('## Appendix: Review Log'));
    expect(withReviewLog(text, ROWS)).toBe(text.replace('| x | y |', ROWS));
  });

  it.each([
    ['is missing', '', '## Appendix: Review Log\n'],
    ['is empty', '## Appendix: Review Log\n', '## Appendix: Review Log\n\n'],
  ])('writes the table when the section %s', (_name, section, heading) => {
    const text = SAMPLE_LLD.slice(0, SAMPLE_LLD.indexOf('## Appendix'));
    expect(withReviewLog(`${text}${section}`, ROWS)).toBe(
      `${text}${heading}| Finding | Answer |\n|---------|--------|\n${ROWS}\n`,
    );
  });

  it('writes the table above prose in a section without one', () => {
    expect(withReviewLog('## Review Log\nNone yet.\n\n## More\nText.\n', ROWS)).toBe(
      `## Review Log\n\n| Finding | Answer |\n|---------|--------|\n${ROWS}\n\nNone yet.\n\n## More\nText.\n`,
    );
  });
});
