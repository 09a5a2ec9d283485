import { codeIn, lineOf } from '../../markdown/markdown.ts';
import { mermaidProblem } from '../../markdown/mermaid.ts';
import { type Coverage, checkEntries, coverageOf, requirementName } from '../coverage.ts';
import { type DocumentFinding, error, quote, warning } from '../finding.ts';
import template from '../lld-template.md';
import { checkOpenQuestions } from '../questions.ts';
import { checkOutline, filledSection, isNotApplicable } from '../sections.ts';
import { checkLeftovers, leftover } from '../template-text.ts';
import {
  type IssueMention,
  isMermaid,
  LLD_SECTIONS,
  type LldDocument,
  readLld,
  sameIssue,
  TITLE_PREFIX,
} from './document.ts';
import { type BaseTree, checkFilesTable, checkPaths } from './files.ts';
import { checkScenarios, isEmptyCriterion } from './scenarios.ts';

export type { BaseTree } from './files.ts';

/** Runs every mechanical rule on one parse of the document. Deterministic: reads nothing but the text and `tree`. */
export function checkLld(
  text: string,
  { issueId = null, tree = null }: { issueId?: string | null; tree?: BaseTree | null } = {},
): { findings: DocumentFinding[]; coverage: Coverage } {
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

/** `issue-number`: the title and section 1 name the issue, the same one, and the one that was asked for. */
function checkIssueNumber(lld: LldDocument, issueId: string | null): DocumentFinding[] {
  const { title, titleIssue, contextIssue } = lld;
  const context = filledSection(lld, '1');
  const id = issueId ?? titleIssue?.id ?? contextIssue?.id ?? '<issue>';
  // The id that was asked for is never a placeholder, even if it is `issue-5` or `none`.
  const isAsked = (text: string, before: string): boolean => issueId !== null && hasId(text, issueId, before);
  const inTitle = [title, title.replace(TITLE_PREFIX, '')].some((text) => isAsked(text, '^\\W*'))
    ? null
    : problemOf(title === '' ? 'The document without a title' : 'The title', titleIssue, issueId);
  const inContext = isAsked(contextIssue?.text ?? '', '(?<![\\p{L}\\p{N}_])')
    ? null
    : problemOf('Section 1', contextIssue, issueId);
  const [one, other] = [titleIssue?.id ?? null, contextIssue?.id ?? null];
  const differ =
    issueId === null && one !== null && other !== null && !hasId(contextIssue?.text ?? '', one, '(?<!\\w)');
  const line = contextIssue?.line ?? context?.line ?? 1;
  const found: [what: string | null | false, line: number, advice: string][] = [
    [inTitle, lld.titleLine, `write "# ${id} - Feature: <title>"`],
    // An empty section has its own finding.
    [context ? inContext : null, line, `write "* **Issue:** #${id}"`],
    // Either of the two may be right.
    [differ && `The title names issue ${one} and section 1 links ${other}`, line, 'name the same issue in both'],
  ];
  return found.flatMap(([what, at, advice]) => (what ? [error('issue-number', at, `${what}: ${advice}.`)] : []));
}

/** Whether the text has this id behind `before`. `137-Feature` begins with 137, but `add-login` does not begin with `add`. */
function hasId(text: string, id: string, before: string): boolean {
  const behind = /^\d+$/.test(id) ? String.raw`(?![\p{L}\p{N}_])(?!-\d)` : String.raw`(?![\p{L}\p{N}_-])`;
  const plain = id.replace(/^0+(?=\d+$)/, '');
  // In Markdown `__init__` is the word init in bold.
  const bold = id.replace(/^(_{1,3})([^_].*[^_]|[^_])\1$/, '$2');
  return new RegExp(`${before}(?:0*${plain}|${bold})${behind}`, 'iu').test(text);
}

/** What is wrong with a place that should name the issue, or null. */
function problemOf(place: string, mention: IssueMention | null, issueId: string | null): string | null {
  if (!mention) return `${place} does not name its issue`;
  if (mention.id === null) return `${place} has ${quote(mention.text)} in place of the issue number`;
  return issueId === null || sameIssue(mention.id, issueId)
    ? null
    : `${place} names issue ${mention.id}, not ${issueId}`;
}

function coveringIn({ scenarios }: LldDocument): { name: string; covers: readonly string[] }[] {
  return scenarios.map(({ id, requirements }) => ({ name: id, covers: requirements }));
}

/** `requirement-none`, `requirement-many`, `requirement-duplicate`, `requirement-uncovered`. */
function checkRequirements(lld: LldDocument): DocumentFinding[] {
  const section = filledSection(lld, '3');
  if (!section) return [];
  const words = {
    one: 'requirement',
    form: 'them in section 3 as a list "1. …", each one testable',
    by: 'scenario in section 10',
    nameOf: requirementName,
  };
  return checkEntries(words, { line: section.line, entries: lld.requirements, covering: coveringIn(lld) });
}

/** `mermaid`: section 6 has a diagram or the reason why not, and every diagram parses. */
function checkMermaid(lld: LldDocument): DocumentFinding[] {
  const broken = lld.mermaid.flatMap((code) => {
    const problem = mermaidProblem(code.value);
    return problem === null
      ? []
      : [error('mermaid', lineOf(code), `The Mermaid diagram does not parse, ${problem}: correct it.`)];
  });
  const section = filledSection(lld, '6');
  if (!section || isNotApplicable(section)) return broken;
  const blocks = section.nodes.flatMap((node) => codeIn(node));
  if (blocks.some(isMermaid)) return broken;
  const unmarked = blocks.find((code) => !code.lang && mermaidProblem(code.value) === null);
  const missing = unmarked
    ? 'The diagram of section 6 is not marked as Mermaid: begin its fence with "```mermaid".'
    : 'Section 6 has no Mermaid diagram: add a "```mermaid" block, or write "N/A – " and the reason.';
  return [error('mermaid', unmarked ? lineOf(unmarked) : section.line, missing), ...broken];
}

/** `template-text`, `elided-text`. */
function checkTemplateText(lld: LldDocument): DocumentFinding[] {
  const paths = lld.files.filter(({ path }) => path.startsWith('path/to/'));
  // Another rule reports these lines more precisely.
  const issues = [lld.titleIssue, lld.contextIssue].flatMap((mention) => (mention?.id === null ? [mention] : []));
  const criteria = lld.scenarios.filter(({ pass }) => isEmptyCriterion(pass));
  const reported = new Set([...issues, ...criteria].map(({ line }) => line));
  const all = [...checkLeftovers(lld, template), ...paths.map(({ path, line }) => leftover(line, path))];
  return all.filter(({ line, severity }) => severity === 'warning' || reported.size < reported.add(line).size);
}
