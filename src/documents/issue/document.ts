import type { Root } from 'mdast';
import { readRequirements } from '../lld/requirements.ts';
import { normaliseText, parseMarkdown, type Section, sectionsOf } from '../markdown.ts';
import { type QuestionItem, questionItems } from '../questions.ts';
import { readTitle } from '../titles.ts';
import { type IssueCriterion, type IssueScenario, readCriteria, readScenarios } from './entries.ts';

export interface IssueRequirement {
  number: number;
  text: string;
  line: number;
}

/** An issue as read; every line is counted from 1 in the text as given. */
export interface IssueDocument {
  /** Line ends and byte-order mark normalised. */
  text: string;
  root: Root;
  /** Empty when there is none. */
  title: string;
  titleLine: number;
  sections: IssueSection[];
  repeatedSections: IssueSection[];
  scenarios: IssueScenario[];
  requirements: IssueRequirement[];
  criteria: IssueCriterion[];
  openQuestions: QuestionItem[];
}

/** Never throws: what is missing or unreadable is empty, and the checks say so. */
export function readIssueDocument(given: string): IssueDocument {
  const text = normaliseText(given);
  const root = parseMarkdown(text);
  const { title, found, repeated } = outlineOfIssue(root);
  const nodesOf = (id: IssueSectionId) => found.find((section) => section.id === id)?.section.all ?? [];
  const scenarios = readScenarios(nodesOf('scenarios'));
  const requirements = readRequirements(nodesOf('requirements')).map(({ id, text: words, line }) => ({
    number: Number(/\d+/.exec(id)?.[0]),
    text: words,
    line,
  }));
  const known = {
    scenarios: scenarios.map(({ number }) => number),
    requirements: requirements.map(({ number }) => number),
  };
  return {
    text,
    root,
    title: title?.title ?? '',
    titleLine: title?.line ?? 1,
    sections: found,
    repeatedSections: repeated,
    scenarios,
    requirements,
    criteria: readCriteria(nodesOf('criteria'), known),
    openQuestions: questionItems(text, root),
  };
}

export type IssueSectionId =
  | 'story'
  | 'objective'
  | 'scenarios'
  | 'requirements'
  | 'criteria'
  | 'scope'
  | 'done'
  | 'questions'
  | 'log';

interface SectionName {
  id: IssueSectionId;
  title: string;
  /** Titles under which it is known, as `readTitle` gives them: lower case, singular, without "of". */
  known: RegExp;
  /** An issue has no need of the others. */
  required: boolean;
}

const name = (id: IssueSectionId, title: string, known: RegExp, required = true): SectionName => ({
  id,
  title,
  known,
  required,
});

/** In the order of the template. */
export const ISSUE_SECTIONS: readonly SectionName[] = [
  name('story', 'User Story', /^(?:user )?(?:story|value)$/),
  name(
    'objective',
    'Objective',
    /^(?:objective|goal|summary|problem(?: statement)?|motivation|background|overview)(?: (?:objective|goal))?$/,
  ),
  name(
    'scenarios',
    'Scenarios of Use',
    /^(?:(?:usage |user |use )?scenario(?: use| usage)?|use case|(?:ux|user|usage) (?:flow|journey)|workflow|example)$/,
  ),
  name('requirements', 'Requirements', /^(?:functional |detailed )?(?:requirement|behaviou?r)$/),
  name('criteria', 'Acceptance Criteria', /^(?:acceptance|success) (?:criteria|criterion|test)$/),
  name('scope', 'Out of Scope', /^(?:out scope|not in scope|non goal|scope|limitation|exclusion)$/),
  name('done', 'Definition of Done', /^(?:definition done|dod|done when)$/),
  name('questions', 'Open Questions', /^open question$/, false),
  name('log', 'Review Log', /^review log$/, false),
];

export interface IssueSection {
  id: IssueSectionId;
  section: Section;
}

interface IssueOutline {
  /** The heading above all sections. */
  title: Section | null;
  /** In document order, each once. */
  found: IssueSection[];
  repeated: IssueSection[];
}

/** Sections at whatever level they stand; a heading of the same name inside one of them is part of it. */
function outlineOfIssue(root: Root): IssueOutline {
  const top = sectionsOf(root);
  const title = titleOf(top);
  const all = top.flatMap((section) => (section === title ? section.subsections : [section])).flatMap(sectionsIn);
  const found: IssueSection[] = [];
  const repeated: IssueSection[] = [];
  for (const entry of all) (found.some(({ id }) => id === entry.id) ? repeated : found).push(entry);
  return { title, found, repeated };
}

function sectionsIn(section: Section): IssueSection[] {
  const id = sectionIdOf(section.title);
  return id === null ? section.subsections.flatMap(sectionsIn) : [{ id, section }];
}

function sectionIdOf(title: string): IssueSectionId | null {
  const { key } = readTitle(title);
  return ISSUE_SECTIONS.find(({ known }) => known.test(key))?.id ?? null;
}

/** The one heading above all others is the title, even where an issue is about requirements and is called so. */
function titleOf(top: Section[]): Section | null {
  const [first] = top;
  if (!first) return null;
  const isAlone = first.depth === 1 && top.every((section) => section === first || section.depth > 1);
  if (isAlone && first.subsections.length > 0) return first;
  return sectionIdOf(first.title) === null && first.depth === 1 ? first : null;
}
