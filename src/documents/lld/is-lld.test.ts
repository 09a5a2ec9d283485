import { expect, test } from 'vitest';
import { LLD_42, withoutSection } from '../../../test/fixtures/lld/lld-42.ts';
import { isReview } from '../review/reader.ts';
import { isLld } from './sections.ts';

const review = `# LLD Review: 137 - Feature: x

## Identity Confirmation
text
## Pre-Flight Gate
PASSED
## Review Summary
text
## Open Questions Resolved
- [x] ~~a~~ **RESOLVED: b**
## Requirement Coverage Analysis (MANDATORY)
| # | Requirement | Test(s) | Status |
|---|---|---|---|
## Tier 1: BLOCKING Issues
### Cost
### Security
## Tier 2: HIGH PRIORITY Issues
### Architecture
## Verdict
[x] **APPROVED**`;

const readme =
  '# tool\n\n## Requirements\nNode\n## Dependencies\nnone\n## Testing\nnpm test\n## Security\nmail us\n## Legal\nMIT\n## License\nMIT';
const adr = '# 3 - Use SQLite\n\n## Context\nx\n## Decision\ny\n## Alternatives Considered\nz\n## Consequences\nw';

test('an LLD is one, also with a byte-order mark, front matter and CRLF', () => {
  expect(isLld(LLD_42)).toBe(true);
  expect(isLld(`\uFEFF---\nissue: 42\n---\n${LLD_42}`.replaceAll('\n', '\r\n'))).toBe(true);
});

test('a fence around the whole of it changes nothing', () => {
  expect(isLld(`\`\`\`markdown\n${LLD_42}\`\`\`\n`)).toBe(true);
  expect(isLld('```\n# install\nnpm install\n```\n')).toBe(false);
});

test('a broken LLD still is', () => {
  expect(isLld(withoutSection('## 10. Verification & Testing'))).toBe(true);
  expect(isLld(LLD_42.slice(0, LLD_42.indexOf('## 4.')))).toBe(true);
  expect(isLld(LLD_42.slice(LLD_42.indexOf('## 7.')))).toBe(true);
  expect(
    isLld(
      '# 42 - Feature: x\n\n## 1. Context & Goal\nx\n\n## 3. Requirements\n1. x\n\n## 10. Verification & Testing\nx',
    ),
  ).toBe(true);
});

test('a design in another form is one by its title', () => {
  const text = '## Problem\nx\n\n## Review Summary\nAPPROVED\n';
  expect(isLld(`# LLD-281: Preflight\n\n${text}`)).toBe(true);
  expect(isLld(`# LLD Review: 281\n\n${text}`)).toBe(false);
});

test('an LLD with reviews in its log still is', () => {
  expect(isLld(`${LLD_42}\n### Review 1\n#### Review Summary\nx\n#### Verdict\nREVISE`)).toBe(true);
});

test.each([
  ['a review', review],
  ['a review without a title', review.slice(review.indexOf('## Identity'))],
  ['a README', readme],
  ['a decision record', adr],
  ['nothing', ''],
  ['JSON', '{"verdict": "APPROVED"}'],
  ['an issue', '# Add login\n\nUsers want to log in.\n\n## Acceptance criteria\n- works\n\n## Requirements\n1. x'],
])('%s is not', (_, text) => {
  expect(isLld(text)).toBe(false);
});

test.each(['Read the verdict of an LLD review', 'LLD Review: verdict parser', 'Governance Verdict: BLOCK is read'])(
  'a design that is called "%s" is an LLD, and no review',
  (title) => {
    const text = LLD_42.replace('Sample change 42', title);
    expect(isLld(text)).toBe(true);
    expect(isReview(text)).toBe(false);
    expect(isLld(text.replace('# 42 - Feature: ', '# '))).toBe(true);
  },
);
