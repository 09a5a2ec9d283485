import type { ItemId } from '../core/ids.ts';
import { bodyHash, readFrontMatter, writeFrontMatter } from '../documents/lld/front-matter.ts';
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

/** What the front matter of an issue says of the brief that it is from. */
export interface IssueOrigin {
  id: ItemId;
  fields: Readonly<Record<string, unknown>>;
}

/** The issues that were written from a brief, 2 before 10; more than one only where a person made copies. */
export function issuesOf<T extends IssueOrigin>(brief: ItemId, issues: readonly T[]): T[] {
  return issues
    .filter(({ fields }) => String(fields['brief']) === brief)
    .toSorted((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }));
}
