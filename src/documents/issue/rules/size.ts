import type { DocumentFinding } from '../../document-finding.ts';
import { error, warning } from '../../lld/rules/rule.ts';
import type { IssueDocument } from '../document.ts';

/** What one design and one branch can hold: from the first number on it warns, above the second it has to be split. */
const LIMITS: { what: string; usual: number; most: number; count: (issue: IssueDocument) => number }[] = [
  { what: 'scenarios', usual: 8, most: 15, count: ({ scenarios }) => scenarios.length },
  { what: 'requirements', usual: 12, most: 20, count: ({ requirements }) => requirements.length },
  { what: 'acceptance criteria', usual: 20, most: 40, count: ({ criteria }) => criteria.length },
  { what: 'words', usual: 1_500, most: 4_000, count: ({ text }) => text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0 },
];

/** `issue-size`: one issue is one change. */
export function checkSize(issue: IssueDocument): DocumentFinding[] {
  return LIMITS.flatMap(({ what, usual, most, count }) => {
    const found = count(issue);
    if (found <= usual) return [];
    const says = `The issue has ${found} ${what}, and ${usual} are what one change can hold`;
    return found <= most
      ? [warning('issue-size', issue.titleLine, `${says}: see whether a part of it is useful on its own.`)]
      : [
          error(
            'issue-size',
            issue.titleLine,
            `${says}: split it, keep the part that is useful on its own, and name the others under "Out of Scope".`,
          ),
        ];
  });
}
