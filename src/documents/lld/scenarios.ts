import { columnNamed, type DocumentTable, type TableRow, tablesIn } from '../markdown.ts';
import type { DocumentSection } from '../sections.ts';
import { citedRequirements, requirementReferences } from './requirements.ts';

export interface LldScenario {
  id: string;
  scenario: string;
  type: string;
  input: string;
  expected: string;
  pass: string;
  /** Ids of requirements; one that is not there comes as it would be called. */
  requirements: string[];
  line: number;
  /** Where the type stands in the text, from the cell's border to the next; null without such a column. */
  typeCell: { start: number; end: number } | null;
}

export interface Scenarios {
  scenarios: LldScenario[];
  /** The line of the first table of scenarios, null without one. */
  line: number | null;
  hasPassColumn: boolean;
  /** Ids that only one of two tables of scenarios has: a test plan of names, and the full table. */
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
  input: [/^(?:inputs?|given|setup|preconditions?|arrange|when|action|steps?|stimulus)(?: .*)?$/],
  scenario: [
    /^(?:test )?(?:scenario|name|description|case|title|summary)s?(?: (?:name|description))?$/,
    /^(?:tests?|what|behaviou?r|check)$/,
  ],
};
const TESTS = [/^(?:tests?|test cases?|scenarios?|covered by|covering tests?|verified by|test ids?|scenario ids?)$/];
const SCENARIO_ID = /^\W*(?:[A-Za-z]{1,4}-?)?\d{1,4}[a-z]?\W*$/;

interface Columns {
  id: number;
  requirements: number | null;
  pass: number | null;
  expected: number | null;
  type: number | null;
  input: number | null;
  scenario: number | null;
}

/**
 * Scenarios from the tables of section 10. Where some tables have pass criteria and others don't (a test plan of names
 * beside the full table), the full ones count and the rest, like a table from requirements to tests, only adds the
 * requirements that a scenario covers.
 */
export function readScenarios(section: DocumentSection | undefined, known: readonly string[]): Scenarios {
  const tables = tablesIn(section?.nodes ?? []);
  const traces = tables.flatMap((table) => traceOf(table, known));
  const lists = tables
    .filter((table) => traceOf(table, known).length === 0)
    .flatMap((table) => {
      const columns = columnsOf(table);
      return columns ? [{ table, columns, scenarios: table.rows.map((row) => scenarioOf(row, columns, known)) }] : [];
    });
  const full = lists.filter(({ columns }) => columns.pass !== null);
  const counted = full.length > 0 ? full : lists;
  const scenarios = counted.flatMap((list) => list.scenarios);
  const others = lists.filter((list) => !counted.includes(list)).flatMap((list) => list.scenarios);
  for (const other of others) {
    traces.push(...other.requirements.map((requirement) => ({ requirement, test: other.id })));
  }
  for (const { requirement, test } of traces) {
    const traced = scenarios.find((scenario) => sameTest(scenario.id, test));
    if (traced && !traced.requirements.includes(requirement)) traced.requirements.push(requirement);
  }
  return {
    scenarios,
    line: counted[0]?.table.line ?? null,
    hasPassColumn: full.length > 0,
    oneSided: others.length === 0 ? [] : [...missingFrom(scenarios, others), ...missingFrom(others, scenarios)],
  };
}

/** Ids of the second list that the first does not have. */
function missingFrom(list: LldScenario[], of: LldScenario[]): string[] {
  return of.filter(({ id }) => id !== '' && !list.some((other) => sameTest(other.id, id))).map(({ id }) => id);
}

