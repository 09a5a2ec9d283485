import { dirname } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { bodyHash, type Headed, isApproved, isUntouched, readHeader, writeFrontMatter } from '../documents/header.ts';
import { isLld } from '../documents/lld/sections.ts';
import { namesInside, readText, unreadableReason } from '../process/text-file.ts';
import { type Issue, isHashOf } from '../source/port.ts';

/** For the front matter of an approved document. */
export interface ApprovedBy {
  drafter: string;
  reviewer: string;
  /** From the recorded tour: no model was asked. */
  recorded: boolean;
  rounds: number;
  baseCommit: string;
}

/** It has no time in it, so that an item that was killed and resumed writes the same file. */
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

/** The items that have an LLD, approved or not, 2 before 10. */
export function designIds({ llds, repository }: Pick<Paths, 'llds' | 'repository'>): ItemId[] {
  const ids = namesInside(llds, repository).flatMap((name) => /^LLD-(.+)\.md$/.exec(name)?.[1] ?? []);
  return ids.filter(isItemId).sort(new Intl.Collator('en', { numeric: true }).compare);
}

/** Null if there is no such file. One that can't be read is an error: if it counted as absent, it would be replaced. */
export async function readLldFile(path: string): Promise<Headed | null> {
  const text = readLldText(path);
  return text === null ? null : readHeader(text);
}

export function readLldText(path: string): string | null {
  try {
    return readText(path, dirname(path));
  } catch (error) {
    throw new AgentosError({ code: 'lld-unreadable', path, reason: unreadableReason(error) }, { cause: error });
  }
}

/** Approved for the present text of the issue, and not edited since. */
export function isApprovedFor(lld: Headed, issue: Issue): boolean {
  return isApproved(lld) && isHashOf(lld.header.issueHash, issue);
}

/** Approved and not edited since, but for another text of the issue. */
export function isApprovedForAnother(lld: Headed, issue: Issue): boolean {
  return isApproved(lld) && !isHashOf(lld.header.issueHash, issue);
}

/**
 * A person's own version, written by hand or edited after its approval: it is reviewed as the draft, so that no work of a
 * person is overwritten. Null: the file is as it was approved, or is not an LLD, and may be replaced.
 */
export function editedLld(lld: Headed): string | null {
  if (isUntouched(lld)) return null;
  // A file that was approved once is an LLD, whatever it looks like now.
  return lld.header.bodyHash !== null || isLld(lld.body) ? lld.body : null;
}
