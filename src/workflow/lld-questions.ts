import { LLD_FORM } from '../documents/lld/form.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { tagged } from '../prompts/tags.ts';
import type { Issue } from '../source/port.ts';
import type { DocumentSubject } from './document-questions.ts';

export interface LldSubjectOptions {
  issue: Pick<Issue, 'id' | 'title' | 'body'>;
  /** The repository as the drafter is shown it. */
  context: string;
  prompts: Prompts;
}

/** An issue as models are shown it. */
export function shownIssue({ title, body }: Pick<Issue, 'title' | 'body'>): string {
  return `# ${title}\n\n${body}`;
}

/** What is asked about an LLD. */
export function lldSubject({ issue, context, prompts }: LldSubjectOptions): DocumentSubject {
  return {
    id: issue.id,
    title: issue.title,
    form: LLD_FORM,
    shown: [tagged('issue', shownIssue(issue))],
    shownToDrafter: [tagged('repository', context), tagged('template', prompts.fill('lld-template'))],
    names: {
      drafter: 'drafter',
      draft: 'draft',
      repair: 'repair',
      revise: 'revise',
      reviewer: 'reviewer',
      review: 'review',
    },
  };
}
