import type { Nodes } from 'mdast';
import { type Coverage, coverageOf } from '../coverage.ts';
import { type DocumentFinding, error, quote, warning } from '../finding.ts';
import template from '../issue-template.md';
import { checkOpenQuestions } from '../lld/rules.ts';
import { lineOf, markedText } from '../markdown.ts';
import { isEmptyCriterion } from '../phrases.ts';
import { checkOutline } from '../sections.ts';
import { createLeftoverText, elisionsIn } from '../template-text.ts';
import { ISSUE_SECTIONS, type IssueDocument, type References, readIssueDocument } from './document.ts';

export interface IssueCheck {
  /** In document order. */
  findings: DocumentFinding[];
  /** Which requirements an acceptance criterion settles. */
  coverage: Coverage;
}

/** Every mechanical rule on one parse of the issue. Deterministic: no clock, no file system. */
export function checkIssue(text: string): IssueCheck {
  const issue = readIssueDocument(text);
  const findings = [
    ...checkWhole(issue),
    ...checkOutline(issue, ISSUE_SECTIONS),
    ...checkCoverage(issue),
    ...checkCriteria(issue),
    ...checkUndecided(issue),
    ...checkOpenQuestions(issue),
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

/** What one design and one branch can hold. How much is too much is for the reviewer to judge. */
const MOST_REQUIREMENTS = 20;

/** `title`, `issue-size`. */
function checkWhole({ title, titleLine, requirements }: IssueDocument): DocumentFinding[] {
  const size = `The issue has ${requirements.length} requirements, and ${MOST_REQUIREMENTS} are what one change can hold: see whether a part of it is useful on its own.`;
  return [
    ...(title === ''
      ? [error('title', titleLine, 'The issue has no title: begin with "# " and what will be different.')]
      : []),
    ...(requirements.length > MOST_REQUIREMENTS ? [warning('issue-size', titleLine, size)] : []),
  ];
}

type Kind = keyof References;

const WORDS: Record<Kind, { one: string; letter: string; form: string }> = {
  scenarios: { one: 'scenario', letter: 'S', form: '"- **S1 – name:** …"' },
  requirements: { one: 'requirement', letter: 'R', form: '"1. …"' },
};

/**
 * `scenario-none`, `scenario-duplicate`, `scenario-uncovered`, the same for requirements, `criterion-none`,
 * `criterion-unknown-reference`, `criterion-unlinked`.
 */
function checkCoverage(issue: IssueDocument): DocumentFinding[] {
  return [...numbering(issue, 'scenarios'), ...numbering(issue, 'requirements'), ...criteria(issue)];
}

/** Where a section has content, it has entries; each has its own number and a criterion that names it. */
function numbering(issue: IssueDocument, kind: Kind): DocumentFinding[] {
  const { one, form } = WORDS[kind];
  const section = sectionWithContent(issue, kind);
  if (section === null) return [];
  const entries = issue[kind];
  if (entries.length === 0) {
    return [
      error(
        `${one}-none`,
        section,
        `There is no numbered ${one}: write each as ${form}, so that a criterion can name it.`,
      ),
    ];
  }
  const seen = new Set<string>();
  const covered = new Set(issue.criteria.flatMap((criterion) => criterion[kind]));
  return entries.flatMap(({ id, text, line }) => {
    const name = nameOf(kind, id);
    if (seen.has(id)) {
      return [error(`${one}-duplicate`, line, `${name} is there twice: number every ${one} in one sequence.`)];
    }
    seen.add(id);
    return covered.has(id) || issue.criteria.length === 0
      ? []
      : [
          error(
            `${one}-uncovered`,
            line,
            `No acceptance criterion settles ${name}, ${quote(text)}: add one that ends with "(${name})".`,
          ),
        ];
  });
}

function criteria(issue: IssueDocument): DocumentFinding[] {
  const section = sectionWithContent(issue, 'criteria');
  if (section === null) return [];
  if (issue.criteria.length === 0) {
    return [
      error(
        'criterion-none',
        section,
        'There is no acceptance criterion: write them as a checklist, "- [ ] … (S1, R1)".',
      ),
    ];
  }
  return issue.criteria.flatMap((criterion) => {
    const { label, line } = criterion;
    const unknown = (['scenarios', 'requirements'] as const).flatMap((kind) =>
      unknownIds(issue, kind, criterion[kind]).map((id) => nameOf(kind, id)),
    );
    if (unknown.length > 0) {
      const list = unknown.join(', ');
      return [
        error(
          'criterion-unknown-reference',
          line,
          `${label} names ${list}, which is not there: correct the number, or add what it means.`,
        ),
      ];
    }
    return criterion.scenarios.length + criterion.requirements.length > 0
      ? []
      : [
          warning(
            'criterion-unlinked',
            line,
            `${label} names no scenario and no requirement: end it with those that it settles, as in "(S1, R1)".`,
          ),
        ];
  });
}

function nameOf(kind: Kind, id: string): string {
  return /^\d/.test(id) ? `${WORDS[kind].letter}${id}` : id;
}

/** Without any entry the section itself is the finding. */
function unknownIds(issue: IssueDocument, kind: Kind, ids: string[]): string[] {
  const known = new Set(issue[kind].map(({ id }) => id));
  return known.size === 0 ? [] : ids.filter((id) => !known.has(id));
}

/** The line of the section, or null where it is missing or empty, which is said elsewhere. */
function sectionWithContent({ sections }: IssueDocument, id: Kind | 'criteria'): number | null {
  const section = sections.find((entry) => entry.id === id);
  return section && section.nodes.length > 0 ? section.line : null;
}

/** `criterion-vague`. */
function checkCriteria({ criteria: all }: IssueDocument): DocumentFinding[] {
  return all
    .filter(({ text }) => isEmptyCriterion(text))
    .map(({ label, text, line }) => {
      const what = text === '' ? 'says nothing' : `${quote(text)} cannot be checked by a program`;
      const message = `${label} ${what}: name the value, message, state or exit code that decides.`;
      return error('criterion-vague', line, message);
    });
}

const UNDECIDED = /\b(?:TBD|TBA|TBC|FIXME)\b|\bto be (?:determined|defined|decided|announced|confirmed)\b|\?{3,}/i;
const leftoversIn = createLeftoverText(template);

/** `template-text`, `elided-text`, `undecided`. The review log is left out: it cites what reviewers found. */
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
        return [error('undecided', lineOf(node) + index, `Something is left open (${quote(phrase)}): ${advice}.`)];
      });
  }
  return 'children' in node ? node.children.flatMap((child) => undecidedIn(child)) : [];
}
