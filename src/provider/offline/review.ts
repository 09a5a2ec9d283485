import type { LldFinding } from '../../governance/lld/checks.ts';
import { openQuestions } from '../../governance/lld/fold-questions.ts';
import type { Material } from '../../governance/material.ts';
import { inline } from './inline.ts';
import { type ReviewArea, type RuledFinding, renderReview } from './review-form.ts';

type ReviewMaterial = Extract<Material, { task: 'review' }>;

/** Judges by the mechanical checks alone, and says so. A question it can't answer goes to a person. */
export function reviewByChecks({ issue, draft, checks, coverage }: ReviewMaterial): string {
  const errors = checks.filter(({ severity }) => severity === 'error');
  const warnings = checks.filter(({ severity, rule }) => severity === 'warning' && rule !== 'open-question');
  const questions = openQuestions(draft);
  return renderReview({
    kind: 'LLD',
    issue,
    summary: `I judge by the mechanical checks only: ${errors.length} error(s), ${warnings.length} warning(s), ${questions.length} open question(s). Whether the design is a good one is for a person or a model to say.`,
    openQuestions: questions.length === 0 ? 'No open questions.' : 'None: rules can answer no question.',
    coverage,
    isCovered: !checks.some(({ rule }) => rule === 'requirement-uncovered'),
    findings: errors.map(findingOf),
    suggestions: warnings.map(({ rule, line, message }) => `**${rule}, line ${line}:** ${inline(message)}`),
    questions,
    verdict: errors.length > 0 ? 'REVISE' : questions.length > 0 ? 'DISCUSS' : 'APPROVED',
  });
}

function findingOf(error: LldFinding): RuledFinding {
  return {
    area: areaOf(error),
    title: `${error.rule}, line ${error.line}`,
    text: 'The draft fails this mechanical check.',
    recommendation: error.message,
  };
}

function areaOf({ rule }: LldFinding): ReviewArea {
  if (rule === 'unbounded-loop') return 'Cost';
  return /^(?:path|file|mermaid)/.test(rule) ? 'Architecture' : 'Quality';
}
