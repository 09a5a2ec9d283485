import fc from 'fast-check';
import { expect, test } from 'vitest';
import { review } from '../../test/support/models.ts';
import type { GateEvidence } from '../core/gate.ts';
import { NO_USAGE } from '../core/money.ts';
import { readFrontMatter } from '../documents/header.ts';
import { emptyLedger, recordReview } from '../documents/ledger.ts';
import { readReview } from '../documents/review/reader.ts';
import { parseMarkdown, plainText, sectionsOf } from '../markdown/markdown.ts';
import { asCode, oneLine, tableOf } from '../markdown/writer.ts';
import { provenTests, type ReportFacts, readReportStatus, reportedGates, writeReport } from './report.ts';

const gate = (evidence: Partial<GateEvidence> & Pick<GateEvidence, 'gate'>): GateEvidence => ({
  passed: true,
  skipped: null,
  command: null,
  counts: null,
  hash: null,
  summary: '',
  details: [],
  problems: [],
  ...evidence,
});
const REVISE = readReview(review({ verdict: 'REVISE', tier2: ['**Names:** `load` | `read` do the same.'] }));
const APPROVED = readReview(review({ verdict: 'APPROVED' }));
const FACTS: ReportFacts = {
  id: '42',
  title: 'Sample: change | it',
  design: 'docs/lld/LLD-42.md',
  lldHash: 'aa11',
  branch: 'agentos/42-sample',
  baseCommit: 'b0',
  testsCommit: 't1',
  codeCommit: 'c2',
  implementer: 'claude-code',
  reviewer: 'google:gemini',
  policy: 'strict',
  changes: [
    { path: 'src/a|b.js', change: 'added', isTest: false, planned: true, linesAdded: 12, linesRemoved: 0 },
    { path: 'logo.png', change: 'modified', isTest: false, planned: false, linesAdded: null, linesRemoved: null },
    { path: 'test/a.test.js', change: 'added', isTest: true, planned: true, linesAdded: 30, linesRemoved: 0 },
  ],
  gates: [
    gate({ gate: 'tests', details: ['010: one'] }),
    gate({
      gate: 'red',
      command: 'npx vitest run',
      counts: { passed: 3, failed: 2, skipped: 0, notLoaded: 1 },
      hash: 'ff00',
      details: ['"010 a|b" fails: expected\n  43'],
    }),
    gate({ gate: 'frozen', hash: 'ee00' }),
    gate({ gate: 'green', passed: false, problems: ['"020" fails: `x` is *not* a function'] }),
    gate({ gate: 'coverage', skipped: 'no target', details: ['src/a.js: 50 %'] }),
    gate({ gate: 'reverse', details: ['2 of 2 new test(s) do not pass without the code'] }),
  ],
  scenarios: [
    { id: '010', scenario: 'Adds | the number', isGuard: false, tests: ['010 adds `n` | m', 'suite > 010 again'] },
    { id: '020', scenario: 'Refuses text', isGuard: true, tests: [] },
  ],
  frozen: [{ path: 'test/a.test.js', sha256: 'd00d' }],
  coverage: {
    target: { percent: 80, from: 'LLD' },
    files: [
      { file: 'src/a.js', lines: 1_000, covered: 999, missed: [7] },
      { file: 'src/b.js', lines: 0, covered: 0, missed: [] },
    ],
  },
  review: {
    rounds: 2,
    verdict: 'APPROVED',
    ledger: recordReview(recordReview(emptyLedger, REVISE, { round: 1, draftChanged: true }), APPROVED, {
      round: 2,
      draftChanged: true,
    }),
  },
  notices: ['code-1: test/a.test.js was changed and put back'],
  spending: [
    {
      role: 'implementer',
      model: 'claude-code',
      calls: 3,
      usage: { ...NO_USAGE, inputTokens: 1_000, cacheReadTokens: 900, outputTokens: 200 },
      metered: true,
      costUsd: 0.1,
    },
    {
      role: 'reviewer',
      model: 'google:gemini',
      calls: 2,
      usage: { ...NO_USAGE, inputTokens: 500, outputTokens: 100 },
      metered: true,
      costUsd: 0.2,
    },
  ],
};

