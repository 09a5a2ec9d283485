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
  /** Ids that only one of two tables of the same scenarios has, such as a test plan of names and the full table. */
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

type Columns = Record<'id' | keyof typeof COLUMNS, number | null>;

/**
 * Scenarios from the tables of section 10. Where some tables have pass criteria and others don't (a test plan of names
 * beside the full table), the full ones count. The rest, a table that lists the same scenarios again, and a table from
 * requirements to tests only add the requirements that a scenario covers.
 */
export function readScenarios(section: DocumentSection | undefined, known: readonly string[]): Scenarios {
  const tables = tablesIn(section?.nodes ?? []);
  const lists = tables.flatMap((table) => {
    const columns = isTrace(table) ? null : columnsOf(table);
    return columns ? [{ table, columns, scenarios: table.rows.map((row) => scenarioOf(row, columns, known)) }] : [];
  });
  const full = lists.filter(({ columns }) => columns.pass !== null);
  const counted = withoutRepeats(full.length > 0 ? full : lists);
  const scenarios = counted.flatMap((list) => list.scenarios);
  const others = lists.filter((list) => !counted.includes(list)).flatMap((list) => list.scenarios);
  const traced = tables.filter(isTrace).flatMap((table) => tracesIn(table, known));
  for (const { id, requirements } of [...others, ...traced]) {
    const same = scenarios.find((scenario) => testNumber(scenario.id) === testNumber(id));
    if (same) same.requirements = [...new Set([...same.requirements, ...requirements])];
  }
  return {
    scenarios,
    line: counted[0]?.table.line ?? null,
    hasPassColumn: full.length > 0,
    oneSided: others.length === 0 ? [] : [...missingFrom(scenarios, others), ...missingFrom(others, scenarios)],
  };
}

/** Tables that list other scenarios than those before them: one that shares an id lists the same ones again. */
function withoutRepeats<T extends { scenarios: LldScenario[] }>(lists: readonly T[]): T[] {
  const numbers = new Set<string>();
  return lists.filter(({ scenarios }) => {
    const own = scenarios.filter(({ id }) => id !== '').map(({ id }) => testNumber(id));
    if (own.some((number) => numbers.has(number))) return false;
    for (const number of own) numbers.add(number);
    return true;
  });
}

/** A table from requirements to tests, with nothing that describes a scenario. */
function isTrace(table: DocumentTable): boolean {
  const { pass, expected, input, type } = COLUMNS;
  const isNamed = (names: RegExp[]): boolean => columnNamed(table, names) !== null;
  const isOfRequirements = table.headers.some((name) => name.startsWith('req'));
  return isOfRequirements && isNamed(TESTS) && ![pass, expected, input, type].some(isNamed);
}

function tracesIn(table: DocumentTable, known: readonly string[]): Pick<LldScenario, 'id' | 'requirements'>[] {
  const tests = columnNamed(table, TESTS) ?? 0;
  const named = columnNamed(table, [/^(?:#|req\w* (?:id|#|no))$/, /^req/], [tests]) ?? 0;
  return table.rows.flatMap(({ cells }) => {
    const requirements = requirementReferences(cells[named] ?? '', known);
    return ((cells[tests] ?? '').match(/[A-Za-z]{0,4}-?\d{1,4}/g) ?? []).map((id) => ({ id, requirements }));
  });
}

/** Ids of the second list that the first does not have. */
function missingFrom(list: LldScenario[], of: LldScenario[]): string[] {
  return of
    .filter(({ id }) => id !== '' && !list.some((other) => testNumber(other.id) === testNumber(id)))
    .map(({ id }) => id);
}

function columnsOf(table: DocumentTable): Columns | null {
  const isNumbered = (at: number): boolean =>
    table.rows.length > 0 && table.rows.every(({ cells }) => SCENARIO_ID.test(cells[at] ?? ''));
  const byContent = table.headers.findIndex(
    (name, at) => /^(?:tests?|scenarios?|cases?|tc|)$/.test(name) && isNumbered(at),
  );
  const id = columnNamed(table, ID) ?? (byContent < 0 ? null : byContent);
  if (id === null) return null;
  const taken = [id];
  const names = Object.entries(COLUMNS).map(([name, patterns]) => {
    const index = columnNamed(table, patterns, taken);
    if (index !== null) taken.push(index);
    return [name, index];
  });
  const columns: Columns = { id, ...(Object.fromEntries(names) as Omit<Columns, 'id'>) };
  const { pass, expected, scenario } = columns;
  return pass === null && expected === null && scenario === null ? null : columns;
}

function scenarioOf(row: TableRow, columns: Columns, known: readonly string[]): LldScenario {
  const cell = (index: number | null): string => (index === null ? '' : (row.cells[index] ?? ''));
  const cited = cell(columns.requirements);
  const position = columns.type === null ? undefined : row.nodes[columns.type]?.position;
  return {
    id: cell(columns.id).replace(/[`*]/g, '').trim(),
    scenario: cell(columns.scenario),
    type: cell(columns.type),
    input: cell(columns.input),
    expected: cell(columns.expected),
    pass: cell(columns.pass),
    requirements: cited === '' ? citedRequirements(row.cells.join(' '), known) : requirementReferences(cited, known),
    line: row.line,
    typeCell: position ? { start: position.start.offset ?? 0, end: position.end.offset ?? 0 } : null,
  };
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

/** `T010` and `010` are the same test. */
export function testNumber(id: string): string {
  return id.replace(/^[^\d]*0*(?=\d)/, '').toLowerCase();
}
