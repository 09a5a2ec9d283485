import { type Coverage, coverageOf } from '../coverage.ts';
import { type LldDocument, readLld } from './document.ts';
import { LLD_RULES } from './rules/index.ts';
import type { BaseTree, LldFinding } from './rules/rule.ts';

export type { BaseTree, LldFinding } from './rules/rule.ts';

export interface LldCheck {
  /** In document order. */
  findings: LldFinding[];
  coverage: Coverage;
}

/** Every mechanical rule on one parse of the document. Deterministic: no clock, no file system but `tree`. */
export function checkLld(text: string, options: { issueId?: string; tree?: BaseTree | null } = {}): LldCheck {
  const lld = readLld(text);
  const context = { issueId: options.issueId ?? null, tree: options.tree ?? null };
  const findings = LLD_RULES.flatMap((rule) => rule(lld, context));
  return { findings: findings.toSorted((a, b) => a.line - b.line), coverage: requirementCoverage(lld) };
}

function requirementCoverage(lld: LldDocument): Coverage {
  const numbers = [...new Set(lld.requirements.map(({ number }) => number))];
  return coverageOf(
    numbers.map((number) => ({
      requirement: String(number),
      text: lld.requirements.find((requirement) => requirement.number === number)?.text ?? '',
      scenarios: lld.scenarios.filter(({ requirements }) => requirements.includes(number)).map(({ id }) => id),
    })),
  );
}
