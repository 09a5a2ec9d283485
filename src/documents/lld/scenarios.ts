import type { Nodes } from 'mdast';
import { columnNamed, columnsOf, type DocumentTable, type TableRow, tablesIn } from '../../markdown/tables.ts';
import { citedRequirements, requirementReferences } from './requirements.ts';

export interface LldScenario {
  id: string;
  scenario: string;
  type: string;
  expected: string;
  pass: string;
  /** Ids of requirements, unknown ones included. */
  requirements: string[];
  line: number;
  /** Offsets of the type's cell; null without such a column. */
  typeCell: { start: number; end: number } | null;
}

export interface Scenarios {
  scenarios: LldScenario[];
  /** The line of the first table of scenarios, null without one. */
  scenariosLine: number | null;
  hasPassColumn: boolean;
  /** Ids that are in only one of two tables of the same scenarios. */
  oneSided: string[];
}

const ID = [/^(?:test |scenario |case |tc |test case )?(?:id|#|no|nr|number)s?$/];
const COLUMNS = {
  requirements: [
    /^(?:requirement|req)s?(?: (?:id|covered|ref|#|number)s?)?$/,
    /^(?:covers?|covered requirements?|covered|satisfies|validates|verifies|traces? to|traceability|maps to)$/,
    /\breq(?:uirement)?s?\b/,
  ],
  pass: [/^pass(?:ing)? (?:criteri(?:a|on)|condition|if|when)s?$/, /criteri|^pass(?: fail)?(?: .*)?$|^assert/],
  expected: [/^expected(?: .*)?$/, /^(?:outputs?|results?|outcome|then)$/],
  type: [/^(?:test )?(?:type|kind|mode|level)$|^automat|^auto manual$/],
  scenario: [
    /^(?:test )?(?:scenario|name|description|case|title|summary)s?(?: (?:name|description))?$/,
    /^(?:tests?|what|behaviou?r|check)$/,
  ],
};
const SCENARIO_ID = /^\W*(?:[A-Za-z]{1,4}-?)?\d{1,4}[a-z]?\W*$/;

type Columns = Record<'id' | keyof typeof COLUMNS, number | null>;

/**
 * Reads the scenarios from the tables of section 10. If only some tables have pass criteria, those are the full ones. All other
 * tables (a test plan of names, the same scenarios again, requirements with their tests) only add requirements to them.
 */
export function readScenarios(nodes: readonly Nodes[], known: readonly string[]): Scenarios {
  const tables = tablesIn(nodes);
  const lists = tables.flatMap((table) => {
    const columns = scenarioColumns(table);
    return columns ? [{ table, columns, scenarios: table.rows.map((row) => scenarioOf(row, columns, known)) }] : [];
  });
  const full = lists.filter(({ columns }) => columns.pass !== null);
  // A table that shares an id with an earlier one lists the same scenarios again.
  const byNumber = new Map<string, LldScenario>();
  const counted = (full.length > 0 ? full : lists).filter(({ scenarios }) => {
    const isNew = !scenarios.some(({ id }) => byNumber.has(testNumber(id)));
    for (const scenario of isNew ? scenarios.toReversed() : [])
      if (scenario.id !== '') byNumber.set(testNumber(scenario.id), scenario);
    return isNew;
  });
  const more = lists.filter((list) => !counted.includes(list));
  const others = more.flatMap((list) => list.scenarios);
  for (const { id, requirements } of others) {
    const same = byNumber.get(testNumber(id));
    if (same) same.requirements = [...new Set([...same.requirements, ...requirements])];
  }
  const scenarios = counted.flatMap((list) => list.scenarios);
  const listed = new Set(others.map(({ id }) => testNumber(id)));
  // Tables without a common id, or without results (steps by hand), list different things: only what is extra is one-sided.
  const isAgain = more
    .filter(({ columns }) => columns.expected !== null)
    .some((list) => list.scenarios.some(({ id }) => byNumber.has(testNumber(id))));
  const missing = isAgain ? scenarios.filter(({ id }) => !listed.has(testNumber(id))) : [];
  return {
    scenarios,
    scenariosLine: counted[0]?.table.line ?? null,
    hasPassColumn: full.length > 0,
    oneSided: [...others.filter(({ id }) => !byNumber.has(testNumber(id))), ...missing]
      .map(({ id }) => id)
      .filter((id) => id !== ''),
  };
}

function scenarioColumns(table: DocumentTable): Columns | null {
  const isNumbered = (at: number): boolean =>
    table.rows.length > 0 && table.rows.every(({ cells }) => SCENARIO_ID.test(cells[at] ?? ''));
  const byContent = table.headers.findIndex(
    (name, at) => /^(?:tests?|scenarios?|cases?|tc|)$/.test(name) && isNumbered(at),
  );
  const id = columnNamed(table, ID) ?? (byContent < 0 ? null : byContent);
  if (id === null) return null;
  const columns = { id, ...columnsOf(table, COLUMNS, [id]) };
  return [columns.pass, columns.expected, columns.scenario].every((column) => column === null) ? null : columns;
}

function scenarioOf(row: TableRow, columns: Columns, known: readonly string[]): LldScenario {
  const cell = (name: keyof Columns): string => row.cells[columns[name] ?? -1] ?? '';
  const cited = cell('requirements');
  const { start, end } = row.nodes[columns.type ?? -1]?.position ?? {};
  return {
    id: cell('id').replace(/[`*]/g, '').trim(),
    scenario: cell('scenario'),
    type: cell('type'),
    expected: cell('expected'),
    pass: cell('pass'),
    requirements: cited === '' ? citedRequirements(row.cells.join(' '), known) : requirementReferences(cited, known),
    line: row.line,
    typeCell: start && end ? { start: start.offset ?? 0, end: end.offset ?? 0 } : null,
  };
}

/** A guard holds before and after the change; every other scenario fails until the code exists. */
export function isGuard({ type }: Pick<LldScenario, 'type'>): boolean {
  return /^\W*guards?\b/i.test(type);
}

/** Whether a name contains a scenario's id as a whole number: `010` is in `test_010_empty`, not in `10100`. */
export function namesScenario(name: string, id: string): boolean {
  const digits = /\d+[a-z]?/i.exec(id)?.[0] ?? id.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![0-9])${digits}(?![0-9])`, 'i').test(name);
}

/** `T010` and `010` are the same test. */
export function testNumber(id: string): string {
  return id.replace(/^[^\d]*0*(?=\d)/, '').toLowerCase();
}
