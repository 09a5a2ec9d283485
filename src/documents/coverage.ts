import type { TextLine } from '../markdown/markdown.ts';
import { tableOf } from '../markdown/writer.ts';
import { type DocumentFinding, error, quote } from './finding.ts';

/** Which requirements a scenario covers. */
export interface Coverage {
  covered: number;
  total: number;
  /** Whole percent; 100 only if everything is covered, 0 only if nothing is. */
  percent: number;
  rows: CoverageRow[];
}

interface CoverageRow {
  requirement: string;
  text: string;
  scenarios: string[];
  covered: boolean;
}

/** A requirement, or a scenario of an issue. */
export interface NumberedEntry extends TextLine {
  /** `1`, or with its kind if the document has several: `FR-1` and `NFR-1`, `R1` and `REQ-1`. */
  id: string;
}

/** More are not read: each scenario may name all of them. */
export const MOST_ENTRIES = 500;

/** What covers entries: a scenario of a design, or a criterion of an issue. */
export interface Covering {
  name: string;
  /** The ids that it names, unknown ones included. */
  covers: readonly string[];
}

export function coverageOf(entries: readonly NumberedEntry[], covering: readonly Covering[]): Coverage {
  const known = new Map(entries.toReversed().map(({ id, text }) => [id, { text, scenarios: [] as string[] }]));
  for (const { name, covers } of covering) for (const id of new Set(covers)) known.get(id)?.scenarios.push(name);
  const rows = [...new Set(entries.map(({ id }) => id))].map((requirement) => {
    const { text, scenarios } = known.get(requirement) ?? { text: '', scenarios: [] };
    return { requirement, text, scenarios, covered: scenarios.length > 0 };
  });
  const covered = rows.filter((row) => row.covered).length;
  return { covered, total: rows.length, percent: wholePercent(covered, rows.length), rows };
}

function wholePercent(part: number, whole: number): number {
  if (whole === 0 || part === 0) return 0;
  if (part === whole) return 100;
  return Math.min(99, Math.max(1, Math.round((part / whole) * 100)));
}

/** How entries are called in messages. */
export interface EntryWords {
  /** `requirement`, which also begins the names of the rules. */
  one: string;
  /** How they are written: `a list "1. …"`. */
  form: string;
  /** What has to cover them: `scenario of section 10`. */
  by: string;
  nameOf: (id: string) => string;
}

/** `<one>-none`, `<one>-many`, `<one>-duplicate`, `<one>-uncovered`: entries are numbered in one sequence, and each of them is covered. */
export function checkEntries(
  { one, form, by, nameOf }: EntryWords,
  { line, entries, covering }: { line: number; entries: readonly NumberedEntry[]; covering: readonly Covering[] },
): DocumentFinding[] {
  if (entries.length === 0) return [error(`${one}-none`, line, `There is no numbered ${one}: write ${form}.`)];
  if (entries.length > MOST_ENTRIES)
    return [error(`${one}-many`, line, `There are more than ${MOST_ENTRIES} ${one}s: split the document.`)];
  const seen = new Set<string>();
  const again = entries.filter(({ id }) => seen.size === seen.add(id).size);
  const ids = [...new Set(again.map(({ id }) => nameOf(id)))].join(', ');
  const twice = `${ids} occurs more than once: number all ${one}s in one sequence.`;
  const covered = new Set(covering.flatMap(({ covers }) => covers));
  // Where nothing is covered, the check of the scenarios reports it. A number that two entries have can't be matched.
  const uncovered = covered.size === 0 || again.length > 0 ? [] : entries.filter(({ id }) => !covered.has(id));
  return [
    // Numbering that restarts under each heading is one mistake.
    ...again.slice(0, 1).map((entry) => error(`${one}-duplicate`, entry.line, twice)),
    ...uncovered.map(({ id, text, line: at }) => {
      const message = `No ${by} covers ${nameOf(id)}, ${quote(text)}: add one that names ${nameOf(id)}.`;
      return error(`${one}-uncovered`, at, message);
    }),
  ];
}

/** The table and the calculation as a review prints them. */
export function formatCoverage({ covered, total, percent, rows }: Coverage): string {
  const table = tableOf(
    ['#', 'Requirement', 'Test(s)', 'Status'],
    rows.map((row) => [
      row.requirement,
      row.text,
      row.scenarios.join(', '),
      row.covered ? '✓ Covered' : '✗ Not covered',
    ]),
  );
  return `${table}\n\n**Coverage Calculation:** ${covered} requirements covered / ${total} total = **${percent}%**`;
}
