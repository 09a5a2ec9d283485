import { checkIssue } from '../../governance/issue/checks.ts';
import type { IssueMaterial } from '../../governance/material.ts';
import { readIssue } from './issue-reading.ts';
import { type BriefContent, renderIssueScaffold } from './issue-scaffold.ts';
import { withholdUntilClean } from './withholding.ts';

/** What one issue can hold before it has to be split. */
const MOST_CRITERIA = 8;

/** An issue from the brief's own words; what the mechanical checks would hold against them is quoted and asked about. */
export function draftIssue(brief: IssueMaterial): string {
  const reading = readIssue(brief);
  const content: BriefContent = {
    ...reading,
    title: brief.title,
    criteria: reading.criteria.slice(0, MOST_CRITERIA),
    criteriaLeftOut: reading.criteriaLeftOut + Math.max(0, reading.criteria.length - MOST_CRITERIA),
  };
  return withholdUntilClean(
    (withheld) => renderIssueScaffold(content, withheld),
    (text) => checkIssue(text).findings,
  );
}
