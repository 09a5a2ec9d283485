import type { Nodes } from 'mdast';
import { createLeftoverText, leftover } from '../../leftover-text.ts';
import template from '../../lld-template.md';
import type { LldDocument } from '../document.ts';
import { placeholderIn } from './placeholder-text.ts';
import type { LldFinding } from './rule.ts';

const leftoversIn = createLeftoverText(template);

/** Text of a template that nobody replaced. The review log is left out: it cites what reviewers found. */
export function checkTemplateText(lld: LldDocument): LldFinding[] {
  const log = new Set<Nodes>(lld.sections.find(({ id }) => id === 'log')?.nodes ?? []);
  const reported = reportedPlaces(lld);
  const findings = lld.root.children.filter((node) => !log.has(node)).flatMap((node) => leftoversIn(node));
  const paths = lld.files
    .filter(({ path }) => path.startsWith('path/to/'))
    .map(({ path, line }) => leftover(line, path));
  return [...findings, ...paths].filter(({ line, severity }) => {
    const isFirst = severity === 'warning' || !reported.has(line);
    reported.add(line);
    return isFirst;
  });
}

/** Lines on which another rule says the same in better words. */
function reportedPlaces(lld: LldDocument): Set<number> {
  const issues = [lld.titleIssue, lld.contextIssue].filter((mention) => mention?.id === null);
  const criteria = lld.scenarios.filter(({ pass }) => placeholderIn(pass) === pass.trim() && !pass.includes('{{'));
  return new Set([...issues, ...criteria].flatMap((place) => (place ? [place.line] : [])));
}
