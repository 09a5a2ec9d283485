import type { DocumentFinding } from '../../document-finding.ts';
import { error, quote, warning } from '../../lld/rules/rule.ts';
import { isContent } from '../../lld/rules/sections.ts';
import type { IssueDocument } from '../document.ts';
import { ISSUE_SECTIONS, type IssueSectionId } from '../sections.ts';

const ORDER = ISSUE_SECTIONS.map(({ id }) => id);
const LONGEST_TITLE = 200;
const STORY =
  /\bas (?:an?|the|any|every|some(?:one|body)|our)?\b[^]*\b(?:I|we|they) (?:want|need|can|would like|wish)\b/i;

/** `title`, `section-missing`, `section-empty`, `section-repeated`, `section-order`, `user-story`. */
export function checkSections(issue: IssueDocument): DocumentFinding[] {
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