/** The tables of a section, as a reader sees them. */
function tablesOf(report: string, title: string): string[][][] {
  const section = sectionsOf(parseMarkdown(readFrontMatter(report).body)).find(
    (candidate) => candidate.title === title,
  );
  return (section?.own ?? []).flatMap((node) =>
    node.type === 'table' ? [node.children.map((row) => row.children.map((cell) => plainText(cell)))] : [],
  );
}

test('the front matter says what was implemented, where, by whom and at what price', () => {
  expect(readFrontMatter(writeReport(FACTS)).fields).toEqual({
    issue: 42,
    title: 'Sample: change | it',
    status: 'implemented',
    lld: 'docs/lld/LLD-42.md',
    lldHash: 'aa11',
    branch: 'agentos/42-sample',
    baseCommit: 'b0',
    testsCommit: 't1',
    codeCommit: 'c2',
    implementer: 'claude-code',
    reviewer: 'google:gemini',
    policy: 'strict',
    costUsd: 0.3,
  });
});

test('its status is read back, in any line ends; no other document has one', () => {
  const report = writeReport(FACTS);
  const status = { lldHash: 'aa11', branch: 'agentos/42-sample', title: FACTS.title };
  expect(readReportStatus(report)).toEqual(status);
  expect(readReportStatus(report.replaceAll('\n', '\r\n'))).toEqual(status);
  for (const other of ['', '# Report\n', report.replace('status: implemented', 'status: approved')])
    expect(readReportStatus(other)).toBeNull();
});

test('it links to the design where that is', () => {
  expect(writeReport(FACTS)).toContain('Design: [docs/lld/LLD-42.md](../lld/LLD-42.md)');
  expect(writeReport({ ...FACTS, design: 'docs/reports/42.lld.md' })).toContain('](42.lld.md)');
});

test('its sections come in a fixed order, and the same facts make the same report', () => {
  const report = writeReport(FACTS);
  const [top, ...sections] = sectionsOf(parseMarkdown(readFrontMatter(report).body));
  expect(top?.title).toBe('Implementation Report: 42 - Sample: change | it');
  expect(sections.filter(({ depth }) => depth === 2).map(({ title }) => title)).toEqual([
    'What changed',
    'Gates',
    'Coverage',
    'Review',
    'What was undone or noticed',
    'Cost',
  ]);
  expect(writeReport(structuredClone(FACTS))).toBe(report);
});

test('every changed file is named with its kind, and whether the LLD names it', () => {
  expect(tablesOf(writeReport(FACTS), 'What changed')[0]).toEqual([
    ['File', 'Change', 'Kind', 'Lines added', 'Lines removed', 'In the LLD'],
    ['src/a|b.js', 'added', 'code', '+12', '-0', 'yes'],
    ['logo.png', 'modified', 'code', '–', '–', 'no'],
    ['test/a.test.js', 'added', 'test', '+30', '-0', 'yes'],
  ]);
});

test('each gate shows its result, its command, its counts and its hash', () => {
  expect(tablesOf(writeReport(FACTS), 'Gates')[0]).toEqual([
    ['Gate', 'Result', 'Command', 'Counts', 'Hash'],
    ['tests', 'holds', '–', '–', '–'],
    ['red', 'holds', 'npx vitest run', '3 passed, 2 failed, 1 could not load', 'ff00'],
    ['frozen', 'holds', '–', '–', 'ee00'],
    ['green', 'fails', '–', '–', '–'],
    ['coverage', 'not checked: no target', '–', '–', '–'],
    ['reverse', 'holds', '–', '–', '–'],
  ]);
});

test('the details of the gates: tests by scenario, reasons of red, frozen files, problems', () => {
  const report = writeReport(FACTS);
  expect(tablesOf(report, 'Tests: every scenario has one')[0]?.slice(1)).toEqual([
    ['010', 'Adds | the number', 'Auto', '010 adds `n` | m<br>suite > 010 again'],
    ['020', 'Refuses text', 'Guard', '–'],
  ]);
  expect(tablesOf(report, 'Frozen: they stay as they were')[0]?.slice(1)).toEqual([['test/a.test.js', 'd00d']]);
  const text = plainText(parseMarkdown(report));
  expect(text).toContain('"010 a|b" fails: expected 43');
  expect(text).toContain('"020" fails: `x` is *not* a function');
  expect(text).toContain('2 of 2 new test(s) do not pass without the code');
});

