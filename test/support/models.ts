import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from './program.ts';
import { editedIssue, SAMPLE_ISSUE } from './sample-issue.ts';
import type { Answer, VendorOptions } from './vendor/index.ts';

type Call = Parameters<NonNullable<VendorOptions['script']>>[0];

const sample = readFileSync(join(PROJECT, 'test/fixtures/lld/LLD-42.md'), 'utf8');

/** A complete LLD that passes every check, for any issue. */
export function lldFor(id: string): string {
  return sample.replaceAll('42', id);
}

export const ISSUE = `# Add a number

Callers want a function that adds.

## Acceptance criteria
- \`item42(1)\` returns 43.
- A value that is not a number throws a TypeError.
`;

interface ReviewParts {
  verdict: 'APPROVED' | 'REVISE' | 'DISCUSS';
  tier1?: string[];
  tier2?: string[];
  questions?: string[];
  resolved?: string[];
}

/** A review in the usual form. */
export function review({ verdict, tier1 = [], tier2 = [], questions = [], resolved = [] }: ReviewParts): string {
  const box = (name: string): string => `[${name === verdict ? 'x' : ' '}] **${name}** - words`;
  const list = (items: string[]): string => items.map((item) => `- [ ] ${item}`).join('\n') || '- [ ] No issues found.';
  return `# LLD Review: 42

## Identity Confirmation
I am a test reviewer.

## Pre-Flight Gate
PASSED

## Review Summary
Read with care.

## Open Questions Resolved
${resolved.map((item) => `- [x] ${item}`).join('\n')}

## Tier 1: BLOCKING Issues
### Cost
- [ ] No issues found.
### Safety
${list(tier1)}

## Tier 2: HIGH PRIORITY Issues
### Architecture
${list(tier2)}

## Tier 3: SUGGESTIONS
- Nothing more.

## Questions for Orchestrator
${questions.map((question, index) => `${index + 1}. ${question}`).join('\n') || '1. None.'}

## Verdict
${box('APPROVED')}
${box('REVISE')}
${box('DISCUSS')}
`;
}

export type Task = 'draft' | 'repair' | 'revise' | 'review';

const REVIEWER = /You\s+review\s+(?:low-level designs|issues|code)/;

/** What a call asks for, told from its prompt as a model would. */
export function taskOf(call: { system: string; text: string }): Task {
  if (REVIEWER.test(call.system)) return 'review';
  if (/does not pass the mechanical checks/.test(call.text)) return 'repair';
  return /The review asks for changes/.test(call.text) ? 'revise' : 'draft';
}

/** The id of the issue, or the name of the brief, that a call is about. */
export function issueOf(call: { text: string }): string {
  const asked = /for (?:issue|the brief) ([\w-]+), "/.exec(call.text)?.[1];
  return asked ?? /\*\*Issue:\*\* #([\w-]+)/.exec(call.text)?.[1] ?? /#([\w-]+)/.exec(call.text)?.[1] ?? '42';
}

/** Whether the document is an issue, made from a brief. */
function isOfBrief(call: { text: string }): boolean {
  return /<brief>/.test(call.text);
}

/** Which review round a call asks for. */
export function roundOf(call: { text: string }): number {
  return Number(/This is review round (\d+)/.exec(call.text)?.[1] ?? 1);
}

export type Models = Partial<Record<Task, (call: Call) => Answer | string>>;

/** A vendor's script from one answer per task; what is not given behaves well. */
export function script(models: Models = {}): (call: Call) => Answer {
  const defaults: Record<Task, (call: Call) => Answer | string> = {
    draft: (call) => (isOfBrief(call) ? SAMPLE_ISSUE : lldFor(issueOf(call))),
    repair: (call) => (isOfBrief(call) ? SAMPLE_ISSUE : lldFor(issueOf(call))),
    revise: (call) =>
      isOfBrief(call)
        ? editedIssue('After 5 refusals', 'After 5 refusals of the same call')
        : lldFor(issueOf(call)).replace(
            'A pure function, no state.',
            'A pure function without state, as the review asked.',
          ),
    review: () => review({ verdict: 'APPROVED' }),
  };
  return (call) => {
    const answer = (models[taskOf(call)] ?? defaults[taskOf(call)])(call);
    return typeof answer === 'string' ? { text: answer } : answer;
  };
}

/** Environment that points every vendor at a loopback server. */
export function vendorEnv(url: string, key = 'sk-test-0123456789abcdef'): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    GOOGLE_GEMINI_BASE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
    ANTHROPIC_API_KEY: key,
    GEMINI_API_KEY: key,
    OPENAI_API_KEY: key,
  };
}
