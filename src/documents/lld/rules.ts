import { type DocumentFinding, error, quote, warning } from '../finding.ts';
import { checkOutline } from '../sections.ts';
import type { LldDocument } from './document.ts';
import { requirementName } from './requirements.ts';
import { isGuard, type LldScenario, testNumber } from './scenarios.ts';
import { LLD_SECTIONS } from './sections.ts';

const FILES_FORM = 'a table with the columns File, Change Type (Add, Modify or Delete) and Description';
const SCENARIO_COLUMNS = 'ID, Scenario, Type, Input, Expected Output, Pass Criteria, Requirements';
/** A usual change has about 200 lines. */
const MOST_LINES = 400;

/** The sections, `second-document`, `lld-size`. */
export function checkSections(lld: LldDocument): DocumentFinding[] {
  return [...checkOutline(lld, LLD_SECTIONS), ...whole(lld)];
}

/** One document of a readable size: the issue's own text does not belong below it. */
function whole({ text, sections, secondTitleLine, titleLine }: LldDocument): DocumentFinding[] {
  const lines = text.trimEnd().split('\n').length;
  const [long] = sections.toSorted((a, b) => b.lines - a.lines);
  const second = 'A second document begins here: keep the LLD alone, and delete the rest.';
  const most = long === undefined ? '' : ` (most stand under ${quote(long.title)})`;
  const size = `The LLD has ${lines} lines, and about 200 are usual: shorten it${most}, or split the issue.`;
  return [
    ...(secondTitleLine === null ? [] : [error('second-document', secondTitleLine, second)]),
    ...(lines <= MOST_LINES ? [] : [warning('lld-size', titleLine, size)]),
  ];
}

/** `files-table`: every row has a path of its own and a change type. */
export function checkFilesTable({ sections, files, unreadFiles, filesLine }: LldDocument): DocumentFinding[] {
  const finding = (line: number, message: string): DocumentFinding => error('files-table', line, message);
  const section = sections.find(({ id }) => id === '2.1') ?? sections.find(({ id }) => id === '2');
  if (!section || section.nodes.length === 0) return [];
  if (filesLine === null)
    return [finding(section.line, `No table of files can be read in section 2.1: list every file in ${FILES_FORM}.`)];
  const all = [...files, ...unreadFiles];
  const empty = 'The table of files has no rows: list every file that is added, modified or deleted.';
  const unnamed = 'A row of the table of files names no path: give the path from the root of the repository.';
  return [
    ...(all.length === 0 ? [finding(filesLine, empty)] : []),
    ...unreadFiles.map(({ path, change, line }) => {
      const what = change === '' ? 'has no change type' : `has the change type ${quote(change)}`;
      return finding(line, `${path || 'A row'} ${what}: use Add, Modify or Delete (a move is a Delete and an Add).`);
    }),
    ...all.filter(({ path }) => /^[.–—-]?$/.test(path)).map(({ line }) => finding(line, unnamed)),
    ...all
      .filter(({ path }) => path.includes('*'))
      .map(({ path, line }) => finding(line, `${path} is a pattern: list each file by its own path.`)),
    ...files.flatMap(({ path, line }, index) => {
      const before = files.slice(0, index).find((file) => file.path === path && path !== '');
      return before ? [finding(line, `${path} is already listed in line ${before.line}: give each file one row.`)] : [];
    }),
  ];
}

/** `requirement-none`, `requirement-duplicate`, `requirement-uncovered`. */
export function checkRequirements(lld: LldDocument): DocumentFinding[] {
  const section = lld.sections.find(({ id }) => id === '3');
  if (!section || section.nodes.length === 0) return [];
  if (lld.requirements.length === 0) {
    const message = 'Section 3 has no numbered requirement: write them as a list "1. …", each one testable.';
    return [error('requirement-none', section.line, message)];
  }
  return [...duplicates(lld), ...uncovered(lld)];
}

/** Numbers that begin again under each heading are one mistake. */
function duplicates({ requirements }: LldDocument): DocumentFinding[] {
  const again = requirements.filter(({ id }, index) => requirements.findIndex((other) => other.id === id) < index);
  const [first] = again;
  if (!first) return [];
  const ids = [...new Set(again.map(({ id }) => id))].join(', ');
  const message = `Requirement ${ids} is there more than once: number all requirements in one sequence.`;
  return [error('requirement-duplicate', first.line, message)];
}

function uncovered({ requirements, scenarios }: LldDocument): DocumentFinding[] {
  const covered = new Set(scenarios.flatMap((scenario) => scenario.requirements));
  // Where no scenario names any, that is said once, of the scenarios.
  if (covered.size === 0) return [];
  return requirements
    .filter(({ id }) => !covered.has(id))
    .map(({ id, text, line }) => {
      const message = `No scenario in section 10 covers requirement ${id}, ${quote(text)}: add one that names ${requirementName(id)}.`;
      return error('requirement-uncovered', line, message);
    });
}

