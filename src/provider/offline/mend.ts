import { readLld } from '../../governance/lld/document.ts';
import { readTitle } from '../../governance/lld/section-titles.ts';
import { flattenSections, parseMarkdown, sectionsOf } from '../../governance/markdown.ts';
import type { IssueMaterial } from '../../governance/material.ts';
import { draftScaffold } from './draft.ts';

/**
 * Rules can't settle what a reviewer says, but they can fill in sections that are missing. Every line of the draft stays:
 * it may be a person's, and a draft that is left as it is ends in a person's hands, where it belongs.
 */
export function mendDraft(issue: IssueMaterial, draft: string): string {
  const { text, sections } = readLld(draft);
  const present = new Set(sections.map(({ id }) => id));
  const scaffold = mainSections(draftScaffold(issue, []));
  const lines = text.split('\n');
  for (const [index, { number, content }] of [...scaffold.entries()].toReversed()) {
    if (present.has(number)) continue;
    const later = new Set(['log', ...scaffold.slice(index + 1).map((section) => section.number)]);
    const next = sections.find(({ id }) => later.has(id));
    lines.splice(next ? next.line - 1 : lines.length, 0, ...content.trimEnd().split('\n'), '');
  }
  return lines.join('\n');
}

function mainSections(text: string): { number: string; content: string }[] {
  return flattenSections(sectionsOf(parseMarkdown(text))).flatMap(({ depth, title, start, end }) => {
    const { number } = readTitle(title);
    return depth === 2 && number !== null ? [{ number, content: text.slice(start, end) }] : [];
  });
}
