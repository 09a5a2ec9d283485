import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { edited, LLD_42, withoutSection, withSection } from '../../../test/fixtures/lld/lld-42.ts';
import { type BaseTree, checkLld } from './checks.ts';
import { designFacts, readLld } from './document.ts';

const emptyTree: BaseTree = { kindOf: () => null };
const usualTree: BaseTree = { kindOf: (path) => (path === 'src' || path === 'test' ? 'directory' : null) };

function found(text: string, options: Parameters<typeof checkLld>[1] = { issueId: '42' }) {
  return checkLld(text, options).findings.map(({ rule, severity }) => `${severity} ${rule}`);
}

/** Section 10 with its table once more; the second scenario has another id there. */
function withSecondTable(second: string): string {
  const [table = ''] = /\| ID [\s\S]*?\n\n/.exec(LLD_42) ?? [];
  return LLD_42.replace('## 11.', `### 10.1 In detail\n\n${table.replace('| 020 |', `| ${second} |`)}## 11.`);
}

/** Section 5 before section 4. */
function withSectionsSwapped() {
  const [fourth, fifth, sixth] = ['## 4. ', '## 5. ', '## 6. '].map((heading) => LLD_42.indexOf(heading));
  return LLD_42.slice(0, fourth) + LLD_42.slice(fifth, sixth) + LLD_42.slice(fourth, fifth) + LLD_42.slice(sixth);
}

test.each([
  ['no repository', null],
  ['an empty repository', emptyTree],
  ['the usual folders', usualTree],
])('LLD-42 passes with %s', (_, tree) => {
  const { findings, coverage } = checkLld(LLD_42, { issueId: '42', tree });
  expect(findings).toEqual([]);
  expect(coverage).toMatchObject({ covered: 2, total: 2, percent: 100 });
});

test('an approved LLD with front matter, CRLF and a byte-order mark passes as well', () => {
  const approved = `\uFEFF---\nissue: 42\nstatus: approved\n---\n\n${LLD_42}`.replaceAll('\n', '\r\n');
  expect(found(approved)).toEqual([]);
  expect(found(`\u200B${LLD_42}`)).toEqual([]);
});

