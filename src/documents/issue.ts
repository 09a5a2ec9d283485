import type { RootContent } from 'mdast';
import { statementsIn } from '../markdown/markdown.ts';
import {
  type Coverage,
  checkEntries,
  coverageOf,
  type EntryWords,
  type NumberedEntry,
  readNumbered,
  requirementReferences,
  SCENARIO_LABEL,
} from './coverage.ts';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import template from './issue-template.md';
import { isEmptyCriterion } from './lld/scenarios.ts';
import { checkOpenQuestions } from './questions.ts';
import { checkOutline, filledSection, type ParsedDocument, parseDocument, sectionName } from './sections.ts';
import { checkLeftovers } from './template-text.ts';

/** Ids that a criterion names. */
type References = Record<'scenarios' | 'requirements', string[]>;

interface IssueCriterion extends References {
  /** `AC1`, `AC2`, … in order. */
  label: string;
  /** Without label and references. */
  text: string;
  line: number;
}

interface IssueDocument extends ParsedDocument {
  scenarios: NumberedEntry[];
  requirements: NumberedEntry[];
  criteria: IssueCriterion[];
}

/** In the order of the template. */
export const ISSUE_SECTIONS = [
  sectionName('story', 'User Story', { alias: /^(?:user )?(?:story|value)$/ }),
  sectionName('objective', 'Objective', {
    alias: /^(?:objective|goal|summary|problem(?: statement)?|motivation|background|overview)(?: (?:objective|goal))?$/,
  }),
  sectionName('scenarios', 'Scenarios of Use', {
    alias:
      /^(?:(?:usage |user |use )?scenario(?: use| usage)?|use case|(?:ux|user|usage) (?:flow|journey)|workflow|example)$/,
  }),
  sectionName('requirements', 'Requirements', { alias: /^(?:functional |detailed )?(?:requirement|behaviou?r)$/ }),
  sectionName('criteria', 'Acceptance Criteria', { alias: /^(?:acceptance|success) (?:criteria|criterion|test)$/ }),
  sectionName('scope', 'Out of Scope', {
    alias: /^(?:out scope|not in scope|non goal|scope|limitation|exclusion)$/,
  }),
  sectionName('done', 'Definition of Done', { alias: /^(?:definition done|dod|done when)$/ }),
  sectionName('questions', 'Open Questions', { missing: null }),
  sectionName('log', 'Review Log', { missing: null }),
];

export function readIssueDocument(given: string): IssueDocument {
  const { parsed, nodesOf } = parseDocument(given, ISSUE_SECTIONS);
  const scenarios = readNumbered(nodesOf('scenarios'), parsed.text, SCENARIO_LABEL);
  const requirements = readNumbered(nodesOf('requirements'), parsed.text);
  const known = { scenarios: scenarios.map(({ id }) => id), requirements: requirements.map(({ id }) => id) };
  return { ...parsed, scenarios, requirements, criteria: readCriteria(nodesOf('criteria'), known) };
}

