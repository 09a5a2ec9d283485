export type Verdict = 'APPROVED' | 'REVISE' | 'DISCUSS';

export type Tier = 1 | 2 | 3;

export interface Finding {
  tier: Tier;
  /** The heading it stands under, `Suggestions` for a Tier 3 finding under none, else empty. */
  area: string;
  /** Readable text: emphasis is gone, code keeps its backticks, nested points follow on lines of their own. */
  text: string;
  /** It names no evidence, or what it cites is not there: a suggestion, whatever its tier. */
  isUnproven?: boolean;
}

export const GUARD_AREA = 'Guard';

/** Says of a scenario, by its id, that it holds already. In whatever tier it stands, it holds nothing back. */
export function isGuardFinding({ area, text }: Pick<Finding, 'area' | 'text'>): boolean {
  return area === GUARD_AREA && /\b\d{3}[a-z]?\b/i.test(text) && !/\b(?:not?|never)\b[^.\n]*\bguards?\b/i.test(text);
}

export interface OpenQuestion {
  question: string;
  answer: string;
}

export interface Coverage {
  covered: number;
  total: number;
  percent: number;
}

export function percentOf(covered: number, total: number): number {
  return Math.round((covered / total) * 1000) / 10;
}

export type PreFlight = 'PASSED' | 'FAILED';

/** What a review says about a finding that it names by its id in the ledger. No review has to. */
export interface Ruling {
  id: string;
  state: 'open' | 'fixed' | 'withdrawn';
}

export interface Review {
  /** As the document states it; null when it states none, or more than one. */
  verdict: Verdict | null;
  /** Why the verdict is missing or can't be relied on, a sentence each. */
  problems: string[];
  /** Oddities that don't affect the verdict. */
  notes: string[];
  /** Open findings only: what the review itself marks as settled is left out. */
  findings: Finding[];
  openQuestions: OpenQuestion[];
  questionsForOrchestrator: string[];
  coverage: Coverage | null;
  preFlight: PreFlight | null;
  title: string | null;
  summary: string | null;
  rulings: Ruling[];
}

/** Whether a workflow may act on the verdict. If not: ask the reviewer once more, then fail closed to DISCUSS. */
export function isTrustworthy(review: Review): boolean {
  return review.verdict !== null && review.problems.length === 0;
}