describe('one thing broken gives exactly its finding', () => {
  test.each<[string, string, string[]]>([
    ['a missing section 9', withoutSection('## 9. Legal & Compliance'), ['error section-missing']],
    ['a missing section 3', withoutSection('## 3. Requirements'), ['error section-missing']],
    ['a missing section 10', withoutSection('## 10. Verification & Testing'), ['error section-missing']],
    ['a missing section 6', withoutSection('## 6. Diagram'), ['error section-missing']],
    ['a missing part 2.6', withoutSection('### 2.6 Technical Approach'), ['error section-missing']],
    ['a missing section 2', withoutSection('## 2. Proposed Changes'), ['error section-missing']],
    ['a missing review log', LLD_42.slice(0, LLD_42.indexOf('## Appendix')), ['warning section-missing']],
    ['an empty section', withSection('## 9. Legal & Compliance', ''), ['error section-empty']],
    ['a section of comments', withSection('## 9. Legal & Compliance', '<!-- later -->'), ['error section-empty']],
    ['an empty section 3', withSection('## 3. Requirements', ''), ['error section-empty']],
    ['sections out of order', withSectionsSwapped(), ['warning section-order']],
    ['a section twice', `${LLD_42}\n## 9. Legal & Compliance\nAgain.\n`, ['warning section-repeated']],
    ['the issue below the log', `${LLD_42}\n## User Story\nAs a user, I want it.\n`, ['error second-document']],
    ['the end of a prompt below the log', `${LLD_42}\n</draft>\n`, ['error elided-text']],
    ['a wrong section number', edited('## 9. Legal', '## 13. Legal'), ['warning section-order']],
    ['another issue in the title', edited('# 42 -', '# 41 -'), ['error issue-number']],
    [
      'another issue in the title that mentions ours',
      edited('# 42 - Feature: Sample change 42', '# 41 - Feature: Follow-up to #42'),
      ['error issue-number'],
    ],
    ['TBD in the title', edited('# 42 -', '# TBD -'), ['error issue-number']],
    ['no issue in the title', edited('# 42 - Feature: ', '# Feature: '), ['error issue-number']],
    ['no title', edited('# 42 - Feature: Sample change 42\n', ''), ['error issue-number']],
    ['another issue in section 1', edited('**Issue:** #42', '**Issue:** #420'), ['error issue-number']],
    ['TBD in section 1', edited('**Issue:** #42', '**Issue:** #TBD'), ['error issue-number']],
    ['no issue in section 1', edited('* **Issue:** #42\n', ''), ['error issue-number']],
    [
      'an open question',
      edited('- [x] ~~Which module owns it?~~ **RESOLVED: the sample module.**', '- [ ] Which module owns it?'),
      ['warning open-question'],
    ],
    ['an unknown change type', edited('`src/item-42.js` | Add', '`src/item-42.js` | Rename'), ['error files-table']],
    [
      'a path that leaves the repository',
      edited('`src/item-42.js` | Add', '`../item-42.js` | Add'),
      ['error path-outside'],
    ],
    ['requirements without numbers', withSection('## 3. Requirements', '- One\n- Two'), ['error requirement-none']],
    [
      'a requirement number twice',
      withSection('## 3. Requirements', '- R1: One\n- R1: Again\n- R2: Two'),
      ['error requirement-duplicate'],
    ],
    [
      'an uncovered requirement',
      edited('throws a TypeError.', 'throws a TypeError.\n3. A third.'),
      ['error requirement-uncovered'],
    ],
    [
      'a scenario for an unknown requirement',
      edited('| REQ-2 |', '| REQ-2, REQ-7 |'),
      ['error scenario-unknown-requirement'],
    ],
    [
      'a scenario without a requirement',
      edited('| REQ-2 |', '| REQ-2 |\n| 030 | More | Auto | 2 | 44 | Result equals 44 | - |'),
      ['warning scenario-no-requirement'],
    ],
    [
      'no table of scenarios',
      withSection('## 10. Verification & Testing', 'Both are tested.'),
      ['error scenario-none'],
    ],
    ['a scenario id of another form', edited('| 010 |', '| 1 |'), ['warning scenario-id']],
    ['another numbering, once', LLD_42.replace(/^\| 0([12])0 \|/gm, '| T$1 |'), ['warning scenario-id']],
    [
      'a file with two rows, once',
      edited('\n### 2.2', '| `src/item-42.js` | Add | b |\n| `src/item-42.js` | Add | c |\n\n### 2.2'),
      ['error files-table'],
    ],
    [
      'a change type of another kind, once',
      LLD_42.replaceAll('.js` | Add |', '.js` | Existing |'),
      ['error files-table'],
    ],
    ['an empty section 1', withSection('## 1. Context & Goal', ''), ['error section-empty']],
    ['a dash in place of a section', withSection('## 9. Legal & Compliance', '…'), ['error section-empty']],
    [
      'a comment in place of a section',
      withSection('## 9. Legal & Compliance', '<!-- same as before -->'),
      ['error elided-text'],
    ],
    [
      'a scenario without a type',
      edited('| Adds the number | Auto |', '| Adds the number | |'),
      ['error scenario-manual'],
    ],
    [
      'a table of manual tests',
      edited(
        '## 11. Risks',
        '### 10.3 Manual Tests\n| ID | Scenario | Steps |\n|---|---|---|\n| M01 | It looks right | Look |\n\n## 11. Risks',
      ),
      ['error scenario-tables'],
    ],
    [
      'a line of a prompt',
      edited('A pure function, no state.', 'You are a senior software architect.'),
      ['error elided-text'],
    ],
    ['a tag of a prompt with its end', `${LLD_42}\n<issue>\nAdd 42.\n</issue>\n`, ['error elided-text']],
    ['a placeholder in braces', withSection('## 9. Legal & Compliance', '{licences}'), ['error template-text']],
    [
      'code left out in prose',
      withSection('## 9. Legal & Compliance', '// ... existing code ...'),
      ['error elided-text'],
    ],
    ['an empty diagram', LLD_42.replace(/```mermaid[\s\S]*?```/, '```mermaid\n```'), ['error mermaid']],
    ['N/A without a reason', withSection('## 9. Legal & Compliance', 'N/A'), ['error section-empty']],
    ['a second table with other ids', withSecondTable('030'), ['error scenario-tables']],
    ['a scenario id twice', edited('| 020 |', '| 010 |'), ['error scenario-id']],
    ['a vague criterion', edited('Result equals 43', 'Works correctly'), ['error pass-criteria-vague']],
    ['an empty criterion', edited('| Result equals 43 |', '| |'), ['error pass-criteria-vague']],
    ['a criterion TBD', edited('Result equals 43', 'TBD'), ['error pass-criteria-vague']],
    [
      'no column of criteria',
      LLD_42.replace(
        /^(\| (?:ID|---|010|020).*?\|) (?:Pass Criteria|Result equals 43|A TypeError is thrown) \|/gm,
        '$1',
      ).replace(
        '|----|----------|------|-------|-----------------|---------------|--------------|',
        '|---|---|---|---|---|---|',
      ),
      ['error pass-criteria-vague'],
    ],
    [
      'a manual scenario',
      edited('| Adds the number | Auto |', '| Adds the number | Manual |'),
      ['error scenario-manual'],
    ],
    [
      'a column of types with words of its own, once',
      LLD_42.replaceAll('| Auto |', '| Unit (pytest) |'),
      ['error scenario-manual'],
    ],
    ['no diagram', withSection('## 6. Diagram', 'None.'), ['error mermaid']],
    ['a diagram that is not marked', edited('```mermaid', '```'), ['error mermaid']],
    ['a diagram of an unknown kind', edited('flowchart LR', 'flowchat LR'), ['error mermaid']],
    ['a diagram with an open bracket', edited('A[value]', 'A[value'), ['error mermaid']],
    ['template text', edited('A pure function, no state.', '{{approach}}'), ['error template-text']],
  ])('%s', (_, text, expected) => {
    expect(text).not.toBe(LLD_42);
    expect(found(text)).toEqual(expected);
  });

  test.each<[string, string, BaseTree, string[]]>([
    [
      'a file to modify that is not there',
      edited('`src/item-42.js` | Add', '`src/item-42.js` | Modify'),
      usualTree,
      ['error path-missing'],
    ],
    [
      'a file to add that is there',
      LLD_42,
      { kindOf: (path) => (path === 'src/item-42.js' ? 'file' : usualTree.kindOf(path)) },
      ['error path-exists'],
    ],
    [
      'a folder that is a file',
      LLD_42,
      { kindOf: (path) => (path === 'src' ? 'file' : usualTree.kindOf(path)) },
      ['error path-parent'],
    ],
    [
      'folders out of nowhere',
      edited('`src/item-42.js` | Add', '`no/such/folder/item-42.js` | Add'),
      usualTree,
      ['error path-parent'],
    ],
  ])('%s', (_, text, tree, expected) => {
    expect(found(text, { issueId: '42', tree })).toEqual(expected);
  });
});

