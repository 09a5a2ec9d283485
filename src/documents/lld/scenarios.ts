import type { Nodes } from 'mdast';
import { columnNamed, columnsOf, type DocumentTable, type TableRow, tablesIn } from '../../markdown/tables.ts';
import { citedRequirements, requirementName, requirementReferences } from '../coverage.ts';
import { type DocumentFinding, error, quote, warning } from '../finding.ts';
import { filledSection } from '../sections.ts';
import type { LldDocument } from './document.ts';

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
  const id = columnNamed(table, ID);
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

/** The area under which a reviewer names scenarios that hold already. */
export const GUARD_AREA = 'Guard';

/** Says of a scenario, by its id, that it holds already. In whatever tier it stands, it holds nothing back. */
export function isGuardFinding({ area, text }: { area: string; text: string }): boolean {
  return area === GUARD_AREA && /\b\d{3}[a-z]?\b/i.test(text) && !/\b(?:not?|never)\b[^.\n]*\bguards?\b/i.test(text);
}

/** Numbers with a unit are not ids. */
const AMOUNT = /\b\d+ ?(?:%|(?:ms|s|seconds?|minutes?|bytes?|[kmg]b|lines?|files?|items?|times)\b)/gi;

/** The scenarios that findings in the area Guard name by their ids. */
export function guardsIn<Scenario extends Pick<LldScenario, 'id'>>(
  { findings }: { findings: { area: string; text: string }[] },
  scenarios: readonly Scenario[],
): Scenario[] {
  const said = findings.filter(isGuardFinding).map(({ text }) => text.replace(AMOUNT, ''));
  return scenarios.filter(({ id }) => said.some((text) => namesScenario(text, id)));
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

const SCENARIO_COLUMNS = 'ID, Scenario, Type, Input, Expected Output, Pass Criteria, Requirements';

/**
 * `scenario-none`, `scenario-id`, `scenario-tables`, `scenario-manual`, `scenario-guards`, `scenario-no-requirement`,
 * `scenario-unknown-requirement`, `pass-criteria-vague`.
 */
export function checkScenarios(lld: LldDocument): DocumentFinding[] {
  const { oneSided, scenarios, hasPassColumn } = lld;
  const section = filledSection(lld, '10');
  if (!section) return [];
  const line = lld.scenariosLine ?? section.line;
  const none = `Section 10 has no table of scenarios with rows: add one with the columns ${SCENARIO_COLUMNS}.`;
  if (scenarios.length === 0) return [error('scenario-none', line, none)];
  const differing = `Two tables of section 10 list different scenarios (${oneSided.join(', ')} in one of them only): list the same ids in both, or keep one table.`;
  const guards =
    'Every scenario is a guard, so no test shows that the change was made: add a scenario of type Auto, unless users see no change.';
  const noColumn =
    'The table of scenarios has no column "Pass Criteria": add it, with a condition that a program can check in each row.';
  return [
    ...scenarioIds(scenarios),
    ...(oneSided.length === 0 ? [] : [error('scenario-tables', line, differing)]),
    ...types(scenarios),
    // A refactoring may have guards only.
    ...(scenarios.every(isGuard) ? [warning('scenario-guards', line, guards)] : []),
    ...references(lld, line),
    ...(hasPassColumn ? scenarios.flatMap(criterion) : [error('pass-criteria-vague', line, noColumn)]),
  ];
}

function scenarioIds(scenarios: LldScenario[]): DocumentFinding[] {
  const seen = new Map<string, number>();
  const twice = scenarios.flatMap(({ id, line }) => {
    const before = id === '' ? undefined : seen.get(testNumber(id));
    seen.set(testNumber(id), before ?? line);
    if (before === undefined) return [];
    return [error('scenario-id', line, `Scenario ${id} is already on line ${before}: give each scenario its own id.`)];
  });
  // Another numbering is one mistake.
  const [first, ...more] = scenarios.filter(({ id }) => !/^\d{2,3}0$/.test(id));
  if (first === undefined) return twice;
  const others = more.length === 0 ? '' : ` and ${more.length} more`;
  const what = first.id === '' ? `A scenario has no id${others}` : `Scenario id ${quote(first.id)}${others}`;
  return [...twice, warning('scenario-id', first.line, `${what}: use three digits in steps of ten (010, 020, 030).`)];
}

/** The same wrong type in many rows is one mistake. */
function types(scenarios: LldScenario[]): DocumentFinding[] {
  const other = scenarios.filter(({ type, typeCell }) => typeCell !== null && !/^\W*(?:auto|guard)/i.test(type));
  return [...Map.groupBy(other, ({ type }) => type)].map(([said, same]) => {
    const ids = same.map(({ id }) => id).join(', ');
    const who = same.length === 1 ? `Scenario ${ids} has` : `Scenarios ${ids} have`;
    const what = said === '' ? 'no type' : `the type ${quote(said)}`;
    const message = `${who} ${what}: let a program check it, and set the type to Auto or Guard.`;
    return error('scenario-manual', same[0]?.line ?? 1, message);
  });
}

function references({ requirements, scenarios }: LldDocument, tableLine: number): DocumentFinding[] {
  if (requirements.length === 0) return [];
  const rule = 'scenario-no-requirement';
  const known = new Set(requirements.map(({ id }) => id));
  const covered = new Set(scenarios.flatMap((scenario) => scenario.requirements));
  const none = 'No scenario names a requirement: add a column "Requirements", with ids such as REQ-1 in each row.';
  if (covered.size === 0) return [error(rule, tableLine, none)];
  // If every requirement is covered, an extra scenario does no harm.
  const report = [...known].every((id) => covered.has(id)) ? warning : error;
  return scenarios.flatMap(({ id, requirements: named, line }) => {
    const name = id === '' ? 'A scenario' : `Scenario ${id}`;
    const advice = 'name the one of section 3 that it covers, such as REQ-1';
    if (named.length === 0) return [report(rule, line, `${name} names no requirement: ${advice}.`)];
    const unknown = named.filter((requirement) => !known.has(requirement)).map(requirementName);
    const message = `${name} names ${unknown.join(', ')}, which is not in section 3: correct the number, or add the requirement.`;
    return unknown.length === 0 ? [] : [error('scenario-unknown-requirement', line, message)];
  });
}

/*
 * Phrases that often hide a gap. The reviewer judges what a sentence means, so these only warn, and the lists stay short. Only
 * a pass criterion that is nothing but an empty word is an error, because the cell alone decides that.
 */
const EMPTY =
  /^\W*(?:|n\/?a|none|tbd|tba|todo|pending|unknown|ok(?:ay)?|yes|pass(?:es|ed)?|test passes|success(?:ful(?:ly)?)?|(?:it |this |everything |the \w+ )?works?(?: (?:correctly|properly|fine|well|as (?:expected|intended|designed)))?|(?:is |are )?correct|as (?:expected|intended|designed)|behaves as expected|looks (?:good|right|fine)|see above)\W*$/i;
const VAGUE =
  /\b(?:works?|behaves?|functions|handled|performs|renders) (?:correctly|properly|gracefully|as (?:expected|intended))\b|\b(?:user-friendly|reasonable|appropriate|acceptable|fast enough|intuitive)\b/i;
const BY_HAND =
  /\b(?:manually|manual (?:check|test|review|inspection|verification)|by (?:hand|eye)|visual(?:ly)? (?:inspect|check|verif|confirm)\w*|eyeball)/i;

/** Whether a criterion has nothing that a program could compare. */
export function isEmptyCriterion(text: string): boolean {
  return EMPTY.test(text.replace(/[*_`]/g, ''));
}

function criterion({ id, pass, expected, scenario, line }: LldScenario): DocumentFinding[] {
  const [rule, decide] = ['pass-criteria-vague', 'name the value, message, state or exit code that decides'];
  const empty = pass === '' ? 'are empty' : `${quote(pass)} can't be checked by a program`;
  if (isEmptyCriterion(pass)) return [error(rule, line, `The pass criteria of scenario ${id} ${empty}: ${decide}.`)];
  if (VAGUE.test(pass)) return [warning(rule, line, `Scenario ${id} passes when ${quote(pass)}: ${decide}.`)];
  const hand = BY_HAND.exec(`${scenario} ${expected} ${pass}`)?.[0];
  if (hand === undefined) return [];
  return [warning('scenario-manual', line, `Scenario ${id} says ${quote(hand)}: let a program check it.`)];
}
