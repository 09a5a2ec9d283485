import { readIssueDocument } from '../../governance/issue/document.ts';
import { ISSUE_SECTIONS } from '../../governance/issue/sections.ts';
import type { IssueMaterial } from '../../governance/material.ts';
import { draftIssue } from './issue-draft.ts';

/**
 * Rules can't settle what a reviewer says, but they can fill in a title and sections that are missing. Every line of the
 * draft stays: it may be a person's.
 */
export function mendIssue(brief: IssueMaterial, draft: string): string {
  const { text, title, sections } = readIssueDocument(draft);
  const scaffold = readIssueDocument(draftIssue(brief));
  const lines = text.split('\n');
  const order = ISSUE_SECTIONS.map(({ id }) => id);
  for (const { id, section } of scaffold.sections.toReversed()) {
    if (sections.some((present) => present.id === id)) continue;
    const next = sections.find((present) => order.indexOf(present.id) > order.indexOf(id));
    const content = scaffold.text.slice(section.start, section.end).trimEnd().split('\n');
    lines.splice(next ? next.section.line - 1 : lines.length, 0, ...content, '');
  }
  return `${title === '' ? `# ${scaffold.title}\n\n` : ''}${lines.join('\n')}`;
}