describe('the issue', () => {
  test('is only compared within the document when the caller does not know it', () => {
    expect(found(LLD_42, {})).toEqual([]);
    expect(found(edited('# 42 -', '# 41 -'), {})).toEqual(['error issue-number']);
    expect(found(edited('**Issue:** #42', '**Issue:** TBD'), {})).toEqual(['error issue-number']);
  });

  test('may be a name', () => {
    const named = edited('**Issue:** #42', '**Issue:** #add-login', edited('# 42 -', '# add-login -'));
    expect(found(named, { issueId: 'add-login' })).toEqual([]);
    expect(found(named, { issueId: 'add' })).toEqual(['error issue-number', 'error issue-number']);
    expect(found(named, {})).toEqual([]);
  });

  test.each(['2024-plan', 'x_1', 'A', '007', 'issue-5', 'LLD-5', 'none', 'issue', '_x_', '__init__'])(
    'id %s',
    (issueId) => {
      const text = edited('**Issue:** #42', `**Issue:** #${issueId}`, edited('# 42 -', `# ${issueId} -`));
      expect(found(text, { issueId })).toEqual([]);
    },
  );
});

test('findings are in document order, on one line each, and say what to do', () => {
  const breaks: [string, string][] = [
    ['A[value]', 'A[value'],
    ['# 42 -', '# TBD -'],
    ['Result equals 43', 'Works'],
    ['`src/item-42.js` | Add', '`../item-42.js` | Add'],
  ];
  const broken = breaks.reduce((text, [passage, replacement]) => edited(passage, replacement, text), LLD_42);
  const { findings } = checkLld(broken);
  expect(findings).toHaveLength(4);
  expect(findings.map(({ line }) => line)).toEqual(findings.map(({ line }) => line).toSorted((a, b) => a - b));
  for (const { message } of findings) expect(message).toMatch(/^[^\n]+: [^\n]+\.$/);
});

test('coverage counts what scenarios name, and shows what they leave out', () => {
  const { coverage } = checkLld(edited('throws a TypeError.', 'throws a TypeError.\n3. A third.'));
  expect(coverage).toMatchObject({ covered: 2, total: 3, percent: 67 });
  expect(coverage.rows[2]).toEqual({ requirement: '3', text: 'A third.', scenarios: [], covered: false });
});

