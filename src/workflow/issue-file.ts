import { basename, dirname } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { bodyHash, type Header, isUntouched, readHeader, writeFrontMatter } from '../documents/header.ts';
import { makeFolder, writeFileExclusive } from '../process/files.ts';
import { namesInside } from '../process/text-file.ts';
import type { Issue } from '../source/port.ts';
import type { ApprovedBy } from './approved-lld.ts';

/**
 * The file of an issue that was written from a brief. It has no time and no number in it, so that an item that was killed
 * and resumed writes the same text.
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

/** An issue that was written from a brief. */
export interface IssueOfBrief {
  issue: Issue;
  briefHash: string | null;
  /** The body is still what was approved. */
  untouched: boolean;
  body: string;
}

export function issueOfBrief(issue: Issue): IssueOfBrief {
  const headed = readHeader(issue.raw);
  return { issue, briefHash: headed.header.briefHash, untouched: isUntouched(headed), body: headed.body };
}

/** An issue, whose front matter may name the brief that it was written from. */
export interface IssueOrigin {
  id: ItemId;
  header: Header;
}

/** The issues that were written from a brief, 2 before 10; several only if a person made copies. */
export function issuesOf<T extends IssueOrigin>(brief: ItemId, issues: readonly T[]): T[] {
  return issues
    .filter(({ header }) => header.brief === brief)
    .toSorted((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }));
}

/** A try fails only if another process takes the number at the same moment. */
const MOST_TRIES = 1_000;
/** An id with more digits than a number can hold is a name. */
const NUMBER = /^\d{1,15}$/;

/** Writes an issue under the next free number. Creating the file takes the number, so that no two processes get the same. */
export async function writeNumberedIssue(paths: Paths, text: string): Promise<ItemId> {
  let number = nextNumber(paths);
  await makeFolder(paths.issues);
  for (let attempt = 1; attempt <= MOST_TRIES; attempt++, number++) {
    const id = parseItemId(String(number));
    if (writeFileExclusive(paths.issue(id), text, { flush: true })) return id;
  }
  throw new AgentosError({
    code: 'output-unwritable',
    path: paths.issues,
    reason: `no free number after ${MOST_TRIES} tries`,
  });
}

/** Above every number in use, also of deleted issues: a new issue must not get the design or lineage of another one. */
function nextNumber(paths: Paths): number {
  const id = 'x' as ItemId;
  const places: [folder: string, name: string][] = [paths.issue(id), paths.lld(id), paths.lineage(id)].map((path) => [
    dirname(path),
    basename(path),
  ]);
  const used = places.flatMap(([folder, name]) => {
    const [before = '', after = ''] = name.split('x');
    return namesInside(folder, paths.repository)
      .filter((entry) => entry.startsWith(before) && entry.endsWith(after))
      .map((entry) => entry.slice(before.length, entry.length - after.length))
      .filter((middle) => NUMBER.test(middle))
      .map(Number);
  });
  return used.reduce((highest, number) => Math.max(highest, number), 0) + 1;
}
