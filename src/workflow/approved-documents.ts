import { dirname } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { type ItemId, isItemId, parseItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import {
  bodyHash,
  type Headed,
  type Header,
  isApproved,
  issueField,
  isUntouched,
  readHeader,
  writeFrontMatter,
} from '../documents/header.ts';
import { isLld } from '../documents/lld/document.ts';
import { makeFolder, namesInside, readText, unreadableReason, writeFileExclusive } from '../process/files.ts';
import { type Issue, isHashOf } from '../source/port.ts';

/*
 * Approved LLDs, and issues that were written from briefs, as files. They have no time in them, and an issue has no number, so that
 * an item that was killed and resumed writes the same text.
 */

/** For the front matter of an approved document. */
export interface ApprovedBy {
  drafter: string;
  reviewer: string;
  /** From the recorded tour: no model was asked. */
  recorded: boolean;
  rounds: number;
  baseCommit: string;
}

export function approvedLld(body: string, issue: Issue, by: ApprovedBy): string {
  return writeFrontMatter(body, {
    issue: issueField(issue.id),
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

export function approvedIssue(body: string, brief: Issue, { drafter, reviewer, rounds }: ApprovedBy): string {
  const by = { drafter, reviewer, rounds };
  const hashes = { briefHash: brief.hash, bodyHash: bodyHash(body) };
  return writeFrontMatter(body, { brief: brief.id, status: 'approved', ...by, ...hashes });
}

const byNumber = new Intl.Collator('en', { numeric: true }).compare;

/** The items that have an LLD, approved or not, 2 before 10. */
export function designIds({ llds, repository }: Pick<Paths, 'llds' | 'repository'>): ItemId[] {
  const ids = namesInside(llds, repository).flatMap((name) => /^LLD-(.+)\.md$/.exec(name)?.[1] ?? []);
  return ids.filter(isItemId).sort(byNumber);
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

/** An issue, whose front matter may name the brief that it was written from. */
export interface IssueOrigin {
  id: ItemId;
  header: Header;
}

/** The issues that were written from a brief, 2 before 10; several only if a person made copies. */
export function issuesOf<T extends IssueOrigin>(brief: ItemId, issues: readonly T[]): T[] {
  return issues.filter(({ header }) => header.brief === brief).toSorted((a, b) => byNumber(a.id, b.id));
}

/** A try fails only if another process takes the number at the same moment. */
const MOST_TRIES = 1_000;

/** Writes an issue under the next free number. Creating the file takes the number, so that no two processes get the same. */
export async function writeNumberedIssue(paths: Paths, text: string): Promise<ItemId> {
  const first = nextNumber(paths);
  await makeFolder(paths.issues);
  for (let number = first; number < first + MOST_TRIES; number++) {
    const id = parseItemId(String(number));
    if (writeFileExclusive(paths.issue(id), text, { flush: true })) return id;
  }
  const reason = `no free number after ${MOST_TRIES} tries`;
  throw new AgentosError({ code: 'output-unwritable', path: paths.issues, reason });
}

/**
 * Above every number in use, also of deleted issues: a new issue must not get the design or lineage of another one. An id with
 * more digits than a number can hold is a name.
 */
function nextNumber({ issues, llds, lineages, repository }: Paths): number {
  const places: [folder: string, name: RegExp][] = [
    [issues, /^(\d{1,15})\.md$/],
    [llds, /^LLD-(\d{1,15})\.md$/],
    [lineages, /^(\d{1,15})$/],
  ];
  const used = places.flatMap(([folder, form]) =>
    namesInside(folder, repository).map((name) => Number(form.exec(name)?.[1] ?? 0)),
  );
  return used.reduce((highest, number) => Math.max(highest, number), 0) + 1;
}
