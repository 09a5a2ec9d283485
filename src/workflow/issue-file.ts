import { bodyHash, readFrontMatter, writeFrontMatter } from '../governance/lld/front-matter.ts';
import type { Issue } from '../source/port.ts';
import type { ApprovedBy } from './approved-lld.ts';

/**
 * An issue that was written from a brief, in the form in which `agentos lld` takes it. Nothing in it depends on the time or
 * on its number, so that a run that was killed and one that was not end in the same text.
 */
export function approvedIssue(
  body: string,
  brief: Issue,
  by: Pick<ApprovedBy, 'drafter' | 'reviewer' | 'rounds'>,
): string {
  return writeFrontMatter(body, {
    brief: brief.id,
    status: 'approved',
    drafter: by.drafter,
    reviewer: by.reviewer,
    rounds: by.rounds,
    briefHash: brief.hash,
    bodyHash: bodyHash(body),
  });
}

/** An issue in its place, as far as its front matter tells where it is from. */
export interface IssueOfBrief {
  issue: Issue;
  briefHash: string | null;
  /** The body is still what was approved. */
  untouched: boolean;
  body: string;
}

export function issueOfBrief(issue: Issue): IssueOfBrief {
  const { fields, body } = readFrontMatter(issue.raw);
  return {
    issue,
    briefHash: typeof fields['briefHash'] === 'string' ? fields['briefHash'] : null,
    untouched: fields['bodyHash'] === bodyHash(body),
    body,
  };
}
