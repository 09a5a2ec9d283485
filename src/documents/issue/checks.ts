import type { Nodes } from 'mdast';
import { type Coverage, coverageOf } from '../coverage.ts';
import { type DocumentFinding, error, quote, warning } from '../finding.ts';
import template from '../issue-template.md';
import { lineOf, markedText } from '../markdown.ts';
import { isEmptyCriterion } from '../phrases.ts';
import { checkOpenQuestions } from '../questions.ts';
import { checkOutline } from '../sections.ts';
import { createLeftoverText, elisionsIn } from '../template-text.ts';
import {
  ISSUE_SECTIONS,
  type IssueCriterion,
  type IssueDocument,
  type References,
  readIssueDocument,
} from './document.ts';

export interface IssueCheck {
  /** In document order. */
  findings: DocumentFinding[];
  /** Which requirements the acceptance criteria cover. */
  coverage: Coverage;
}

/** Runs every mechanical rule on one parse of the issue. Deterministic: reads nothing but the text. */
export function checkIssue(text: string): IssueCheck {
  const issue = readIssueDocument(text);
  const findings = [
    ...checkWhole(issue),
    ...checkOutline(issue, ISSUE_SECTIONS),
    ...checkCoverage(issue),
    ...checkUndecided(issue),
    ...checkOpenQuestions(issue.openQuestions),
  ].toSorted((a, b) => a.line - b.line);
  const requirements = new Map(issue.requirements.map(({ id, text: words }) => [id, words]));
  const rows = [...requirements].map(([requirement, words]) => ({
    requirement,
    text: words,
    scenarios: issue.criteria
      .filter((criterion) => criterion.requirements.includes(requirement))
      .map(({ label }) => label),
  }));
  return { findings, coverage: coverageOf(rows) };
}

const MOST_REQUIREMENTS = 20;

/** `title`, `issue-size`. */
function checkWhole({ title, titleLine, requirements }: IssueDocument): DocumentFinding[] {
  const size = `The issue has ${requirements.length} requirements, at most ${MOST_REQUIREMENTS} fit into one change: consider splitting it.`;
  const untitled = 'The issue has no title: begin with "# " and what will be different.';
  return [
    ...(title === '' ? [error('title', titleLine, untitled)] : []),
    ...(requirements.length > MOST_REQUIREMENTS ? [warning('issue-size', titleLine, size)] : []),
  ];
}

type Kind = keyof References;

const WORDS: Record<Kind, { one: string; letter: string; form: string }> = {
  scenarios: { one: 'scenario', letter: 'S', form: '"- **S1 – name:** …"' },
  requirements: { one: 'requirement', letter: 'R', form: '"1. …"' },
};
const KINDS = ['scenarios', 'requirements'] as const;

const nameOf = (kind: Kind, id: string): string => (/^\d/.test(id) ? `${WORDS[kind].letter}${id}` : id);

/**
 * `scenario-none`, `scenario-duplicate`, `scenario-uncovered`, the same for requirements, `criterion-none`,
 * `criterion-unknown-reference`, `criterion-unlinked`, `criterion-vague`. Missing and empty sections have their own rules.
 */
function checkCoverage(issue: IssueDocument): DocumentFinding[] {
  const lineOfSection = (id: string): number | null => {
    const section = issue.sections.find((entry) => entry.id === id);
    return section && section.nodes.length > 0 ? section.line : null;
  };
  const inCriteria = lineOfSection('criteria');
  const none = 'There is no acceptance criterion: write them as a checklist, "- [ ] … (S1, R1)".';
  return [
    ...KINDS.flatMap((kind) => {
      const line = lineOfSection(kind);
      return line === null ? [] : numbering(issue, kind, line);
    }),
    ...(inCriteria !== null && issue.criteria.length === 0 ? [error('criterion-none', inCriteria, none)] : []),
    ...issue.criteria.flatMap((criterion) => checkCriterion(issue, criterion)),
  ];
}

