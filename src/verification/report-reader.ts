import type { Nodes } from 'mdast';
import { unlinked } from '../core/lines.ts';
import { readFrontMatter, readHeader } from '../documents/header.ts';
import { normaliseText, parseMarkdown, plainText, sectionsOf } from '../markdown/markdown.ts';
import { columnsOf, tablesIn } from '../markdown/tables.ts';

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
  return unlinked(
    text
      .slice(text.indexOf('\n') + 1)
      .split(/^### /m)[0]
      ?.trim() ?? '',
  );
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
