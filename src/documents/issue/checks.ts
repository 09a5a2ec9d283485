import { type Coverage, coverageOf } from '../coverage.ts';
import type { DocumentFinding } from '../document-finding.ts';
import { readIssueDocument } from './document.ts';
import { ISSUE_RULES } from './rules/index.ts';

export interface IssueCheck {
  /** In document order. */
  findings: DocumentFinding[];
  /** Which requirements an acceptance criterion settles. */
  coverage: Coverage;
}

/** Every mechanical rule on one parse of the issue. Deterministic: no clock, no file system. */
export function checkIssue(text: string): IssueCheck {
  const issue = readIssueDocument(text);
  const findings = ISSUE_RULES.flatMap((rule) => rule(issue)).toSorted((a, b) => a.line - b.line);
  const requirements = new Map(issue.requirements.map(({ number, text: words }) => [number, words]));
  const rows = [...requirements].map(([number, words]) => ({
    requirement: String(number),
    text: words,
    scenarios: issue.criteria.filter((criterion) => criterion.requirements.includes(number)).map(({ label }) => label),
  }));
  return { findings, coverage: coverageOf(rows) };
}
