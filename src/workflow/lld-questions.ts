import { LLD_FORM } from '../governance/lld/form.ts';
import type { IssueMaterial } from '../governance/material.ts';
import type { Prompts } from '../governance/prompts.ts';
import { tagged } from '../governance/tagged.ts';
import type { DocumentSubject } from './document-questions.ts';

export interface LldSubjectOptions {
  issue: IssueMaterial;
  /** The repository as the drafter is shown it. */
  context: string;
  paths: readonly string[];
  prompts: Prompts;
}

/** What is asked about an LLD. */
export function lldSubject({ issue, context, paths, prompts }: LldSubjectOptions): DocumentSubject {
  return {
    id: issue.id,
    title: issue.title,
    form: LLD_FORM,
    shown: [tagged('issue', `# ${issue.title}\n\n${issue.body}`)],
    shownToDrafter: [tagged('repository', context), tagged('template', prompts.fill('lld-template'))],
    names: {
      drafter: 'drafter',
      draft: 'draft',
      repair: 'repair',
      revise: 'revise',
      reviewer: 'reviewer',
      review: 'review',
    },
    material: {
      draft: () => ({ task: 'draft', issue, paths }),
      rework: (task, draft, round) => ({ task, issue, draft, round }),
      review: ({ draft, round, checks, coverage }) => ({ task: 'review', issue, draft, round, checks, coverage }),
    },
  };
}
