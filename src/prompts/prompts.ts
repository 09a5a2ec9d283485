import { AgentosError } from '../core/errors.ts';
import issueTemplate from '../documents/issue-template.md';
import template from '../documents/lld-template.md';
import codeReview from './code-review.md';
import codeReviewer from './code-reviewer.md';
import draft from './draft.md';
import drafter from './drafter.md';
import editFormat from './edit-format.md';
import guards from './guards.md';
import implementer from './implementer.md';
import issueDraft from './issue-draft.md';
import issueDrafter from './issue-drafter.md';
import issueReview from './issue-review.md';
import issueReviewer from './issue-reviewer.md';
import issueRevise from './issue-revise.md';
import repair from './repair.md';
import review from './review.md';
import reviewAgain from './review-again.md';
import reviewer from './reviewer.md';
import revise from './revise.md';
import writeAgain from './write-again.md';
import writeCode from './write-code.md';
import writeTests from './write-tests.md';

const BUILT_IN = {
  drafter,
  reviewer,
  draft,
  repair,
  revise,
  'edit-format': editFormat,
  review,
  'review-again': reviewAgain,
  'lld-template': template,
  implementer,
  'write-tests': writeTests,
  'write-code': writeCode,
  'write-again': writeAgain,
  guards,
  'code-reviewer': codeReviewer,
  'code-review': codeReview,
  'issue-drafter': issueDrafter,
  'issue-reviewer': issueReviewer,
  'issue-draft': issueDraft,
  'issue-revise': issueRevise,
  'issue-review': issueReview,
  'issue-template': issueTemplate,
};

export type PromptName = keyof typeof BUILT_IN;
export const PROMPT_NAMES = Object.keys(BUILT_IN) as PromptName[];

/** What a prompt may refer to. A repository's own prompt with another name in it is refused before anything starts. */
const PLACEHOLDERS: Record<PromptName, readonly string[]> = {
  drafter: [],
  reviewer: [],
  draft: ['id', 'title'],
  repair: ['id', 'title', 'findings', 'edit-format'],
  revise: ['id', 'title', 'edit-format'],
  'edit-format': [],
  review: ['id', 'title', 'round', 'max-rounds'],
  'review-again': ['problems'],
  'lld-template': [],
  implementer: [],
  'write-tests': ['id', 'title', 'scenarios', 'runner', 'command', 'test-files', 'added'],
  'write-code': ['id', 'title', 'runner', 'command', 'files'],
  'write-again': ['failures'],
  guards: ['id', 'title', 'scenarios'],
  'code-reviewer': [],
  'code-review': ['id', 'title', 'round', 'max-rounds'],
  'issue-drafter': [],
  'issue-reviewer': [],
  'issue-draft': ['id', 'title'],
  'issue-revise': ['id', 'title', 'edit-format'],
  'issue-review': ['id', 'title', 'round', 'max-rounds'],
  'issue-template': [],
};

/** Their placeholders are for the drafter to replace. */
const TEMPLATES: ReadonlySet<PromptName> = new Set(['lld-template', 'issue-template'] as const);

export interface Prompts {
  fill(name: PromptName, values?: Record<string, string | number>): string;
}

/** The built-in prompts with those that a repository brings (`agentos/prompts/<name>.md`) in their place. */
export function createPrompts(overrides: ReadonlyMap<PromptName, { file: string; text: string }>): Prompts {
  for (const [name, { file, text }] of overrides) {
    if (text.trim() === '') throw new AgentosError({ code: 'prompt-invalid', file, reason: 'is empty' });
    if (TEMPLATES.has(name)) continue;
    for (const [, placeholder = ''] of text.matchAll(/\{\{([^}]*)\}\}/g)) {
      if (PLACEHOLDERS[name].includes(placeholder)) continue;
      const known = PLACEHOLDERS[name].map((entry) => `{{${entry}}}`).join(', ') || 'none';
      throw new AgentosError({
        code: 'prompt-invalid',
        file,
        reason: `uses {{${placeholder}}}; known there: ${known}`,
      });
    }
  }
  return {
    fill(name, values = {}) {
      const text = overrides.get(name)?.text ?? BUILT_IN[name];
      if (TEMPLATES.has(name)) return text.trim();
      return text.replace(/\{\{([^}]*)\}\}/g, (_, key: string) => String(values[key] ?? '')).trim();
    },
  };
}