test('damaged documents are checked without an exception', () => {
  const lines = LLD_42.split('\n');
  fc.assert(
    fc.property(
      fc.array(fc.nat(lines.length - 1), { maxLength: 20 }),
      fc.nat(LLD_42.length),
      fc.string(),
      (dropped, at, noise) => {
        const kept = lines.filter((_, index) => !dropped.includes(index)).join('\n');
        const text = `${kept.slice(0, at)}${noise}${kept.slice(at)}`;
        const { findings } = checkLld(text, { issueId: '42', tree: usualTree });
        expect(findings.every(({ line }) => line >= 1 && line <= text.split('\n').length + 1)).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

test.each(['1', '2', '3', '7', '10', '12'])(
  'the title of issue %s is not taken for the section of that number',
  (id) => {
    const lld = LLD_42.replaceAll('42', id);
    expect(checkLld(lld, { issueId: id }).findings).toEqual([]);
  },
);

describe('what is missing although something stands there', () => {
  const inApproach = (text: string) => found(withSection('### 2.6 Technical Approach', text));

  test.each([
    '*(unchanged)*',
    '(unchanged)',
    '[Rest unchanged]',
    '[rest as before]',
    '[... remaining rows unchanged ...]',
    '<!-- same as before -->',
    '*Same as the previous draft.*',
    '... (rest of the section omitted for brevity)',
    '- [Same as above]',
    '[See previous version]',
    '*Content preserved from previous draft.*',
    '<!-- [Content preserved as-is] -->',
    '| Key | Value |\n|---|---|\n| [remaining rows unchanged] | ... |',
    'A pure function.\n\n</draft>',
    'A pure function.\n\n<<<<<<< SEARCH\nx',
  ])('%s is never taken for text', (text) => {
    expect(inApproach(`A pure function.\n\n${text}`)).toContain('error elided-text');
  });

  test('a sentence in italics about other scenarios leaves nothing out', () => {
    const sentence = '*All other scenarios are fully automated using mock mode.*';
    expect(inApproach(`A pure function.\n\n${sentence}`)).not.toContain('error elided-text');
  });

  test.each([
    'Unchanged: the store keeps its schema.',
    '*No changes to function signatures, only a test expects another value.*',
    '(see the original issue)',
    'The rest of the module stays as it is (see `src/core`).',
    '```js\n// ... existing code, unchanged ...\n```',
    'Returns the value (unchanged if it is a number).',
    '| Key | Value |\n|---|---|\n| Output | (unchanged) |',
    '- [ ] The output is unchanged',
  ])('%s says something', (text) => {
    expect(inApproach(text)).toEqual([]);
  });

  test('a second document below the first', () => {
    expect(found(`${LLD_42}\n# Add a number\n\nCallers want a function that adds.\n`)).toEqual([
      'error second-document',
    ]);
    expect(found(`${LLD_42}\n# Appendix B: Numbers\n\n42.\n`)).toEqual([]);
  });

  test('more than 400 lines', () => {
    expect(found(edited('A pure function, no state.', 'A pure function.\n'.repeat(350)))).toEqual(['warning lld-size']);
  });
});

describe('one fact is one finding', () => {
  const rows = (count: number, requirement: string) =>
    Array.from(
      { length: count },
      (_, at) => `| ${at + 1}00 | S${at} | Auto | 1 | 2 | Equals 2 | ${requirement} |`,
    ).join('\n');
  const table = (body: string) =>
    withSection(
      '## 10. Verification & Testing',
      `| ID | Scenario | Type | Input | Expected Output | Pass Criteria | Requirements |\n|---|---|---|---|---|---|---|\n${body}`,
    );

  test('no scenario names a requirement', () => {
    expect(found(table(rows(9, '-'))).filter((finding) => !finding.endsWith('scenario-id'))).toEqual([
      'error scenario-no-requirement',
    ]);
  });

  test('numbers that begin again under each heading', () => {
    const text = withSection('## 3. Requirements', '### A\n1. One\n2. Two\n\n### B\n1. Three\n2. Four');
    const { findings } = checkLld(text, { issueId: '42' });
    expect(findings.map(({ rule }) => rule)).toEqual(['requirement-duplicate']);
    expect(findings[0]?.message).toContain('REQ-1, REQ-2');
    expect(found(text.replace('2. Four', '2. Four\n3. Five'))).toEqual(['error requirement-duplicate']);
  });

  test('more requirements than any design has', () => {
    const many = Array.from({ length: 20_000 }, (_, at) => `${at + 1}. a`).join('\n');
    const { findings, coverage } = checkLld(withSection('## 3. Requirements', many), { issueId: '42' });
    expect(findings.map(({ rule }) => rule)).toContain('requirement-many');
    expect(coverage.total).toBe(501);
  });

  test('two tables of scenarios with other ids', () => {
    const plan = (ids: string[]) =>
      edited(
        '## 10. Verification & Testing\n',
        `## 10. Verification & Testing\n| Test ID | Description |\n|---|---|\n${ids.map((id) => `| ${id} | x |`).join('\n')}\n\n### 10.1 Scenarios\n`,
      );
    expect(found(plan(['T010', 'T020']))).toEqual([]);
    expect(found(plan(['T010', 'T030']))).toEqual(['error scenario-tables']);
    expect(found(plan(['T010']))).toEqual([]);
    const results = plan(['T010']).replace('| Test ID | Description |', '| Test ID | Expected Behavior |');
    expect(found(results)).toEqual(['error scenario-tables']);
  });

  test('either number may be the right one when title and section 1 differ', () => {
    const [finding] = checkLld(edited('# 42 -', '# 41 -')).findings;
    expect(finding?.message).toBe('The title names issue 41 and section 1 links 42: name the same issue in both.');
  });
});

test('a second table of the same scenarios is no second set of them', () => {
  expect(found(withSecondTable('020'))).toEqual([]);
  expect(readLld(withSecondTable('020')).scenarios.map(({ id }) => id)).toEqual(['010', '020']);
});

test('a requirement has the number that is written, also behind a gap', () => {
  expect(found(edited('\n2. A value', '\n4. A value').replace('REQ-2', 'REQ-4'))).toEqual([]);
  expect(found(edited('\n2. A value', '\n1. A value'))).toEqual([]);
});

test('a fence around the whole document is no part of it, and lines keep their numbers', () => {
  const wrapped = (text: string) => checkLld(`Here it is:\n\n\`\`\`markdown\n${text}\n\`\`\`\n`, { issueId: '42' });
  expect(wrapped(LLD_42).findings).toEqual([]);
  const [finding] = wrapped(edited('| Result equals 43 |', '| |')).findings;
  const [bare] = checkLld(edited('| Result equals 43 |', '| |'), { issueId: '42' }).findings;
  expect(finding).toEqual({ ...bare, line: (bare?.line ?? 0) + 3 });
});

test('a section whose heading is marked as unchanged is that section', () => {
  expect(found(edited('## 9. Legal', '## [UNCHANGED] 9. Legal'))).toEqual([]);
});

describe('small designs', () => {
  test.each(['5. Data & Fixtures', '6. Diagram', '7. Security & Safety Considerations', '9. Legal & Compliance'])(
    'section %s may be one line with its reason',
    (title) => {
      expect(found(withSection(`## ${title}`, 'N/A – a pure function of two lines.'))).toEqual([]);
    },
  );

  test('a diagram without a reason is missing', () => {
    expect(found(withSection('## 6. Diagram', 'N/A'))).toEqual(['error mermaid']);
    const below = '*N/A - a change of configuration.*\n\n### 6.1 Quality Gate\n\nNothing to draw.';
    expect(found(withSection('## 6. Diagram', below))).toEqual([]);
  });
});

describe('fields', () => {
  const facts = (field: string) => designFacts(edited('* **Status:** Draft', `* **Status:** Draft\n${field}`)).after;

  test.each([
    ['* **Depends on:** #12', ['12']],
    ['* **Depends on:** #12, #add-login and LLD-7 (for the store of #3)', ['12', 'add-login', '7']],
    ['* **Depends on:** 12, 13', ['12', '13']],
    ['* **Depends on:** None', []],
    ['* **Depends on:** #42', []],
    ['* Something that depends on #12 in a sentence.', []],
  ])('%s', (field, expected) => {
    expect(facts(field)).toEqual(expected);
  });

  test.each([
    ['* **Coverage target:** 90 %', 90],
    ['* **Coverage target:** 95.5%', 95.5],
    ['* Tests reach 90 % coverage.', null],
  ])('%s', (field, expected) => {
    expect(readLld(edited('* **Status:** Draft', `* **Status:** Draft\n${field}`)).fields.coverageTarget).toBe(
      expected,
    );
  });
});
