import { join } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import issueTemplate from '../documents/issue-template.md';
import template from '../documents/lld-template.md';
import { normaliseText } from '../markdown/markdown.ts';
import { readText, unreadableReason } from '../process/files.ts';
import alreadyDone from './already-done.md';
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
import react from './react.md';
import repair from './repair.md';
import resolve from './resolve.md';
import review from './review.md';
import reviewAgain from './review-again.md';
import reviewAlreadyDone from './review-already-done.md';
import reviewer from './reviewer.md';
import revise from './revise.md';
import { taggedWords } from './tags.ts';
import writeAgain from './write-again.md';
import writeCode from './write-code.md';
import writeTests from './write-tests.md';

/** Each with its placeholders. A repository's own prompt with another placeholder is refused before anything starts. */
const BUILT_IN = {
  drafter: [drafter],
  reviewer: [reviewer],
  draft: [draft, 'id', 'title'],
  repair: [repair, 'id', 'title', 'findings', 'edit-format'],
  revise: [revise, 'id', 'title', 'edit-format'],
  'edit-format': [editFormat],
  review: [review, 'id', 'title', 'round', 'max-rounds'],
  'review-again': [reviewAgain, 'problems'],
  'review-already-done': [reviewAlreadyDone, 'id', 'title', 'round', 'max-rounds'],
  'lld-template': [template],
  implementer: [implementer],
  'write-tests': [writeTests, 'id', 'title', 'scenarios', 'runner', 'command', 'test-files', 'added'],
  'write-code': [writeCode, 'id', 'title', 'runner', 'command', 'files'],
  'write-again': [writeAgain, 'failures'],
  resolve: [resolve, 'id', 'title', 'others', 'runner', 'command', 'files'],
  react: [react, 'id', 'title', 'base', 'asked', 'tests', 'runner', 'command'],
  guards: [guards, 'id', 'title', 'scenarios'],
  'already-done': [alreadyDone, 'id', 'title', 'tests'],
  'code-reviewer': [codeReviewer],
  'code-review': [codeReview, 'id', 'title', 'round', 'max-rounds'],
  'issue-drafter': [issueDrafter],
  'issue-reviewer': [issueReviewer],
  'issue-draft': [issueDraft, 'id', 'title'],
  'issue-revise': [issueRevise, 'id', 'title', 'edit-format'],
  'issue-review': [issueReview, 'id', 'title', 'round', 'max-rounds'],
  'issue-template': [issueTemplate],
} satisfies Record<string, [text: string, ...placeholders: string[]]>;

export type PromptName = keyof typeof BUILT_IN;
export const PROMPT_NAMES = Object.keys(BUILT_IN) as PromptName[];

/** The drafter replaces their placeholders. */
const TEMPLATES: ReadonlySet<PromptName> = new Set(['lld-template', 'issue-template'] as const);

export interface Prompts {
  fill(name: PromptName, values?: Record<string, string | number>): string;
}

/** The built-in prompts, or the repository's own (`agentos/prompts/<name>.md`) in place of them. */
export function createPrompts(overrides: ReadonlyMap<PromptName, PromptFile>): Prompts {
  for (const [name, { file, text }] of overrides) {
    if (text.trim() === '') throw new AgentosError({ code: 'prompt-invalid', file, reason: 'is empty' });
    if (TEMPLATES.has(name)) continue;
    const [, ...placeholders]: string[] = BUILT_IN[name];
    for (const [, placeholder = ''] of text.matchAll(/\{\{([^}]*)\}\}/g)) {
      if (placeholders.includes(placeholder)) continue;
      const known = placeholders.map((entry) => `{{${entry}}}`).join(', ') || 'none';
      throw new AgentosError({
        code: 'prompt-invalid',
        file,
        reason: `uses {{${placeholder}}}; known there: ${known}`,
      });
    }
  }
  return {
    fill(name, values = {}) {
      const text = overrides.get(name)?.text ?? BUILT_IN[name][0];
      if (TEMPLATES.has(name)) return text.trim();
      const valueOf = (key: string): string => {
        const value = String(values[key] ?? '');
        return key === 'title' ? taggedWords('title', value) : value;
      };
      return text.replace(/\{\{([^}]*)\}\}/g, (_, key: string) => valueOf(key)).trim();
    },
  };
}

export type PromptFiles = [name: PromptName, prompt: PromptFile][];

interface PromptFile {
  file: string;
  text: string;
}

/** The repository's own prompts. One that can't be filled is refused before anything starts. */
export function readPromptFiles(directory: string): PromptFiles {
  const files: PromptFiles = [];
  for (const name of PROMPT_NAMES) {
    const file = join(directory, `${name}.md`);
    try {
      const text = readText(file, directory);
      if (text !== null) files.push([name, { file, text: normaliseText(text) }]);
    } catch (error) {
      throw new AgentosError({ code: 'prompt-invalid', file, reason: unreadableReason(error) }, { cause: error });
    }
  }
  createPrompts(new Map(files));
  return files;
}
