import { describe, expect, it } from 'vitest';
import { SAMPLE_LLD } from '../../../test/support/sample-lld.ts';
import { flattenSections, parseMarkdown, sectionsOf } from '../markdown.ts';
import { isNamed } from './named-sections.ts';
import { readTitle } from './section-titles.ts';

const parts = flattenSections(sectionsOf(parseMarkdown(SAMPLE_LLD)))
  .filter((section) => section.depth > 1)
  .map((section) => {
    const { number, key } = readTitle(section.title);
    return { title: section.title, number, key };
  });

const named = (finding: string): string[] =>
  parts.filter((part) => isNamed(part, parts, [finding])).map(({ number, title }) => number ?? title);

describe('a finding names', () => {
  it.each([
    ['**DRY Violation:** Section 2.4 and 2.5 describe the loop twice.', ['2.4', '2.5']],
    ['The Worker Logic Flow (Step 6) retries without a limit.', ['2.5']],
    ['**Flaky Test Scenario (Scenario 130):** likely to fail in CI.', ['10']],
    ['Scenario 120 and Section 7.2 rely on `.tmp` files.', ['7', '10']],
    ['Requirement 11 is not asserted in Section 10 (e.g. in Test 010).', ['3', '10']],
    ['The test plan lists a file that is not in the files table.', ['2.1', '10']],
    ['The files changed do not match the diagram.', ['2.1', '6']],
    ['The fail mode is not named.', ['7']],
    ['REQ-2 has no bound.', ['3']],
    ['§8 gives no numbers.', ['8']],
    ['Legal and compliance: a licence is missing.', ['9']],
    ['The open question about ownership is unanswered.', ['Open Questions']],
    ['The Issue field contains `#TBD`.', ['1']],
    ['The risks and their mitigations are thin.', ['11']],
    ['The definition of done is empty.', ['12']],
    ['**Missing Worker Timeout:** a hanging process blocks the coordinator for more than 2.5 s.', []],
    ['Runaway costs, poor security and slow functions; Python 2.7 and v2.5 are gone.', []],
  ])('%s', (finding, expected) => {
    expect(named(finding)).toEqual(expected);
  });

  it('all subsections together with their section', () => {
    expect(named('Section 2 is vague.')).toEqual(['2', '2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '2.7']);
  });
});