const CRITERION_LABEL = /^\W*(?:ac|criterion)[\s._#-]*\d{1,3}(?=\W)[\s.:)\]*–—-]*/i;
const ONE = String.raw`(?<![\p{L}\p{N}])(?:(?:scenarios?|sc|s|requirements?|reqs?|n?fr|r)[\s._#-]{0,2})+\d{1,3}(?![\p{L}\p{N}])`;
/** `(S1)`, `[S1–S3 and R2]`, `(covers S1, 2)`: in brackets, because elsewhere `S3` may be the name of a product. */
const REFERENCES = new RegExp(
  String.raw`[([]\s*(?:covers?:?\s*|for\s+|see\s+)?(${ONE}(?:[\s,;&/+–—.-]*(?:and\s+|to\s+)?(?:${ONE}|\d{1,3}(?![\p{L}\p{N}])))*)\s*[)\]]`,
  'giu',
);

function readCriteria(nodes: RootContent[], known: References): IssueCriterion[] {
  return statementsIn(nodes.filter(({ type }) => type === 'list')).map(({ text: given, line }, index) => {
    const said = given.replace(CRITERION_LABEL, '');
    const named = [...said.matchAll(REFERENCES)].map(([, group]) => group).join(', ');
    const text = said
      .replace(REFERENCES, ' ')
      .replace(/\s+/g, ' ')
      .replace(/^\W+$|^ | (?=[.,;]?$)/g, '');
    return { label: `AC${index + 1}`, text, line, ...referencesIn(named, known) };
  });
}

/** A bare number has the kind of the one before: `S1, 2` are two scenarios. */
function referencesIn(named: string, known: References): References {
  const found: References = { scenarios: [], requirements: [] };
  let kind: keyof References = 'requirements';
  for (const part of named.split(/[,;&/+]|\band\b/)) {
    const letter = /\p{L}/u.exec(part)?.[0].toLowerCase();
    if (letter !== undefined) kind = letter === 's' ? 'scenarios' : 'requirements';
    const numbered = part.replace(/(?<!\p{L})(?:scenarios?|sc|s)(?=[\s._#-]*\d)/giu, 'R');
    found[kind].push(...requirementReferences(numbered, known[kind]));
  }
  return { scenarios: [...new Set(found.scenarios)], requirements: [...new Set(found.requirements)] };
}

/** Runs every mechanical rule on one parse of the issue. Deterministic: reads nothing but the text. */
export function checkIssue(text: string): { findings: DocumentFinding[]; coverage: Coverage } {
  const issue = readIssueDocument(text);
  const findings = [
    ...checkWhole(issue),
    ...checkOutline(issue, ISSUE_SECTIONS),
    ...KINDS.flatMap((kind) => checkKind(issue, kind)),
    ...checkCriteria(issue),
    ...checkLeftovers(issue, template),
    ...checkOpenQuestions(issue.openQuestions),
  ].toSorted((a, b) => a.line - b.line);
  return { findings, coverage: coverageOf(issue.requirements, coveringIn(issue, 'requirements')) };
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

const KINDS = ['scenarios', 'requirements'] as const;
const by = 'acceptance criterion';
const WORDS: Record<Kind, EntryWords> = {
  scenarios: { one: 'scenario', form: 'each as "- **S1 – name:** …"', by, nameOf: (id) => nameOf('S', id) },
  requirements: { one: 'requirement', form: 'them as a list "1. …"', by, nameOf: (id) => nameOf('R', id) },
};

function nameOf(letter: string, id: string): string {
  return /^\d/.test(id) ? `${letter}${id}` : id;
}

function coveringIn({ criteria }: IssueDocument, kind: Kind): { name: string; covers: string[] }[] {
  return criteria.map((criterion) => ({ name: criterion.label, covers: criterion[kind] }));
}

/** `scenario-none`, `scenario-many`, `scenario-duplicate`, `scenario-uncovered`, and the same for requirements. */
function checkKind(issue: IssueDocument, kind: Kind): DocumentFinding[] {
  const section = filledSection(issue, kind);
  const covering = coveringIn(issue, kind);
  return section ? checkEntries(WORDS[kind], { line: section.line, entries: issue[kind], covering }) : [];
}

/** `criterion-none`, `criterion-unknown-reference`, `criterion-unlinked`, `criterion-vague`. */
function checkCriteria(issue: IssueDocument): DocumentFinding[] {
  const { criteria } = issue;
  const section = filledSection(issue, 'criteria');
  const none = 'There is no acceptance criterion: write them as a checklist, "- [ ] … (S1, R1)".';
  if (criteria.length === 0) return section ? [error('criterion-none', section.line, none)] : [];
  // A section without entries has its own finding.
  const numbered = KINDS.filter((kind) => issue[kind].length > 0);
  const unnamed = numbered.filter((kind) => criteria.every((criterion) => criterion[kind].length === 0));
  const ends = 'end it with those that it covers, as in "(S1, R1)"';
  return [
    ...unnamed.map((kind) => {
      const message = `No acceptance criterion names a ${WORDS[kind].one}: ${ends.replace('it with', 'each with')}.`;
      return error('criterion-unlinked', section?.line ?? 1, message);
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
