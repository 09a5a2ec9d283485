import { relative } from 'node:path/posix';
import type { Nodes } from 'mdast';
import type { GatePolicy } from '../core/config.ts';
import type { GateCounts, GateEvidence, GateName } from '../core/gate.ts';
import { unlinked } from '../core/lines.ts';
import { addUsage, type ModelUse, NO_USAGE, sumUsd } from '../core/money.ts';
import { issueField, readFrontMatter, readHeader, writeFrontMatter } from '../documents/header.ts';
import type { Ledger } from '../documents/ledger.ts';
import { formatReviewLog } from '../documents/revise/review-log.ts';
import { normaliseText, parseMarkdown, plainText, sectionsOf } from '../markdown/markdown.ts';
import { columnsOf, tablesIn } from '../markdown/tables.ts';
import { asCode, asText, tableOf } from '../markdown/writer.ts';
import type { FileCoverage } from '../testing/port.ts';
import type { CoverageTarget } from './green.ts';

/** What one role used of one model. */
export interface Spending extends ModelUse {
  role: string;
  /** False if the usage is unknown. */
  metered: boolean;
}

export interface ReportFacts {
  id: string;
  title: string;
  /** Path of the approved LLD from the root of the repository. */
  design: string;
  /** Hash of the approved LLD's body. */
  lldHash: string;
  branch: string;
  baseCommit: string;
  testsCommit: string;
  codeCommit: string;
  implementer: string;
  reviewer: string;
  policy: GatePolicy;
  changes: readonly {
    path: string;
    change: 'added' | 'modified' | 'deleted';
    isTest: boolean;
    /** Whether the LLD names it. */
    planned: boolean;
    /** Null for a file that has no lines. */
    linesAdded: number | null;
    linesRemoved: number | null;
  }[];
  gates: readonly GateEvidence[];
  /** The scenarios of the LLD with the names of the tests that are for them. */
  scenarios: readonly { id: string; scenario: string; isGuard: boolean; tests: readonly string[] }[];
  frozen: readonly { path: string; sha256: string }[];
  coverage: {
    target: CoverageTarget | null;
    /** The changed files that the test runner measured; null if it measures no coverage. */
    files: readonly FileCoverage[] | null;
  };
  review: { rounds: number; verdict: string; ledger: Ledger };
  /** What was undone, and what else a person should know; plain text, one line each. */
  notices: readonly string[];
  spending: readonly Spending[];
}

const REPORTS = 'docs/reports';

/** `docs/reports/<id>.md`: what was implemented, and the evidence of the gates. */
export function writeReport(facts: ReportFacts): string {
  const { id, title, design } = facts;
  const body = [
    `# Implementation Report: ${asText(id)} - ${asText(title)}`,
    `Design: [${asText(design)}](${relative(REPORTS, design)})`,
    '## What changed',
    whatChanged(facts),
    '## Gates',
    ...gates(facts),
    '## Coverage',
    coverage(facts.coverage),
    '## Review',
    review(facts),
    '## What was undone or noticed',
    facts.notices.length === 0 ? 'Nothing.' : bulletsOf(facts.notices),
    '## Cost',
    cost(facts.spending),
  ].join('\n\n');
  const { lldHash, branch, baseCommit, testsCommit, codeCommit, implementer, reviewer, policy, spending } = facts;
  const commits = { branch, baseCommit, testsCommit, codeCommit };
  const total = totalCost(spending);
  return writeFrontMatter(`${body}\n`, {
    issue: issueField(id),
    title,
    status: 'implemented',
    lld: design,
    lldHash,
    ...commits,
    implementer,
    reviewer,
    policy,
    costUsd: total === null ? 'not known' : Number(total.toFixed(6)),
  });
}

function whatChanged({ changes }: ReportFacts): string {
  if (changes.length === 0) return 'Nothing.';
  const lines = (sign: string, count: number | null): string => (count === null ? '' : `${sign}${count}`);
  const rows = changes.map(({ path, change, isTest, planned, linesAdded, linesRemoved }) => [
    asCode(path),
    change,
    isTest ? 'test' : 'code',
    lines('+', linesAdded),
    lines('-', linesRemoved),
    planned ? 'yes' : '**no**',
  ]);
  return tableOf(['File', 'Change', 'Kind', 'Lines added', 'Lines removed', 'In the LLD'], rows);
}

function gates(facts: ReportFacts): string[] {
  const { gates: all, policy } = facts;
  if (all.length === 0) return [`No gate was checked: the policy is \`${policy}\`.`];
  return [
    `Policy: \`${policy}\`.`,
    gateTable(all),
    ...all.flatMap((gate) => {
      const details = detailsOf(gate, facts);
      return details.length === 0 ? [] : [`### ${HEADINGS[gate.gate]}`, ...details];
    }),
  ];
}