test('coverage is shown per file and never rounded up', () => {
  expect(tablesOf(writeReport(FACTS), 'Coverage')[0]?.slice(1)).toEqual([
    ['src/a.js', '1000', '999', '99.9 %', '7'],
    ['src/b.js', '0', '0', '–', '–'],
    ['all', '1000', '999', '99.9 %', '–'],
  ]);
  expect(writeReport({ ...FACTS, coverage: { target: null, files: null } })).toContain(
    'No target. The test runner gave no coverage.',
  );
});

test('the review is told with its rounds and every finding', () => {
  const report = writeReport(FACTS);
  expect(report).toContain('APPROVED by `google:gemini` after 2 round(s).');
  const rows = tablesOf(report, 'Review')[0] ?? [];
  expect(rows[1]).toEqual([
    'F1 (round 1, Tier 2, Architecture): Names: load | read do the same.',
    'Fixed, settled in round 2',
  ]);
});

test('a price that nobody knows makes the sum unknown', () => {
  const [first, second] = FACTS.spending;
  const spending = [first, second].flatMap((entry) => (entry ? [entry] : []));
  expect(tablesOf(writeReport(FACTS), 'Cost')[0]?.at(-1)).toEqual(['all', '–', '5', '600', '900', '300', '0.3000']);
  const unknown = spending.map((entry) => ({ ...entry, metered: entry.role === 'reviewer', costUsd: null }));
  const report = writeReport({ ...FACTS, spending: unknown });
  expect(readFrontMatter(report).fields).toMatchObject({ costUsd: 'not known' });
  expect(tablesOf(report, 'Cost')[0]?.slice(1)).toEqual([
    ['implementer', 'claude-code', '3', 'not known', 'not known', 'not known', 'not known'],
    ['reviewer', 'google:gemini', '2', '500', '0', '100', 'not known'],
    ['all', '–', '5', 'not known', 'not known', 'not known', 'not known'],
  ]);
});

test('without gates, changes and notices the report says so', () => {
  const report = writeReport({ ...FACTS, id: 'add-login', policy: 'off', gates: [], changes: [], notices: [] });
  expect(report).toContain('issue: add-login');
  expect(report).toContain('No gate was checked: the policy is `off`.');
  expect(report).toMatch(/## What changed\n\nNothing\.\n/);
  expect(report).toMatch(/## What was undone or noticed\n\nNothing\.\n/);
});

const table = (rows: string[][]): string => `# Report\n\n${tableOf(['Scenario', 'What', 'Type', 'Tests'], rows)}\n`;

test('the tests of every scenario are read, guards marked, and no other table is taken for it', () => {
  const report = `${table([
    ['010', 'Adds', 'Auto', `${asCode('suite > 010 adds')}<br>${asCode('010 adds more')}`],
    ['020', 'Stays', 'Guard', asCode('020 stays')],
    ['030', 'None', 'Auto', ''],
  ])}\n| Gate | Type | Tests |\n|---|---|---|\n| red | x | y |\n`;
  expect(provenTests(report)).toEqual([
    { name: 'suite > 010 adds', isGuard: false },
    { name: '010 adds more', isGuard: false },
    { name: '020 stays', isGuard: true },
  ]);
});

const NAMES = 'aZ09éß ,.:;\'()/?+-#*_`[]<&!~|\\\n"$'.split('');

test('a name is read as it was written, whatever is in it', () => {
  const names = fc.string({ unit: fc.constantFrom(...NAMES), minLength: 1, maxLength: 16 });
  fc.assert(
    fc.property(names, (name) => {
      const written = oneLine(name);
      fc.pre(/[a-zA-Z0-9]/.test(written) && !/<br/i.test(written));
      expect(provenTests(table([['010', 'What', 'Auto', asCode(name)]]))).toEqual([{ name: written, isGuard: false }]);
    }),
  );
});

test.each([
  ['| red | holds | | | |\n| green | holds | | | |', true, 'holds: red, green'],
  ['| red | holds | | | |\n| green | **fails** | | | |', false, 'fails: green'],
  ['| red | not checked: x | | | |', false, 'holds: no gate was checked'],
])('evidence of %j', (rows, passed, summary) => {
  const report = `# R\n\n## Gates\n\n| Gate | Result | Command | Counts | Hash |\n|---|---|---|---|---|\n${rows}\n\n## Coverage\n\nNo.\n`;
  expect(reportedGates(report)).toMatchObject({ passed, summary });
  expect(reportedGates('')).toMatchObject({ passed: false });
});
