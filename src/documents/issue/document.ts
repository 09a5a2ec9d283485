import type { Root } from 'mdast';
import { type OpenQuestion, readOpenQuestions } from '../lld/open-questions.ts';
import { type LldRequirement, readRequirements } from '../lld/requirements.ts';
import { normaliseText, parseMarkdown } from '../markdown.ts';
import { type IssueCriterion, type IssueScenario, readCriteria, readScenarios } from './entries.ts';
import { type IssueSection, type IssueSectionId, outlineOfIssue } from './sections.ts';

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
  requirements: LldRequirement[];
  criteria: IssueCriterion[];
  openQuestions: OpenQuestion[];
}

/** Never throws: what is missing or unreadable is empty, and the checks say so. */
export function readIssueDocument(given: string): IssueDocument {
  const text = normaliseText(given);
  const root = parseMarkdown(text);
  const { title, found, repeated } = outlineOfIssue(root);
  const nodesOf = (id: IssueSectionId) => found.find((section) => section.id === id)?.section.all ?? [];
  const scenarios = readScenarios(nodesOf('scenarios'));
  const requirements = readRequirements(nodesOf('requirements'));
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
    openQuestions: readOpenQuestions(root),
  };
}