const HEADINGS: Record<GateName, string> = {
  tests: 'Tests: every scenario has one',
  red: 'Red: they fail before the code, and guards pass',
  frozen: 'Frozen: they stay as they were',
  green: 'Green: they pass, and so does what passed before',
  coverage: 'Coverage: they run through what changed',
  reverse: 'Reverse: they fail without the code',
};

function detailsOf({ gate, details, problems }: GateEvidence, { scenarios, frozen }: ReportFacts): string[] {
  const blocks = problems.length === 0 ? [] : ['Problems:', bulletsOf(problems)];
  if (gate === 'tests' && scenarios.length > 0) {
    const rows = scenarios.map(({ id, scenario, isGuard, tests }) => [
      asText(id),
      asText(scenario),
      isGuard ? 'Guard' : 'Auto',
      tests.map((test) => asCode(test)).join('<br>'),
    ]);
    return [...blocks, tableOf(['Scenario', 'What', 'Type', 'Tests'], rows)];
  }
  if (gate === 'frozen' && frozen.length > 0) {
    const rows = frozen.map(({ path, sha256 }) => [asCode(path), asCode(sha256)]);
    return [...blocks, tableOf(['File', 'sha256'], rows)];
  }
  // The section on coverage lists the files.
  if (gate === 'coverage' || details.length === 0) return blocks;
  return [...blocks, bulletsOf(details)];
}

const MOST_MISSED = 30;

function coverage({ target, files }: ReportFacts['coverage']): string {
  const asked = target === null ? 'No target.' : `Target: ${target.percent} %, from the ${asText(target.from)}.`;
  if (files === null) return `${asked} The test runner gave no coverage.`;
  if (files.length === 0) return `${asked} No changed file has lines to cover.`;
  const row = (name: string, lines: number, covered: number, missed: string): string[] => {
    return [name, String(lines), String(covered), percentOf(covered, lines), missed];
  };
  const rows = files.map(({ file, lines, covered, missed }) => {
    const more = missed.length > MOST_MISSED ? `, … (${missed.length} in all)` : '';
    return row(asCode(file), lines, covered, `${missed.slice(0, MOST_MISSED).join(', ')}${more}`);
  });
  const lines = files.reduce((sum, file) => sum + file.lines, 0);
  const covered = files.reduce((sum, file) => sum + file.covered, 0);
  const header = ['File', 'Lines', 'Covered', 'Percent', 'Lines not covered'];
  return `${asked}\n\n${tableOf(header, [...rows, row('all', lines, covered, '')])}`;
}

/** Rounded down, so that incomplete coverage never shows as 100. */
function percentOf(covered: number, lines: number): string {
  return lines === 0 ? '' : `${Math.floor((covered / lines) * 1_000) / 10} %`;
}

function review({ review: facts, reviewer }: ReportFacts): string {
  const by = `${asText(facts.verdict)} by ${asCode(reviewer)} after ${facts.rounds} round(s).`;
  return `${by}\n\n${formatReviewLog(facts.ledger)}`;
}

function cost(spending: readonly Spending[]): string {
  const total: Spending = {
    role: 'all',
    model: '',
    calls: spending.reduce((sum, { calls }) => sum + calls, 0),
    usage: spending.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
    metered: spending.every(({ metered }) => metered),
    costUsd: totalCost(spending),
  };
  const rows = [...spending, total].map(({ role, model, calls, usage, metered, costUsd }) => {
    const counts = [usage.inputTokens - usage.cacheReadTokens, usage.cacheReadTokens, usage.outputTokens];
    const tokens = counts.map((count) => (metered ? String(count) : 'not known'));
    return [asText(role), asCode(model), String(calls), ...tokens, costUsd === null ? 'not known' : costUsd.toFixed(4)];
  });
  const header = ['Role', 'Model', 'Calls', 'Uncached input tokens', 'Cached input tokens', 'Output tokens', 'USD'];
  return tableOf(header, rows);
}

/** One unknown price makes the sum unknown. */
function totalCost(spending: readonly Spending[]): number | null {
  return sumUsd(...spending.map(({ costUsd }) => costUsd));
}

/**
 * Adds a section with the gates after a reaction, which replaces earlier evidence for the pull request. `what`: may contain
 * words from outside.
 */
export function withReaction(
  report: string,
  { cycle, what, evidence }: { cycle: number; what: string; evidence: readonly GateEvidence[] },
): string {
  const gates = evidence.length === 0 ? 'No gate was checked.' : gateTable(evidence);
  return `${report.trimEnd()}\n\n## Gates after reaction ${cycle}\n\nTo: ${asText(what)}\n\n${gates}\n`;
}