function columnsOf(table: DocumentTable): Columns | null {
  let id = columnNamed(table, ID);
  if (id === null) {
    const byContent = table.headers.findIndex(
      (_, at) => table.rows.length > 0 && table.rows.every((row) => SCENARIO_ID.test(row.cells[at] ?? '')),
    );
    id = byContent < 0 || !/^(?:tests?|scenarios?|cases?|tc|)$/.test(table.headers[byContent] ?? '') ? null : byContent;
  }
  if (id === null) return null;
  const taken = [id];
  const take = (names: RegExp[]) => {
    const index = columnNamed(table, names, taken);
    if (index !== null) taken.push(index);
    return index;
  };
  const requirements = take(COLUMNS.requirements);
  const pass = take(COLUMNS.pass);
  const expected = take(COLUMNS.expected);
  const type = take(COLUMNS.type);
  const input = take(COLUMNS.input);
  const scenario = take(COLUMNS.scenario);
  if (pass === null && expected === null && scenario === null) return null;
  return { id, requirements, pass, expected, type, input, scenario };
}

function scenarioOf(row: TableRow, columns: Columns, known: readonly string[]): LldScenario {
  const cell = (index: number | null) => (index === null ? '' : (row.cells[index] ?? ''));
  const scenario = cell(columns.scenario);
  const named = requirementReferences(cell(columns.requirements), known);
  const requirements =
    named.length > 0 || cell(columns.requirements) !== '' ? named : citedRequirements(row.cells.join(' '), known);
  return {
    id: cell(columns.id).replace(/[`*]/g, '').trim(),
    scenario,
    type: cell(columns.type),
    input: cell(columns.input),
    expected: cell(columns.expected),
    pass: cell(columns.pass),
    requirements: [...requirements],
    line: row.line,
    typeCell: cellAt(row, columns.type),
  };
}

function cellAt({ nodes }: TableRow, column: number | null): LldScenario['typeCell'] {
  const position = column === null ? undefined : nodes[column]?.position;
  const start = position?.start.offset;
  const end = position?.end.offset;
  return start === undefined || end === undefined ? null : { start, end };
}

/** A guard holds before the change and after it; every other scenario fails until the code is there. */
export function isGuard({ type }: Pick<LldScenario, 'type'>): boolean {
  return /^\W*guards?\b/i.test(type);
}

/** Whether a name contains a scenario's id as a number of its own: `010` is in `test_010_empty`, not in `10100`. */
export function namesScenario(name: string, id: string): boolean {
  return new RegExp(`(?<![0-9])${digitsOf(id)}(?![0-9])`, 'i').test(name);
}

function digitsOf(id: string): string {
  const digits = /\d+[a-z]?/i.exec(id)?.[0] ?? id;
  return digits.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** A table from requirements to tests, read as pairs; nothing for any other table. */
function traceOf(table: DocumentTable, known: readonly string[]): { requirement: string; test: string }[] {
  const tests = columnNamed(table, TESTS);
  const described = [COLUMNS.pass, COLUMNS.expected, COLUMNS.input, COLUMNS.type].some(
    (names) => columnNamed(table, names) !== null,
  );
  if (tests === null || described) return [];
  const requirement = [/^(?:#|requirement #|req(?:uirement)? ?(?:id|#|no))$/, /^req(?:uirement)?s?$/]
    .map((header) => columnNamed(table, [header], [tests]))
    .find(
      (column) =>
        column !== null && table.rows.some((row) => requirementReferences(row.cells[column] ?? '', []).length > 0),
    );
  const namesRequirements = table.headers.some((header, at) => at !== tests && /^req(?:uirement)?/.test(header));
  if (requirement === undefined || requirement === null || !namesRequirements) return [];
  return table.rows.flatMap((row) => {
    const ids = (row.cells[tests] ?? '').match(/[A-Za-z]{0,4}-?\d{1,4}/g) ?? [];
    return requirementReferences(row.cells[requirement] ?? '', known).flatMap((id) =>
      ids.map((test) => ({ requirement: id, test })),
    );
  });
}

/** `T010` and `010` are the same test. */
function sameTest(a: string, b: string): boolean {
  return testNumber(a) === testNumber(b);
}

export function testNumber(id: string): string {
  return id.replace(/^[^\d]*0*(?=\d)/, '').toLowerCase();
}
