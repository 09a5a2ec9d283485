import type { LldFinding } from '../../governance/lld/checks.ts';
import { openQuestions } from '../../governance/lld/fold-questions.ts';
import type { Material } from '../../governance/material.ts';
import { inline } from './inline.ts';

type ReviewMaterial = Extract<Material, { task: 'review' }>;
type Area = 'Cost' | 'Architecture' | 'Quality';

/** Judges by the mechanical checks alone, and says so. A question it can't answer goes to a person. */
export function reviewByChecks({ issue, draft, checks, coverage }: ReviewMaterial): string {
  const errors = checks.filter(({ severity }) => severity === 'error');
  const warnings = checks.filter(({ severity, rule }) => severity === 'warning' && rule !== 'open-question');
  const questions = openQuestions(draft);
  const verdict = errors.length > 0 ? 'REVISE' : questions.length > 0 ? 'DISCUSS' : 'APPROVED';
  const isCovered = !checks.some(({ rule }) => rule === 'requirement-uncovered');
  const under = (area: Area): string => findingsUnder(errors.filter((finding) => areaOf(finding) === area));
  const box = (name: typeof verdict, meaning: string): string =>
    `[${name === verdict ? 'x' : ' '}] **${name}** - ${meaning}`;
  return [
    `# LLD Review: ${inline(issue.id)} - Feature: ${inline(issue.title, 150)}`,
    '',
    '## Identity Confirmation',
    'I am the embedded reviewer of agentos, not a language model, acting as Senior Software Architect & AI Governance Lead.',
    '',
    '## Pre-Flight Gate',
    'PASSED',
    '',
    '## Review Summary',
    `I judge by the mechanical checks only: ${errors.length} error(s), ${warnings.length} warning(s), ${questions.length} open question(s). Whether the design is a good one is for a person or a model to say.`,
    '',
    '## Open Questions Resolved',
    questions.length === 0 ? 'No open questions.' : 'None: rules can answer no question.',
    '',
    '## Requirement Coverage Analysis (MANDATORY)',
    '',
    '**Section 3 Requirements:**',
    coverage,
    '',
    `**Verdict:** ${isCovered ? 'PASS' : 'BLOCK'}`,
    '',
    '## Tier 1: BLOCKING Issues',
    '',
    '### Cost',
    under('Cost'),
    '',
    '### Safety',
    NOTHING,
    '',
    '### Security',
    NOTHING,
    '',
    '### Legal',
    NOTHING,
    '',
    '## Tier 2: HIGH PRIORITY Issues',
    '',
    '### Architecture',
    under('Architecture'),
    '',
    '### Observability',
    NOTHING,
    '',
    '### Quality',
    under('Quality'),
    '',
    '## Tier 3: SUGGESTIONS',
    ...(warnings.length === 0
      ? ['- None.']
      : warnings.map(({ rule, line, message }) => `- **${rule}, line ${line}:** ${inline(message)}`)),
    '',
    '## Questions for Orchestrator',
    ...(questions.length === 0 ? ['None.'] : questions).map((question, index) => `${index + 1}. ${inline(question)}`),
    '',
    '## Verdict',
    box('APPROVED', 'Ready for implementation'),
    box('REVISE', 'Fix Tier 1/2 issues first'),
    box('DISCUSS', 'Needs Orchestrator decision'),
    '',
  ].join('\n');
}

const NOTHING = '- [ ] No issues found.';

/** The message may quote any words of the draft, so it stands below the finding, where they can't be taken for a ruling. */
function findingsUnder(errors: LldFinding[]): string {
  if (errors.length === 0) return NOTHING;
  return errors
    .map(
      ({ rule, line, message }) =>
        `- [ ] **${rule}, line ${line}:** The draft fails this mechanical check.\n    - **Recommendation:** ${inline(message, 600)}`,
    )
    .join('\n');
}

function areaOf({ rule }: LldFinding): Area {
  if (rule === 'unbounded-loop') return 'Cost';
  return /^(?:path|file|mermaid)/.test(rule) ? 'Architecture' : 'Quality';
}
