import type { Root } from 'mdast';
import { readTitle } from '../lld/section-titles.ts';
import { type Section, sectionsOf } from '../markdown.ts';

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
  name('story', 'User Story', /^(?:user )?story$/),
  name('objective', 'Objective', /^(?:objective|goal)(?: (?:objective|goal))?$/),
  name('scenarios', 'Scenarios of Use', /^(?:(?:usage |user |use )?scenario(?: use| usage)?|use case)$/),
  name('requirements', 'Requirements', /^(?:functional )?requirement$/),
  name('criteria', 'Acceptance Criteria', /^acceptance (?:criteria|criterion)$/),
  name('scope', 'Out of Scope', /^(?:out scope|not in scope|non goal)$/),
  name('done', 'Definition of Done', /^(?:definition done|dod|done when)$/),
  name('questions', 'Open Questions', /^open question$/, false),
  name('log', 'Review Log', /^review log$/, false),
];

export interface IssueSection {
  id: IssueSectionId;
  section: Section;
}

export interface IssueOutline {
  /** The heading above all sections. */
  title: Section | null;
  /** In document order, each once. */
  found: IssueSection[];
  repeated: IssueSection[];
}

/** Sections at whatever level they stand; a heading of the same name inside one of them is part of it. */
export function outlineOfIssue(root: Root): IssueOutline {
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
