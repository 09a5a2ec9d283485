import type { Nodes } from 'mdast';
import { type Coverage, coverageOf } from '../coverage.ts';
import { type DocumentFinding, error, quote, warning } from '../finding.ts';
import template from '../issue-template.md';
import { checkOpenQuestions, isContent } from '../lld/rules.ts';
import { lineOf, markedText } from '../markdown.ts';
import { isEmptyCriterion } from '../phrases.ts';
import { createLeftoverText, elisionsIn } from '../template-text.ts';
import { ISSUE_SECTIONS, type IssueDocument, type IssueSectionId, readIssueDocument } from './document.ts';
import type { References } from './references.ts';

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
    ...checkSections(issue),
    ...checkSize(issue),
    ...checkCoverage(issue),
    ...checkCriteria(issue),
    ...checkUndecided(issue),
    ...checkOpenQuestions(issue),
  ].toSorted((a, b) => a.line - b.line);
  const requirements = new Map(issue.requirements.map(({ number, text: words }) => [number, words]));
  const rows = [...requirements].map(([number, words]) => ({
    requirement: String(number),
    text: words,
    scenarios: issue.criteria.filter((criterion) => criterion.requirements.includes(number)).map(({ label }) => label),
  }));
  return { findings, coverage: coverageOf(rows) };
}

const ORDER = ISSUE_SECTIONS.map(({ id }) => id);
const LONGEST_TITLE = 200;
const STORY =
  /\bas (?:an?|the|any|every|some(?:one|body)|our)?\b[^]*\b(?:I|we|they) (?:want|need|can|would like|wish)\b/i;

/** `title`, `section-missing`, `section-empty`, `section-repeated`, `section-order`, `user-story`. */
function checkSections(issue: IssueDocument): DocumentFinding[] {
  return [
    ...title(issue),
    ...missing(issue),
    ...empty(issue),
    ...repeated(issue),
    ...misplaced(issue),
    ...story(issue),
  ];
}

function title({ title: text, titleLine }: IssueDocument): DocumentFinding[] {
  if (text === '') {
    return [error('title', titleLine, 'The issue has no title: begin with "# " and what will be different.')];
  }
  return text.length > LONGEST_TITLE
    ? [warning('title', titleLine, `The title has ${text.length} characters: say it in fewer than ${LONGEST_TITLE}.`)]
    : [];
}

function missing(issue: IssueDocument): DocumentFinding[] {
  const found = new Set(issue.sections.map(({ id }) => id));
  return ISSUE_SECTIONS.filter(({ id, required }) => required && !found.has(id)).map((section) =>
    error(
      'section-missing',
      lineBefore(issue, section.id),
      `The section ${quote(section.title)} is missing: add "## ${section.title}" with its content.`,
    ),
  );
}

/** The section after which the missing one belongs. */
function lineBefore({ sections, titleLine }: IssueDocument, id: IssueSectionId): number {
  const before = new Set(ORDER.slice(0, ORDER.indexOf(id)));
  return sections.filter((entry) => before.has(entry.id)).at(-1)?.section.line ?? titleLine;
}

function empty({ sections }: IssueDocument): DocumentFinding[] {
  const optional = new Set(ISSUE_SECTIONS.filter(({ required }) => !required).map(({ id }) => id));
  return sections
    .filter(({ id, section }) => !optional.has(id) && !section.all.some(isContent))
    .map(({ section }) =>
      error(
        'section-empty',
        section.line,
        `${quote(section.title)} is empty: fill it in, or say "None" and why nothing applies.`,
      ),
    );
}

function repeated({ repeatedSections }: IssueDocument): DocumentFinding[] {
  return repeatedSections.map(({ section }) =>
    warning(
      'section-repeated',
      section.line,
      `${quote(section.title)} stands here for the second time, and only the first is read: merge the two.`,
    ),
  );
}

function misplaced({ sections }: IssueDocument): DocumentFinding[] {
  let last = -1;
  return sections.flatMap(({ id, section }) => {
    const place = ORDER.indexOf(id);
    if (place >= last) {
      last = place;
      return [];
    }
    return [warning('section-order', section.line, `${quote(section.title)} stands out of order: see the template.`)];
  });
}

function story({ sections, text }: IssueDocument): DocumentFinding[] {
  const section = sections.find(({ id }) => id === 'story')?.section;
  if (!section?.own.some(isContent) || STORY.test(text.slice(section.start, section.end))) return [];
  return [
    warning('user-story', section.line, 'The user story does not say who wants what: "As …, I want …, so that …".'),
  ];
}

/** What one design and one branch can hold. How much is too much is for the reviewer to judge. */
const USUAL: { what: string; most: number; count: (issue: IssueDocument) => number }[] = [
  { what: 'scenarios', most: 8, count: ({ scenarios }) => scenarios.length },
  { what: 'requirements', most: 20, count: ({ requirements }) => requirements.length },
  { what: 'acceptance criteria', most: 20, count: ({ criteria }) => criteria.length },
  { what: 'words', most: 1_500, count: ({ text }) => text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0 },
];

/** `issue-size`: one issue is one change. */
function checkSize(issue: IssueDocument): DocumentFinding[] {
  return USUAL.filter(({ most, count }) => count(issue) > most).map(({ what, most, count }) =>
    warning(
      'issue-size',
      issue.titleLine,
      `The issue has ${count(issue)} ${what}, and ${most} are what one change can hold: see whether a part of it is useful on its own.`,
    ),
  );
}

type Kind = keyof References;

const WORDS: Record<Kind, { section: Kind; one: string; letter: string; form: string }> = {
  scenarios: { section: 'scenarios', one: 'scenario', letter: 'S', form: '"- **S1 – name:** …"' },
  requirements: { section: 'requirements', one: 'requirement', letter: 'R', form: '"1. …"' },
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
  const { one, letter, form } = WORDS[kind];
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
  const seen = new Set<number>();
  const covered = new Set(issue.criteria.flatMap((criterion) => criterion[kind]));
  return entries.flatMap(({ number, text, line }) => {
    const name = `${letter}${number}`;
    if (seen.has(number)) {
      return [error(`${one}-duplicate`, line, `${name} is there twice: number every ${one} in one sequence.`)];
    }
    seen.add(number);
    return covered.has(number) || issue.criteria.length === 0
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
      unknownNumbers(issue, kind, criterion[kind]).map((number) => `${WORDS[kind].letter}${number}`),
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

/** Without any entry the section itself is the finding. */
function unknownNumbers(issue: IssueDocument, kind: Kind, numbers: number[]): number[] {
  const known = new Set(issue[kind].map(({ number }) => number));
  return known.size === 0 ? [] : numbers.filter((number) => !known.has(number));
}

/** The line of the section, or null where it is missing or empty, which is said elsewhere. */
function sectionWithContent({ sections }: IssueDocument, id: Kind | 'criteria'): number | null {
  const section = sections.find((entry) => entry.id === id)?.section;
  return section && section.all.length > 0 ? section.line : null;
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
    const left = new Set<Nodes>(
      issue.sections.filter(({ id }) => ids.includes(id)).flatMap(({ section }) => section.all),
    );
    return issue.root.children.filter((node) => !left.has(node));
  };
  const log = issue.sections.find(({ id }) => id === 'log')?.section.line ?? Number.POSITIVE_INFINITY;
  const leftovers = [
    ...except(['log']).flatMap((node) => leftoversIn(node)),
    ...elisionsIn(issue.text).filter(({ line }) => line < log),
  ];
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
