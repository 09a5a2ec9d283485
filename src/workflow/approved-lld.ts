import { dirname } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { bodyHash, type Headed, isApproved, isUntouched, readHeader, writeFrontMatter } from '../documents/header.ts';
import { isLld } from '../documents/lld/sections.ts';
import { readText, unreadableReason } from '../process/text-file.ts';
import { type Issue, isHashOf } from '../source/port.ts';

/** Who approved what, as the front matter of the LLD says it. */
export interface ApprovedBy {
  drafter: string;
  reviewer: string;
  /** By the recorded tour: no model was asked. */
  recorded: boolean;
  rounds: number;
  baseCommit: string;
}

/** Nothing in it depends on the time, so that a run that was killed and one that was not end in the same file. */
export function approvedLld(body: string, issue: Issue, by: ApprovedBy): string {
  return writeFrontMatter(body, {
    issue: /^[1-9]\d{0,14}$/.test(issue.id) ? Number(issue.id) : issue.id,
    title: issue.title,
    status: 'approved',
    drafter: by.drafter,
    reviewer: by.reviewer,
    ...(by.recorded ? { note: 'Part of the recorded tour: no model was asked.' } : {}),
    rounds: by.rounds,
    baseCommit: by.baseCommit,
    issueHash: issue.hash,
    bodyHash: bodyHash(body),
  });
}

/** Null where there is none. One that can't be read is an error: taken for absent, it would be replaced. */
export async function readLldFile(path: string): Promise<Headed | null> {
  const text = readLldText(path);
  return text === null ? null : readHeader(text);
}

/** The same as text. */
export function readLldText(path: string): string | null {
  try {
    return readText(path, dirname(path));
  } catch (error) {
    throw new AgentosError({ code: 'lld-unreadable', path, reason: unreadableReason(error) }, { cause: error });
  }
}

/** Approved, for what the issue says now, and not edited since. */
export function isApprovedFor(lld: Headed, issue: Issue): boolean {
  return isApproved(lld) && isHashOf(lld.header.issueHash, issue);
}

/** Approved and not edited since, but for an issue that said something else. */
export function isApprovedForAnother(lld: Headed, issue: Issue): boolean {
  return isApproved(lld) && !isHashOf(lld.header.issueHash, issue);
}

/**
 * A person's own version: written by hand, or edited after its approval. It becomes the draft that is checked and
 * reviewed, so that no person's work is overwritten. An untouched LLD for an older text of the issue may be replaced.
 */
export function editedLld(lld: Headed): string | null {
  if (isUntouched(lld)) return null;
  // What was approved once is an LLD, whatever a person made of it.
  return lld.header.bodyHash !== null || isLld(lld.body) ? lld.body : null;
}
