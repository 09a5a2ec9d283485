import { type Coverage, type Covering, checkEntries, coverageOf, type EntryWords } from '../coverage.ts';
import { type DocumentFinding, error, quote, warning } from '../finding.ts';
import template from '../issue-template.md';
import { isEmptyCriterion } from '../phrases.ts';
import { checkOpenQuestions } from '../questions.ts';
import { checkOutline } from '../sections.ts';
import { createLeftoverText } from '../template-text.ts';
import { ISSUE_SECTIONS, type IssueDocument, type References, readIssueDocument } from './document.ts';

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
    ...KINDS.flatMap((kind) => checkKind(issue, kind)),
    ...checkCriteria(issue),
    ...leftoversIn(issue),
    ...checkOpenQuestions(issue.openQuestions),
  ].toSorted((a, b) => a.line - b.line);
  return { findings, coverage: coverageOf(issue.requirements, coveringIn(issue, 'requirements')) };
}

const leftoversIn = createLeftoverText(template);
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

const KINDS = ['scenarios', 'requirements'] as const;
const named = (letter: string) => (id: string) => (/^\d/.test(id) ? `${letter}${id}` : id);
const by = 'acceptance criterion';
const WORDS: Record<Kind, EntryWords> = {
  scenarios: { one: 'scenario', form: 'each as "- **S1 – name:** …"', by, nameOf: named('S') },
  requirements: { one: 'requirement', form: 'them as a list "1. …"', by, nameOf: named('R') },
};

function coveringIn({ criteria }: IssueDocument, kind: Kind): Covering[] {
  return criteria.map((criterion) => ({ name: criterion.label, covers: criterion[kind] }));
}

/** The line of a section, or null. Missing and empty sections have their own rules. */
function sectionLine({ sections }: IssueDocument, id: string): number | null {
  const section = sections.find((entry) => entry.id === id);
  return section && section.nodes.length > 0 ? section.line : null;
}

/** `scenario-none`, `scenario-many`, `scenario-duplicate`, `scenario-uncovered`, and the same for requirements. */
function checkKind(issue: IssueDocument, kind: Kind): DocumentFinding[] {
  const line = sectionLine(issue, kind);
  const covering = coveringIn(issue, kind);
  return line === null ? [] : checkEntries(WORDS[kind], { line, entries: issue[kind], covering });
}

/** `criterion-none`, `criterion-unknown-reference`, `criterion-unlinked`, `criterion-vague`. */
function checkCriteria(issue: IssueDocument): DocumentFinding[] {
  const { criteria } = issue;
  const line = sectionLine(issue, 'criteria');
  const none = 'There is no acceptance criterion: write them as a checklist, "- [ ] … (S1, R1)".';
  if (criteria.length === 0) return line === null ? [] : [error('criterion-none', line, none)];
  // A section without entries has its own finding.
  const numbered = KINDS.filter((kind) => issue[kind].length > 0);
  const unnamed = numbered.filter((kind) => criteria.every((criterion) => criterion[kind].length === 0));
  const ends = 'end it with those that it covers, as in "(S1, R1)"';
  return [
    ...unnamed.map((kind) => {
      const message = `No acceptance criterion names a ${WORDS[kind].one}: ${ends.replace('it with', 'each with')}.`;
      return error('criterion-unlinked', line ?? 1, message);
    }),
    ...criteria.flatMap((criterion) => {
      const { label, text } = criterion;
      const unknown = numbered.flatMap((kind) => {
        const known = new Set(issue[kind].map(({ id }) => id));
        return criterion[kind].filter((id) => !known.has(id)).map(WORDS[kind].nameOf);
      });
      const isLinked = KINDS.some((kind) => criterion[kind].length > 0) || unnamed.length === numbered.length;
      const missing = `${label} names ${unknown.join(', ')}, which does not exist: correct the number, or add the entry.`;
      const unlinked = `${label} names no scenario and no requirement: ${ends}.`;
      const what = text === '' ? 'says nothing' : `${quote(text)} can't be checked by a program`;
      const vague = `${label} ${what}: name the value, message, state or exit code that decides.`;
      return [
        ...(unknown.length > 0 ? [error('criterion-unknown-reference', criterion.line, missing)] : []),
        ...(isLinked ? [] : [warning('criterion-unlinked', criterion.line, unlinked)]),
        ...(isEmptyCriterion(text) ? [error('criterion-vague', criterion.line, vague)] : []),
      ];
    }),
  ];
}
