import { inline } from './inline.ts';

const TIER_1 = ['Cost', 'Safety', 'Security', 'Legal'] as const;
const TIER_2 = ['Architecture', 'Observability', 'Quality'] as const;
const ISSUE_TIER_1 = ['Duplicate', 'Safety', 'Security', 'Legal'] as const;
const ISSUE_TIER_2 = ['Intent', 'Scope', 'Testability', 'Completeness'] as const;

export type ReviewArea =
  | (typeof TIER_1)[number]
  | (typeof TIER_2)[number]
  | (typeof ISSUE_TIER_1)[number]
  | (typeof ISSUE_TIER_2)[number];
export type Verdict = 'APPROVED' | 'REVISE' | 'DISCUSS';

export interface RuledFinding {
  area: ReviewArea;
  title: string;
  text: string;
  /** May quote any words: it stands below the finding, where they can't be taken for a ruling. */
  recommendation: string;
}

type ReviewKind = 'Issue' | 'LLD' | 'Code';

/** The form is the same for all; the headings fit what is reviewed. */
const KINDS: Record<
  ReviewKind,
  { tiers: readonly [readonly ReviewArea[], readonly ReviewArea[]]; role: string; approved: string }
> = {
  Issue: { tiers: [ISSUE_TIER_1, ISSUE_TIER_2], role: 'Product Lead', approved: 'Ready for a design' },
  LLD: { tiers: [TIER_1, TIER_2], role: 'Senior Software Architect', approved: 'Ready for implementation' },
  Code: { tiers: [TIER_1, TIER_2], role: 'Senior Software Architect', approved: 'Ready to merge' },
};

/** What rules have to say, for a review in the usual form. */
export interface RuledReview {
  kind: ReviewKind;
  issue: { id: string; title: string };
  summary: string;
  /** Of a design; code has none. */
  openQuestions: string | null;
  coverage: string;
  isCovered: boolean;
  findings: RuledFinding[];
  suggestions: string[];
  questions: string[];
  verdict: Verdict;
}

const NOTHING = '- [ ] No issues found.';

export function renderReview(review: RuledReview): string {
  const { kind, issue, verdict, suggestions, questions } = review;
  const { tiers, role, approved } = KINDS[kind];
  const under = (area: ReviewArea): string[] => [
    '',
    `### ${area}`,
    findingsOf(review.findings.filter((finding) => finding.area === area)),
  ];
  const box = (name: Verdict, meaning: string): string => `[${name === verdict ? 'x' : ' '}] **${name}** - ${meaning}`;
  return [
    `# ${kind} Review: ${inline(issue.id)} - ${kind === 'Issue' ? '' : 'Feature: '}${inline(issue.title, 150)}`,
    '',
    '## Identity Confirmation',
    `I am the embedded reviewer of agentos, not a language model, acting as ${role} & AI Governance Lead.`,
    '',
    '## Pre-Flight Gate',
    'PASSED',
    '',
    '## Review Summary',
    review.summary,
    '',
    ...(review.openQuestions === null ? [] : ['## Open Questions Resolved', review.openQuestions, '']),
    '## Requirement Coverage Analysis (MANDATORY)',
    '',
    kind === 'Issue' ? '**Requirements:**' : '**Section 3 Requirements:**',
    review.coverage,
    '',
    `**Verdict:** ${review.isCovered ? 'PASS' : 'BLOCK'}`,
    '',
    '## Tier 1: BLOCKING Issues',
    ...tiers[0].flatMap(under),
    '',
    '## Tier 2: HIGH PRIORITY Issues',
    ...tiers[1].flatMap(under),
    '',
    '## Tier 3: SUGGESTIONS',
    ...(suggestions.length === 0 ? ['- None.'] : suggestions.map((text) => `- ${text}`)),
    '',
    '## Questions for Orchestrator',
    ...(questions.length === 0 ? ['None.'] : questions).map((question, index) => `${index + 1}. ${inline(question)}`),
    '',
    '## Verdict',
    box('APPROVED', approved),
    box('REVISE', 'Fix Tier 1/2 issues first'),
    box('DISCUSS', 'Needs Orchestrator decision'),
    '',
  ].join('\n');
}

function findingsOf(findings: RuledFinding[]): string {
  if (findings.length === 0) return NOTHING;
  return findings
    .map(
      ({ title, text, recommendation }) =>
        `- [ ] **${title}:** ${text}\n    - **Recommendation:** ${inline(recommendation, 600)}`,
    )
    .join('\n');
}