const MOST_MESSAGE = 500;
const MOST_LINES = 200;

/** One row for each gate: its result and command. */
export function gateTable(gates: readonly GateEvidence[]): string {
  return tableOf(
    ['Gate', 'Result', 'Command', 'Counts', 'Hash'],
    gates.map((gate) => [
      gate.gate,
      resultOf(gate),
      asCode(gate.command ?? '', MOST_MESSAGE),
      gate.counts === null ? '' : countsOf(gate.counts),
      gate.hash === null ? '' : `\`${gate.hash}\``,
    ]),
  );
}

function resultOf({ passed, skipped }: GateEvidence): string {
  if (skipped !== null) return `not checked: ${asText(skipped, MOST_MESSAGE)}`;
  return passed ? 'holds' : '**fails**';
}

function countsOf({ passed, failed, skipped, notLoaded }: GateCounts): string {
  const parts = [`${passed} passed`, `${failed} failed`];
  if (skipped > 0) parts.push(`${skipped} skipped`);
  if (notLoaded > 0) parts.push(`${notLoaded} could not load`);
  return parts.join(', ');
}

/** Plain text as a list. Beyond the limit, entries are only counted. */
export function bulletsOf(lines: readonly string[]): string {
  const shown = lines.slice(0, MOST_LINES).map((line) => `- ${asText(line, MOST_MESSAGE)}`);
  if (lines.length > MOST_LINES) shown.push(`- … and ${lines.length - MOST_LINES} more`);
  return shown.join('\n');
}

/** A test that a report names for a scenario of its design. */
export interface ProvenTest {
  name: string;
  /** It also passes without the code. */
  isGuard: boolean;
}

/** The tests that the report of an implementation lists. */
export function provenTests(report: string): ProvenTest[] {
  const root = parseMarkdown(normaliseText(report));
  return tablesIn(root.children).flatMap((table) => {
    const { tests, type, scenario } = columnsOf(table, {
      tests: [/^tests$/],
      type: [/^type$/],
      scenario: [/^scenario$/],
    });
    if (tests === null || type === null || scenario === null) return [];
    return table.rows.flatMap(({ cells, nodes }) =>
      namesIn(nodes[tests]?.children ?? []).map((name) => ({ name, isGuard: cells[type] === 'Guard' })),
    );
  });
}

/** One for each line of the cell. */
function namesIn(nodes: readonly Nodes[]): string[] {
  const names = [''];
  for (const node of nodes) {
    if (node.type === 'html' && /^<br\b/i.test(node.value)) names.push('');
    else names.push(`${names.pop() ?? ''}${plainText(node)}`);
  }
  return names.map((name) => name.trim()).filter((name) => name !== '' && name !== '–');
}

const TITLES = { gates: /^Gates(?: after reaction \d+)?$/, coverage: /^Coverage$/ };

/** The text of the last such section, without mentions and references. Text from outside is already escaped in it. */
export function reportSection(report: string, name: keyof typeof TITLES): string {
  const { body } = readFrontMatter(report);
  const found = sectionsOf(parseMarkdown(body)).findLast(({ title }) => TITLES[name].test(title));
  if (found === undefined) return '';
  const text = body.slice(found.start, found.end);
  // The details of each gate stay in the report.
  const [top = ''] = text.slice(text.indexOf('\n') + 1).split(/^### /m);
  return unlinked(top.trim());
}

/** The gates of a report as one line and as a table. */
export function reportedGates(report: string): { passed: boolean; summary: string; details: string } {
  const details = reportSection(report, 'gates');
  const rows = tablesIn(parseMarkdown(details).children).flatMap(({ rows: all }) => all);
  const gates = rows.map(({ cells: [gate = '', result = ''] }) => ({ gate, result }));
  const failing = gates.filter(({ result }) => result === 'fails').map(({ gate }) => gate);
  const holding = gates.filter(({ result }) => result === 'holds').map(({ gate }) => gate);
  const passed = failing.length === 0 && holding.length > 0;
  const words =
    failing.length > 0 ? `fails: ${failing.join(', ')}` : `holds: ${holding.join(', ') || 'no gate was checked'}`;
  return { passed, summary: words, details };
}

/** What a report says was implemented, and where. */
export interface Implemented {
  /** Hash of the approved LLD's body. It identifies the design even if the file moves. */
  lldHash: string;
  branch: string;
  title: string | null;
}

/** Null if the text is not a report. */
export function readReportStatus(report: string): Implemented | null {
  const { status, lldHash, branch, title } = readHeader(report).header;
  return status === 'implemented' && lldHash !== null && branch !== null ? { lldHash, branch, title } : null;
}
