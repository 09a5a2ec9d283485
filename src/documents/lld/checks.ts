import type { Nodes } from 'mdast';
import { type Coverage, coverageOf } from '../coverage.ts';
import type { DocumentFinding } from '../finding.ts';
import template from '../lld-template.md';
import { checkPhrases, isEmptyCriterion } from '../phrases.ts';
import { createLeftoverText, elisionsIn, leftover } from '../template-text.ts';
import { type LldDocument, readLld } from './document.ts';
import { checkIssueNumber } from './issue-number.ts';
import { checkMermaid } from './mermaid.ts';
import { type BaseTree, checkPaths } from './paths.ts';
import { checkFilesTable, checkOpenQuestions, checkRequirements, checkScenarios, checkSections } from './rules.ts';

export type { BaseTree } from './paths.ts';

export interface LldCheck {
  /** In document order. */
  findings: DocumentFinding[];
  coverage: Coverage;
}

/** Every mechanical rule on one parse of the document. Deterministic: no clock, no file system but `tree`. */
export function checkLld(
  text: string,
  { issueId = null, tree = null }: { issueId?: string | null; tree?: BaseTree | null } = {},
): LldCheck {
  const lld = readLld(text);
  // In the order of the document that they look at: findings on one line read from the general to the particular.
  const findings = [
    ...checkSections(lld),
    ...checkIssueNumber(lld, issueId),
    ...checkOpenQuestions(lld),
    ...checkFilesTable(lld),
    ...checkPaths(lld, tree),
    ...checkRequirements(lld),
    ...checkMermaid(lld),
    ...checkScenarios(lld),
    ...checkPhrases(lld),
    ...checkTemplateText(lld),
  ];
  return { findings: findings.toSorted((a, b) => a.line - b.line), coverage: requirementCoverage(lld) };
}

const leftoversIn = createLeftoverText(template);

/** `template-text`, `elided-text`. The review log is left out: it cites what reviewers found. */
function checkTemplateText(lld: LldDocument): DocumentFinding[] {
  const log = lld.sections.find(({ id }) => id === 'log');
  const inLog = new Set<Nodes>(log?.nodes ?? []);
  const reported = reportedLines(lld);
  const findings = lld.root.children.filter((node) => !inLog.has(node)).flatMap((node) => leftoversIn(node));
  const paths = lld.files
    .filter(({ path }) => path.startsWith('path/to/'))
    .map(({ path, line }) => leftover(line, path));
  return [...findings, ...paths, ...elisionsIn(lld.text, log)].filter(({ line, severity }) => {
    const isFirst = severity === 'warning' || !reported.has(line);
    reported.add(line);
    return isFirst;
  });
}

/** Lines on which another rule says the same in better words. */
function reportedLines(lld: LldDocument): Set<number> {
  const issues = [lld.titleIssue, lld.contextIssue].filter((mention) => mention?.id === null);
  const criteria = lld.scenarios.filter(({ pass }) => isEmptyCriterion(pass));
  return new Set([...issues, ...criteria].flatMap((place) => (place ? [place.line] : [])));
}

function requirementCoverage(lld: LldDocument): Coverage {
  const ids = [...new Set(lld.requirements.map(({ id }) => id))];
  return coverageOf(
    ids.map((id) => ({
      requirement: id,
      text: lld.requirements.find((requirement) => requirement.id === id)?.text ?? '',
      scenarios: lld.scenarios.filter(({ requirements }) => requirements.includes(id)).map((scenario) => scenario.id),
    })),
  );
}