function numbering(issue: IssueDocument, kind: Kind, section: number): DocumentFinding[] {
  const { one, form } = WORDS[kind];
  const none = `There is no numbered ${one}: write each as ${form}, so that a criterion can name it.`;
  if (issue[kind].length === 0) return [error(`${one}-none`, section, none)];
  const seen = new Set<string>();
  const covered = new Set(issue.criteria.flatMap((criterion) => criterion[kind]));
  return issue[kind].flatMap(({ id, text, line }) => {
    const name = nameOf(kind, id);
    const twice = `${name} occurs twice: number every ${one} in one sequence.`;
    if (seen.has(id)) return [error(`${one}-duplicate`, line, twice)];
    seen.add(id);
    if (covered.has(id) || issue.criteria.length === 0) return [];
    const message = `No acceptance criterion covers ${name}, ${quote(text)}: add one that ends with "(${name})".`;
    return [error(`${one}-uncovered`, line, message)];
  });
}

function checkCriterion(issue: IssueDocument, criterion: IssueCriterion): DocumentFinding[] {
  const { label, line, text } = criterion;
  const unknown = KINDS.flatMap((kind) => {
    const known = new Set(issue[kind].map(({ id }) => id));
    // A section without entries has its own finding.
    return known.size === 0 ? [] : criterion[kind].filter((id) => !known.has(id)).map((id) => nameOf(kind, id));
  });
  const isLinked = criterion.scenarios.length + criterion.requirements.length > 0;
  const missing = `${label} names ${unknown.join(', ')}, which does not exist: correct the number, or add the entry.`;
  const unlinked = `${label} names no scenario and no requirement: end it with those that it covers, as in "(S1, R1)".`;
  const what = text === '' ? 'says nothing' : `${quote(text)} can't be checked by a program`;
  const vague = `${label} ${what}: name the value, message, state or exit code that decides.`;
  return [
    ...(unknown.length > 0 ? [error('criterion-unknown-reference', line, missing)] : []),
    ...(isLinked ? [] : [warning('criterion-unlinked', line, unlinked)]),
    ...(isEmptyCriterion(text) ? [error('criterion-vague', line, vague)] : []),
  ];
}

const UNDECIDED = /\b(?:TBD|TBA|TBC|FIXME)\b|\bto be (?:determined|defined|decided|announced|confirmed)\b|\?{3,}/i;
const leftoversIn = createLeftoverText(template);

/** `template-text`, `elided-text`, `undecided`. The review log is skipped, because it quotes findings. */
function checkUndecided(issue: IssueDocument): DocumentFinding[] {
  const except = (ids: string[]): Nodes[] => {
    const left = new Set<Nodes>(issue.sections.filter(({ id }) => ids.includes(id)).flatMap(({ nodes }) => nodes));
    return issue.root.children.filter((node) => !left.has(node));
  };
  const log = issue.sections.find(({ id }) => id === 'log');
  const leftovers = [...except(['log']).flatMap((node) => leftoversIn(node)), ...elisionsIn(issue.text, log)];
  const reported = new Set(leftovers.map(({ line }) => line));
  const undecided = except(['log', 'questions'])
    .flatMap((node) => undecidedIn(node))
    .filter(({ line }) => !reported.has(line));
  return [...leftovers, ...undecided];
}

function undecidedIn(node: Nodes): DocumentFinding[] {
  if (node.type === 'paragraph' || node.type === 'heading' || node.type === 'tableCell') {
    return markedText(node)
      .split('\n')
      .flatMap((text, index) => {
        const phrase = UNDECIDED.exec(text.replace(/`[^`]*`/g, '`…`'))?.[0];
        if (phrase === undefined) return [];
        const advice = 'decide it, or ask it under "Open Questions"';
        return [error('undecided', lineOf(node) + index, `Something is undecided (${quote(phrase)}): ${advice}.`)];
      });
  }
  return 'children' in node ? node.children.flatMap((child) => undecidedIn(child)) : [];
}
