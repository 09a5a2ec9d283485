import { type Duplicate, describeDuplicate, LIKELY_DUPLICATE } from '../documents/issue/duplicates.ts';
import { ISSUE_FORM } from '../documents/issue/form.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { tagged } from '../prompts/tags.ts';
import type { Issue } from '../source/port.ts';
import type { DocumentSubject } from './document-questions.ts';

/** Existing work that the brief looks like, and how its text begins where it may be the same. */
export interface LookAlike extends Duplicate {
  excerpt: string | null;
}

export interface IssueSubjectOptions {
  brief: Pick<Issue, 'id' | 'title' | 'body'>;
  /** The repository as the drafter is shown it. */
  context: string;
  lookAlikes: readonly LookAlike[];
  /** The issue that was written from an earlier text of the brief. */
  current: string | null;
  prompts: Prompts;
}

/** What is asked about an issue. */
export function issueSubject({ brief, context, lookAlikes, current, prompts }: IssueSubjectOptions): DocumentSubject {
  const existing = lookAlikes.length === 0 ? [] : [tagged('existing-work', existingWork(lookAlikes))];
  return {
    id: brief.id,
    title: brief.title,
    form: ISSUE_FORM,
    shown: [tagged('brief', `# ${brief.title}\n\n${brief.body}`), ...existing],
    shownToDrafter: [
      tagged('repository', context),
      tagged('template', prompts.fill('issue-template')),
      ...(current === null ? [] : [tagged('current-issue', current)]),
    ],
    names: {
      drafter: 'issue-drafter',
      draft: 'issue-draft',
      repair: 'repair',
      revise: 'issue-revise',
      reviewer: 'issue-reviewer',
      review: 'issue-review',
    },
  };
}

function existingWork(lookAlikes: readonly LookAlike[]): string {
  const list = lookAlikes.map((work) => {
    const likely = work.score >= LIKELY_DUPLICATE ? ' – perhaps the same: decide whether it is' : '';
    return `- ${describeDuplicate(work)}${likely}`;
  });
  const excerpts = lookAlikes.flatMap(({ id, excerpt }) => (excerpt === null ? [] : [tagged(`work-${id}`, excerpt)]));
  return [list.join('\n'), ...excerpts].join('\n\n');
}
