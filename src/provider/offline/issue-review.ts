import type { DocumentFinding } from '../../governance/document-finding.ts';
import { describeDuplicate, LIKELY_DUPLICATE } from '../../governance/issue/duplicates.ts';
import { openQuestions } from '../../governance/lld/fold-questions.ts';
import type { BriefMaterial } from '../../governance/material.ts';
import { inline } from './inline.ts';
import { type ReviewArea, type RuledFinding, renderReview } from './review-form.ts';

type ReviewMaterial = Extract<BriefMaterial, { task: 'issue-review' }>;

/** Judges by the mechanical checks alone, and says so. What may be the same again, and what is asked, goes to a person. */
export function reviewIssueByChecks({ brief, draft, checks, coverage, duplicates }: ReviewMaterial): string {
  const errors = checks.filter(({ severity }) => severity === 'error');
  const warnings = checks.filter(({ severity, rule }) => severity === 'warning' && rule !== 'open-question');
  const open = openQuestions(draft);
  const same = duplicates
    .filter(({ score }) => score >= LIKELY_DUPLICATE)
    .map((duplicate) => `Is this the same as ${describeDuplicate(duplicate)}?`);
  const questions = [...same, ...open];
  return renderReview({
    kind: 'Issue',
    issue: brief,
    summary: `I judge by the mechanical checks only: ${errors.length} error(s), ${warnings.length} warning(s), ${open.length} open question(s), ${same.length} likely duplicate(s). Whether the issue asks for the right thing is for a person or a model to say.`,
    openQuestions: open.length === 0 ? 'No open questions.' : 'None: rules can answer no question.',
    coverage,
    isCovered: !checks.some(({ rule }) => rule === 'requirement-uncovered'),
    findings: errors.map(findingOf),
    suggestions: warnings.map(({ rule, line, message }) => `**${rule}, line ${line}:** ${inline(message)}`),
    questions,
    verdict: errors.length > 0 ? 'REVISE' : questions.length > 0 ? 'DISCUSS' : 'APPROVED',
  });
}

function findingOf(error: DocumentFinding): RuledFinding {
  return {
    area: areaOf(error),
    title: `${error.rule}, line ${error.line}`,
    text: 'The draft fails this mechanical check.',
    recommendation: error.message,
  };
}

function areaOf({ rule }: DocumentFinding): ReviewArea {
  if (rule === 'issue-size') return 'Scope';
  return rule.startsWith('criterion') ? 'Testability' : 'Completeness';
}
