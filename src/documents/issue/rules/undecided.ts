import type { Nodes } from 'mdast';
import type { DocumentFinding } from '../../document-finding.ts';
import template from '../../issue-template.md';
import { createLeftoverText } from '../../leftover-text.ts';
import { markedText } from '../../lld/marked-text.ts';
import { error, quote, warning } from '../../lld/rules/rule.ts';
import { lineOf } from '../../markdown.ts';
import type { IssueDocument } from '../document.ts';

const UNDECIDED = /\b(?:TBD|TBA|TBC|FIXME)\b|\bto be (?:determined|defined|decided|announced|confirmed)\b|\?{3,}/i;
const leftoversIn = createLeftoverText(template);

/** `template-text`, `undecided`, `open-question`. The review log is left out: it cites what reviewers found. */
export function checkUndecided(issue: IssueDocument): DocumentFinding[] {
  const except = (ids: string[]): Nodes[] => {
    const left = new Set<Nodes>(
      issue.sections.filter(({ id }) => ids.includes(id)).flatMap(({ section }) => section.all),
    );
    return issue.root.children.filter((node) => !left.has(node));
  };
  const leftovers = except(['log']).flatMap((node) => leftoversIn(node));
  const reported = new Set(leftovers.map(({ line }) => line));
  const undecided = except(['log', 'questions'])
    .flatMap((node) => undecidedIn(node))
    .filter(({ line }) => !reported.has(line));
  return [...leftovers, ...undecided, ...openQuestions(issue)];
}

function undecidedIn(node: Nodes): DocumentFinding[] {
  if (node.type === 'paragraph' || node.type === 'heading' || node.type === 'tableCell') {
    const lines = markedText(node).split('\n');
    return lines.flatMap((text, index) => {
      const phrase = UNDECIDED.exec(text.replace(/`[^`]*`/g, '`…`'))?.[0];
      if (phrase === undefined) return [];
      const advice = 'decide it, or ask it under "Open Questions"';
      return [error('undecided', lineOf(node) + index, `Something is left open (${quote(phrase)}): ${advice}.`)];
    });
  }
  return 'children' in node ? node.children.flatMap((child) => undecidedIn(child)) : [];
}

/** For the reviewer to resolve, so it only warns. */
function openQuestions({ openQuestions: questions }: IssueDocument): DocumentFinding[] {
  return questions
    .filter(({ resolved }) => !resolved)
    .map(({ line, text }) =>
      warning('open-question', line, `Open question, for the reviewer to resolve: ${quote(text)}.`),
    );
}
