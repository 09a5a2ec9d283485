import { codeIn, lineOf } from '../../markdown/markdown.ts';
import { mermaidProblem } from '../../markdown/mermaid.ts';
import { type Coverage, type Covering, checkEntries, coverageOf, type EntryWords } from '../coverage.ts';
import { type DocumentFinding, error, quote, warning } from '../finding.ts';
import template from '../lld-template.md';
import { checkPhrases, isEmptyCriterion } from '../phrases.ts';
import { checkOpenQuestions } from '../questions.ts';
import { checkOutline, isNotApplicable } from '../sections.ts';
import { createLeftoverText, leftover } from '../template-text.ts';
import { isMermaid, type LldDocument, readLld } from './document.ts';
import { type BaseTree, checkFilesTable, checkPaths } from './files.ts';
import { checkIssueNumber } from './issue-number.ts';
import { requirementName } from './requirements.ts';
import { isGuard, type LldScenario, testNumber } from './scenarios.ts';
import { LLD_SECTIONS } from './sections.ts';

export type { BaseTree } from './files.ts';

export interface LldCheck {
  /** In document order. */
  findings: DocumentFinding[];
  coverage: Coverage;
}

/** Runs every mechanical rule on one parse of the document. Deterministic: reads nothing but the text and `tree`. */
export function checkLld(
  text: string,
  { issueId = null, tree = null }: { issueId?: string | null; tree?: BaseTree | null } = {},
): LldCheck {
  const lld = readLld(text);
  // Findings on the same line keep this order, from the general to the particular.
  const findings = [
    ...checkOutline(lld, LLD_SECTIONS),
    ...checkWhole(lld),
    ...checkIssueNumber(lld, issueId),
    ...checkOpenQuestions(lld.openQuestions),
    ...checkFilesTable(lld),
    ...checkPaths(lld, tree),
    ...checkRequirements(lld),
    ...checkMermaid(lld),
    ...checkScenarios(lld),
    ...checkPhrases(lld),
    ...checkTemplateText(lld),
  ];
  const coverage = coverageOf(lld.requirements, coveringIn(lld));
  return { findings: findings.toSorted((a, b) => a.line - b.line), coverage };
}

const MOST_LINES = 400;

/** `second-document`, `lld-size`. */
function checkWhole({ text, sections, secondTitleLine, titleLine }: LldDocument): DocumentFinding[] {
  const lines = text.trimEnd().split('\n').length;
  const [long] = sections.toSorted((a, b) => b.lines - a.lines);
  const second = 'A second document begins here: delete it, and keep only the LLD.';
  const most = long === undefined ? '' : ` (most are in ${quote(long.title)})`;
  const size = `The LLD has ${lines} lines, about 200 are usual: shorten it${most}, or split the issue.`;
  return [
    ...(secondTitleLine === null ? [] : [error('second-document', secondTitleLine, second)]),
    ...(lines <= MOST_LINES ? [] : [warning('lld-size', titleLine, size)]),
  ];
}

const REQUIREMENTS: EntryWords = {
  one: 'requirement',
  form: 'them in section 3 as a list "1. …", each one testable',
  by: 'scenario in section 10',
  nameOf: requirementName,
};

function coveringIn({ scenarios }: LldDocument): Covering[] {
  return scenarios.map(({ id, requirements }) => ({ name: id, covers: requirements }));
}

/** `requirement-none`, `requirement-many`, `requirement-duplicate`, `requirement-uncovered`. */
function checkRequirements(lld: LldDocument): DocumentFinding[] {
  const section = lld.sections.find(({ id }) => id === '3');
  if (!section || section.nodes.length === 0) return [];
  return checkEntries(REQUIREMENTS, { line: section.line, entries: lld.requirements, covering: coveringIn(lld) });
}

/** `mermaid`: section 6 has a diagram or the reason why not, and every diagram parses. */
function checkMermaid(lld: LldDocument): DocumentFinding[] {
  const broken = lld.mermaid.flatMap((code) => {
    const problem = mermaidProblem(code.value);
    return problem === null
      ? []
      : [error('mermaid', lineOf(code), `The Mermaid diagram does not parse, ${problem}: correct it.`)];
  });
  const section = lld.sections.find(({ id }) => id === '6');
  if (!section || section.nodes.length === 0 || isNotApplicable(section)) return broken;
  const blocks = section.nodes.flatMap((node) => codeIn(node));
  if (blocks.some(isMermaid)) return broken;
  const unmarked = blocks.find((code) => !code.lang && mermaidProblem(code.value) === null);
  const missing = unmarked
    ? 'The diagram of section 6 is not marked as Mermaid: begin its fence with "```mermaid".'
    : 'Section 6 has no Mermaid diagram: add a "```mermaid" block, or write "N/A – " and the reason.';
  return [error('mermaid', unmarked ? lineOf(unmarked) : section.line, missing), ...broken];
}

const SCENARIO_COLUMNS = 'ID, Scenario, Type, Input, Expected Output, Pass Criteria, Requirements';

/**
 * `scenario-none`, `scenario-id`, `scenario-tables`, `scenario-manual`, `scenario-guards`, `scenario-no-requirement`,
 * `scenario-unknown-requirement`.
 */
function checkScenarios(lld: LldDocument): DocumentFinding[] {
  const { oneSided, scenarios } = lld;
  const section = lld.sections.find(({ id }) => id === '10');
  if (!section || section.nodes.length === 0) return [];
  const line = lld.scenariosLine ?? section.line;
  const none = `Section 10 has no table of scenarios with rows: add one with the columns ${SCENARIO_COLUMNS}.`;
  if (scenarios.length === 0) return [error('scenario-none', line, none)];
  const differing = `Two tables of section 10 list different scenarios (${oneSided.join(', ')} in one of them only): list the same ids in both, or keep one table.`;
  const guards =
    'Every scenario is a guard, so no test shows that the change was made: add a scenario of type Auto, unless users see no change.';
  return [
    ...scenarioIds(scenarios),
    ...(oneSided.length === 0 ? [] : [error('scenario-tables', line, differing)]),
    ...types(scenarios),
    // A refactoring may have guards only.
    ...(scenarios.every(isGuard) ? [warning('scenario-guards', line, guards)] : []),
    ...references(lld, line),
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
    if (named.length === 0)
      return [
        report(rule, line, `${name} names no requirement: name the one of section 3 that it covers, such as REQ-1.`),
      ];
    const unknown = named.filter((requirement) => !known.has(requirement)).map(requirementName);
    const message = `${name} names ${unknown.join(', ')}, which is not in section 3: correct the number, or add the requirement.`;
    return unknown.length === 0 ? [] : [error('scenario-unknown-requirement', line, message)];
  });
}

const leftoversIn = createLeftoverText(template);

/** `template-text`, `elided-text`. */
function checkTemplateText(lld: LldDocument): DocumentFinding[] {
  const paths = lld.files.filter(({ path }) => path.startsWith('path/to/'));
  // Another rule reports these lines more precisely.
  const issues = [lld.titleIssue, lld.contextIssue].flatMap((mention) => (mention?.id === null ? [mention] : []));
  const criteria = lld.scenarios.filter(({ pass }) => isEmptyCriterion(pass));
  const reported = new Set([...issues, ...criteria].map(({ line }) => line));
  const all = [...leftoversIn(lld), ...paths.map(({ path, line }) => leftover(line, path))];
  return all.filter(({ line, severity }) => severity === 'warning' || reported.size < reported.add(line).size);
}
