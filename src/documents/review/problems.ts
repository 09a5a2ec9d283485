import type { Review, ReviewProblem, ReviewProblemCode, Verdict } from './review.ts';
import type { VerdictReading } from './verdict.ts';

export function problem(code: ReviewProblemCode, severity: ReviewProblem['severity'], message: string): ReviewProblem {
  return { code, severity, message };
}

/** Why there is no verdict, or why the one that is stated can't be relied on. */
export function verdictProblems(reading: VerdictReading, verdict: Verdict | null, hasBoxes: boolean): ReviewProblem[] {
  const problems: ReviewProblem[] = [];
  if (reading.verdicts.size > 1) {
    problems.push(
      problem('two-verdicts', 'error', `It states more than one verdict: ${[...reading.verdicts].join(', ')}.`),
    );
  } else if (reading.conditional && verdict !== 'REVISE' && verdict !== 'DISCUSS') {
    problems.push(problem('conditional-approval', 'error', 'It approves only on a condition.'));
  } else if (verdict === null) {
    const why = reading.untickedOnly && hasBoxes ? 'No verdict box is ticked.' : 'It states no verdict.';
    problems.push(problem('no-verdict', 'error', why));
  }
  return problems;
}

/** What contradicts the verdict that is stated. */
export function approvalProblems({ verdict, findings, preFlight }: Review): ReviewProblem[] {
  const problems: ReviewProblem[] = [];
  const blocking = findings.filter(({ tier }) => tier === 1);
  if (verdict === 'APPROVED' && blocking.length > 0) {
    problems.push(
      problem(
        'approved-with-blocking',
        'error',
        `It is APPROVED with ${blocking.length} open Tier 1 finding(s): ${headline(blocking[0]?.text)}`,
      ),
    );
  }
  if (verdict === 'APPROVED' && preFlight === 'FAILED') {
    problems.push(problem('approved-with-failed-gate', 'error', 'It is APPROVED although the Pre-Flight gate FAILED.'));
  }
  if (verdict === 'REVISE' && !findings.some(({ tier }) => tier < 3)) {
    problems.push(
      problem('revise-without-findings', 'warning', 'It asks for a revision without a Tier 1 or Tier 2 finding.'),
    );
  }
  return problems;
}

function headline(text = ''): string {
  const line = text.split('\n', 1)[0] ?? '';
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}