/**
 * `scenario-none`, `scenario-id`, `scenario-tables`, `scenario-manual`, `scenario-guards`, `scenario-no-requirement`,
 * `scenario-unknown-requirement`.
 */
export function checkScenarios(lld: LldDocument): DocumentFinding[] {
  const section = lld.sections.find(({ id }) => id === '10');
  if (!section || section.nodes.length === 0) return [];
  const line = lld.scenariosLine ?? section.line;
  if (lld.scenarios.length === 0) {
    const message = `Section 10 has no table of scenarios with rows: add one with the columns ${SCENARIO_COLUMNS}.`;
    return [error('scenario-none', line, message)];
  }
  const { oneSided, scenarios } = lld;
  const differing = `Two tables of section 10 list different scenarios (${oneSided.join(', ')} in one of them only): list the same ids in both, or keep one table.`;
  const guards =
    'Every scenario is a guard, so that no test shows that the change is made: unless nothing changes for its users, add a scenario of type Auto.';
  return [
    ...ids(scenarios),
    ...(oneSided.length === 0 ? [] : [error('scenario-tables', line, differing)]),
    ...types(scenarios),
    // A refactoring may be so: nothing changes that a test could see.
    ...(scenarios.every(isGuard) ? [warning('scenario-guards', line, guards)] : []),
    ...references(lld, line),
  ];
}

function ids(scenarios: LldScenario[]): DocumentFinding[] {
  const seen = new Map<string, number>();
  return scenarios.flatMap(({ id, line }) => {
    if (id === '') return [warning('scenario-id', line, 'A scenario has no id: number them 010, 020, 030 and so on.')];
    const before = seen.get(testNumber(id));
    if (before !== undefined)
      return [error('scenario-id', line, `Scenario ${id} is already in line ${before}: give each one its own id.`)];
    seen.set(testNumber(id), line);
    return /^\d{2,3}0$/.test(id)
      ? []
      : [warning('scenario-id', line, `Scenario id ${quote(id)}: use three digits in steps of ten (010, 020, 030).`)];
  });
}

/** A column with words of its own is one mistake, however many rows it has. */
function types(scenarios: LldScenario[]): DocumentFinding[] {
  const other = scenarios.filter(({ type }) => type !== '' && !/^\W*(?:auto|guard)/i.test(type));
  return [...new Set(other.map(({ type }) => type))].flatMap((said) => {
    const same = other.filter(({ type }) => type === said);
    const [first] = same;
    if (!first) return [];
    const who =
      same.length === 1 ? `Scenario ${first.id} has` : `Scenarios ${same.map(({ id }) => id).join(', ')} have`;
    const message = `${who} the type ${quote(said)}: let a program check it, and set the type to Auto or Guard.`;
    return [error('scenario-manual', first.line, message)];
  });
}

function references({ requirements, scenarios }: LldDocument, tableLine: number): DocumentFinding[] {
  if (requirements.length === 0) return [];
  const rule = 'scenario-no-requirement';
  const known = new Set(requirements.map(({ id }) => id));
  const covered = new Set(scenarios.flatMap((scenario) => scenario.requirements));
  if (covered.size === 0) {
    const message = 'No scenario names a requirement: add a column "Requirements", with ids such as REQ-1 in each row.';
    return [error(rule, tableLine, message)];
  }
  // With everything covered, one more scenario does no harm.
  const report = [...known].every((id) => covered.has(id)) ? warning : error;
  return scenarios.flatMap(({ id, requirements: named, line }) => {
    const name = id === '' ? 'A scenario' : `Scenario ${id}`;
    if (named.length === 0)
      return [report(rule, line, `${name} names no requirement: say which one of section 3 it covers, such as REQ-1.`)];
    const unknown = named.filter((requirement) => !known.has(requirement)).map(requirementName);
    if (unknown.length === 0) return [];
    const message = `${name} names ${unknown.join(', ')}, which section 3 does not have: correct the number, or add the requirement.`;
    return [error('scenario-unknown-requirement', line, message)];
  });
}

/** `open-question`: for the reviewer to resolve, so it only warns. */
export function checkOpenQuestions({ openQuestions }: Pick<LldDocument, 'openQuestions'>): DocumentFinding[] {
  return openQuestions
    .filter(({ isOpen }) => isOpen)
    .map(({ line, question }) =>
      warning('open-question', line, `Open question, for the reviewer to resolve: ${quote(question)}.`),
    );
}
