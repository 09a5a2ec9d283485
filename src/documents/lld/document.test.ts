import { describe, expect, test } from 'vitest';
import { edited, LLD_42, withoutSection, withSection } from '../../../test/fixtures/lld/lld-42.ts';
import { isReview } from '../review/reader.ts';
import { isLld, readLld } from './document.ts';

const IDS = [
  '1',
  '2',
  '2.1',
  '2.2',
  '2.3',
  '2.4',
  '2.5',
  '2.6',
  '2.7',
  '3',
  '4',
  '5',
  '6',
  '7',
  '8',
  '9',
  '10',
  '11',
  '12',
  'log',
];

function table(headers: string[], ...rows: string[][]) {
  return [headers, headers.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

describe('the document as a whole', () => {
  test('everything in LLD-42 is read', () => {
    const lld = readLld(LLD_42);
    expect(lld).toMatchObject({
      title: '42 - Feature: Sample change 42',
      titleIssue: { id: '42', line: 1 },
      contextIssue: { id: '42', line: 4 },
      files: [
        { path: 'src/item-42.js', change: 'Add', description: 'Module for item 42', line: 16 },
        { path: 'test/item-42.test.js', change: 'Add', description: 'Tests for item 42', line: 17 },
      ],
      requirements: [
        { id: '1', text: '`item42(1)` returns 43.', line: 45 },
        { id: '2', text: 'A value that is not a number throws a TypeError.', line: 46 },
      ],
      scenarios: [
        {
          id: '010',
          scenario: 'Adds the number',
          type: 'Auto',
          expected: '43',
          pass: 'Result equals 43',
          requirements: ['1'],
        },
        { id: '020', requirements: ['2'] },
      ],
      openQuestions: [{ question: 'Which module owns it?', isOpen: false, line: 10 }],
    });
    expect(lld.sections.map(({ id }) => id)).toEqual(IDS);
    expect(lld.mermaid).toHaveLength(1);
  });

  test('byte-order mark, CRLF and front matter change nothing but the lines', () => {
    const approved = `\uFEFF---\nissue: 42\nstatus: approved\n---\n\n${LLD_42}`.replaceAll('\n', '\r\n');
    const lld = readLld(approved);
    expect(lld.titleLine).toBe(6);
    expect(lld.sections.map(({ id }) => id)).toEqual(IDS);
    expect(lld.requirements.map(({ line }) => line)).toEqual([50, 51]);
  });

  test.each([
    [
      'no numbers',
      (text: string) =>
        text.replace(/^(#+) \d+(?:\.\d+)?\.? /gm, (all, hashes: string) => (all.startsWith('# ') ? all : `${hashes} `)),
    ],
    ['"and" for "&"', (text: string) => text.replaceAll(' & ', ' and ')],
    ['one level deeper', (text: string) => text.replace(/^##/gm, '###')],
    ['all on the level of the title', (text: string) => text.replace(/^## /gm, '# ')],
    ['subsections on the level of sections', (text: string) => text.replace(/^### (?=2\.)/gm, '## ')],
    ['bold headings', (text: string) => text.replace(/^(#{2,}) (.*)$/gm, '$1 **$2**')],
    ['closed headings', (text: string) => text.replace(/^(#{2,}) (.*)$/gm, '$1 $2 $1')],
    [
      'other case',
      (text: string) =>
        text.replace(/^(#{2,}) (.*)$/gm, (_, hashes: string, title: string) => `${hashes} ${title.toUpperCase()}`),
    ],
    ['numbers in parentheses form', (text: string) => text.replace(/^## (\d+)\./gm, '## $1)')],
  ])('headings with %s', (_, change) => {
    const changed = change(LLD_42);
    expect(changed).not.toBe(LLD_42);
    const lld = readLld(changed);
    expect(lld.sections.map(({ id }) => id)).toEqual(IDS);
    expect([lld.files.length, lld.requirements.length, lld.scenarios.length]).toEqual([2, 2, 2]);
  });

  test('underlined headings', () => {
    const lld = readLld(LLD_42.replace(/^## (?:\d+\. )?(.*)$/gm, '$1\n-----').replace(/^# (.*)$/m, '$1\n====='));
    expect(lld.sections.filter(({ id }) => !id.includes('.')).map(({ id }) => id)).toEqual(
      IDS.filter((id) => !id.includes('.')),
    );
    expect(lld.titleIssue?.id).toBe('42');
  });

  test('parts of sections are not taken for sections', () => {
    const text = edited(
      'Input is checked before use.',
      '### 7.1 Security\nInput is checked.\n### Safety\nNothing else.\n\n### Performance\nFast.',
    );
    const done = edited(
      '- [ ] Both scenarios pass',
      '### Tests\n- [ ] Both pass\n### Requirements\n- [ ] all met',
      text,
    );
    const lld = readLld(done);
    expect(lld.sections.map(({ id }) => id)).toEqual(IDS);
    expect(lld.repeatedSections).toEqual([]);
    expect(lld.requirements).toHaveLength(2);
  });

  test('headings in code and quotations are no sections', () => {
    const text = edited('## 9. Legal & Compliance', '```md\n## 9. Legal & Compliance\n```');
    expect(readLld(text).sections.map(({ id }) => id)).not.toContain('9');
  });

  test.each(['', '\n', '---', '# x', '| a |\n|---|', 'plain text', '\u0000'])(
    '%j is read without complaint',
    (text) => {
      expect(readLld(text)).toMatchObject({ files: [], requirements: [], scenarios: [] });
    },
  );
});

describe('the issue', () => {
  test.each([
    ['42 - Feature: x', '42'],
    ['#42 - Feature: x', '42'],
    ['42: x', '42'],
    ['42 – x', '42'],
    ['137-Feature: x', '137'],
    ['LLD-42: x', '42'],
    ['LLD 42 - x', '42'],
    ['LLD: 42 - Feature: x', '42'],
    ['Issue #42: x', '42'],
    ['add-login - Feature: x', 'add-login'],
    ['Feature: x (#42)', '42'],
    ['TBD - Feature: x', null],
    ['#TBD - Feature: x', null],
    ['0XXX-Parallel execution', null],
    ['XXX: x', null],
    ['{{issue}} - Feature: x', null],
    ['[Issue] - Feature: x', null],
  ])('title %s', (title, id) => {
    expect(readLld(`# ${title}\n`).titleIssue?.id).toBe(id);
  });

  test.each(['Feature: x', 'A title of words', 'LLD: Sample change'])('title %s names none', (title) => {
    expect(readLld(`# ${title}\n`).titleIssue).toBeNull();
  });

  test.each([
    ['* **Issue:** #42', '42'],
    ['- Issue: 42', '42'],
    ['**Issue**: [#42](https://example.org/o/r/issues/42)', '42'],
    ['**Issue Link:** https://example.org/o/r/issues/42', '42'],
    ['| Field | Value |\n|---|---|\n| Issue | #42 |', '42'],
    ['This is about #42.\n\n* **Related Issues:** #7', '42'],
    ['* **Issue:** #TBD', null],
    ['* **Issue:** TBD', null],
    ['* **Issue:** `{{issue}}`', null],
  ])('section 1: %s', (body, id) => {
    expect(readLld(withSection('## 1. Context & Goal', body)).contextIssue?.id).toBe(id);
  });

  test('related issues are not the issue', () => {
    expect(readLld(withSection('## 1. Context & Goal', '* **Related Issues:** #7')).contextIssue).toBeNull();
  });
});

describe('the table of files', () => {
  const paths = (body: string) =>
    readLld(withSection('### 2.1 Files Changed', body)).files.map(({ path, change }) => `${change} ${path}`);

  test.each([
    [table(['Change', 'Description', 'File Path'], ['Create', 'x', '`a/b.js`']), ['Add a/b.js']],
    [table(['Path', 'Action', 'Purpose'], ['a/b.js', 'Update', 'x']), ['Modify a/b.js']],
    [table(['**File**', '**Type**', 'Notes'], ['**`a/b.js`**', '**Remove**', 'x']), ['Delete a/b.js']],
    [table(['File', 'Change Type', 'Description'], ['`a/b.js` (NEW)', 'Add', 'x']), ['Add a/b.js']],
    [table(['File', 'Change Type', 'Description'], ['a/__init__.py', 'Add', 'x']), ['Add a/__init__.py']],
    [table(['File', 'Change Type', 'Description'], ['`a/x\\|y.js`', 'Add', 'a \\| b']), ['Add a/x|y.js']],
    [table(['File', 'Change Type', 'Description'], ['`./a/b/`', 'Add (directory)', 'x']), ['Add a/b']],
    [table(['File', 'Change Type', 'Description'], ['`a.js`, `b.js`', 'Add', 'x']), ['Add a.js', 'Add b.js']],
    [table(['File', 'Change Type', 'Description'], ['`a b/ü.js`', 'Add', 'x']), ['Add a b/ü.js']],
    [table(['File', 'Change Type'], ['`a.js`', 'Create new file']), ['Add a.js']],
    [table(['File', 'Change'], ['`a.js`', 'Add tests for it'], ['`b.js`', 'Add']), ['Add b.js']],
    [
      `${table(['File', 'Change'], ['`a.js`', 'Add'])}\n\nand\n\n${table(['File', 'Change'], ['`b.js`', 'Delete'])}`,
      ['Add a.js', 'Delete b.js'],
    ],
  ])('%s', (body, expected) => {
    expect(paths(body)).toEqual(expected);
  });
});

describe('requirements', () => {
  const read = (body: string) =>
    readLld(withSection('## 3. Requirements', body)).requirements.map(({ id, text }) => [id, text]);

  test.each([
    ['1. One\n2. Two'],
    ['*What must be true.*\n\n1. One\n2. Two'],
    ['1) One\n2) Two'],
    ['1. One\n1. Two'],
    ['1. One\n\n```js\ncode\n```\n\n2. Two'],
    ['- **REQ-1**: One\n- **REQ-2**: Two'],
    ['- **REQ-1:** One\n- **REQ-2:** Two'],
    ['- REQ-01 – One\n- REQ-02 – Two'],
    ['- R1. One\n- R2. Two'],
    ['* R1: One\n* R2: Two'],
    ['- [ ] R1: One\n- [x] R2: Two'],
    ['1. **REQ-1**: One\n2. **REQ-2**: Two'],
    ['R1. One\nR2. Two'],
    ['**R1:** One\n\n**R2:** Two'],
    ['### REQ-1: One\nmore\n\n### REQ-2: Two\nmore'],
    ['### 3.1 Functional\n\n1. One\n\n### 3.2 Others\n\n2. Two'],
    [table(['#', 'Requirement'], ['1', 'One'], ['2', 'Two'])],
    [table(['ID', 'Description', 'Priority'], ['REQ-1', 'One', 'High'], ['REQ-2', 'Two', 'Low'])],
    [table(['Requirement', 'Description'], ['R1', 'One'], ['R2', 'Two'])],
    [table(['Description', 'Req'], ['One', '1'], ['Two', '2'])],
    [table(['Requirement', 'Priority'], ['One', 'High'], ['Two', 'Low'])],
    ['1. One\n   - a detail\n   1. another\n2. Two'],
  ])('%s', (body) => {
    expect(read(body)).toEqual([
      ['1', 'One'],
      ['2', 'Two'],
    ]);
  });

  test('items without a number are none', () => {
    expect(read('- One\n- Two')).toEqual([]);
  });
});

describe('scenarios', () => {
  const read = (body: string) => readLld(withSection('## 10. Verification & Testing', body));
  const covered = (body: string) => read(body).scenarios.map(({ id, requirements }) => [id, requirements]);

  test.each([
    [
      table(
        ['Test ID', 'Test', 'Expected', 'Pass Criteria', 'Req'],
        ['010', 'a', 'x', 'y', 'R1'],
        ['020', 'b', 'x', 'y', 'R2'],
      ),
    ],
    [
      table(
        ['Requirement(s)', 'Pass Criteria', 'Scenario', 'ID'],
        ['1', 'y', 'a', '**010**'],
        ['2', 'y', 'b', '`020`'],
      ),
    ],
    [
      table(
        ['#', 'Scenario', 'Type', 'Covers', 'Pass criteria'],
        ['010', 'a', 'Auto', 'REQ-01', 'y'],
        ['020', 'b', 'Auto', '#2', 'y'],
      ),
    ],
    [table(['ID', 'Scenario', 'Pass Criteria'], ['010', 'a (REQ-1)', 'y'], ['020', 'b (REQ-2)', 'y'])],
    [
      `${table(['Test ID', 'Test Description', 'Expected Behavior', 'Status'], ['T010', 'a', 'x', 'RED'])}\n\n### 10.1 Scenarios\n\n${table(['ID', 'Scenario', 'Pass Criteria', 'Requirements'], ['010', 'a', 'y', '1'], ['020', 'b', 'y', '2'])}`,
    ],
  ])('%s', (body) => {
    expect(covered(body)).toEqual([
      ['010', ['1']],
      ['020', ['2']],
    ]);
  });

  test('cells keep code spans and escaped pipes', () => {
    const body = table(
      ['ID', 'Scenario', 'Input', 'Expected Output', 'Pass Criteria', 'Requirements'],
      ['010', 'a', '`x \\| y`', '**43**', '`a == 1`', 'All'],
    );
    expect(read(body).scenarios).toMatchObject([{ expected: '43', pass: '`a == 1`', requirements: ['1', '2'] }]);
  });
});

describe('open questions', () => {
  const read = (body: string) =>
    readLld(withSection('### Open Questions', body)).openQuestions.map(({ question, isOpen }) => [question, !isOpen]);

  test.each([
    ['- [ ] Which one?', [['Which one?', false]]],
    ['- Which one?', [['Which one?', false]]],
    ['- [x] Which one?', [['Which one?', true]]],
    ['- [X] ~Which one?~ Addressed: that one', [['Which one?', true]]],
    ['- [ ] ~~Which one?~~ **RESOLVED: that one.**', [['Which one?', true]]],
    ['- [ ] Which one? **RESOLVED: that one.**', [['Which one?', true]]],
    ['- [ ] Which one?\n  - this\n  - that', [['Which one?', false]]],
    ['Should it be `a`?', [['Should it be `a`?', false]]],
    ['None.', []],
    ['- None', []],
    ['- [x] N/A', []],
    ['No open questions.', []],
    ['*Remove when resolved.*\n\n- [ ] Is it resolved by then?', [['Is it resolved by then?', false]]],
  ])('%s', (body, expected) => {
    expect(read(body)).toEqual(expected);
  });
});

const REVIEW = `# LLD Review: 137 - Feature: x

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

const README =
  '# tool\n\n## Requirements\nNode\n## Dependencies\nnone\n## Testing\nnpm test\n## Security\nmail us\n## Legal\nMIT\n## License\nMIT';
const ADR = '# 3 - Use SQLite\n\n## Context\nx\n## Decision\ny\n## Alternatives Considered\nz\n## Consequences\nw';

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
  ['a review', REVIEW],
  ['a review without a title', REVIEW.slice(REVIEW.indexOf('## Identity'))],
  ['a README', README],
  ['a decision record', ADR],
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
