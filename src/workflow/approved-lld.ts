import { readFile } from 'node:fs/promises';
import { AgentosError, systemCode } from '../core/errors.ts';
import { bodyHash, readFrontMatter, writeFrontMatter } from '../documents/lld/front-matter.ts';
import { isLld } from '../documents/lld/is-lld.ts';
import { normaliseText } from '../documents/markdown.ts';
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

/** An LLD in its place, as far as its front matter tells. */
export interface LldFile {
  status: string | null;
  issueHash: string | null;
  /** The body is still what was approved. */
  untouched: boolean;
  body: string;
}

/** Null where there is none. One that can't be read is an error: taken for absent, it would be replaced. */
export async function readLldFile(path: string): Promise<LldFile | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const reason = systemCode(error) ?? String(error);
    if (reason === 'ENOENT' || reason === 'ENOTDIR') return null;
    throw new AgentosError({ code: 'lld-unreadable', path, reason }, { cause: error });
  });
  if (text === null) return null;
  const { fields, body } = readFrontMatter(normaliseText(text));
  const field = (name: string): string | null => (typeof fields[name] === 'string' ? fields[name] : null);
  return {
    status: field('status'),
    issueHash: field('issueHash'),
    untouched: field('bodyHash') === bodyHash(body),
    body,
  };
}

/** Approved, for what the issue says now, and not edited since. */
export function isApprovedFor(lld: LldFile, issue: Issue): boolean {
  return lld.status === 'approved' && lld.untouched && isHashOf(lld.issueHash, issue);
}

/** Approved and not edited since, but for an issue that said something else. */
export function isApprovedForAnother(lld: LldFile, issue: Issue): boolean {
  return lld.status === 'approved' && lld.untouched && !isHashOf(lld.issueHash, issue);
}

/**
 * A person's own version: written by hand, or edited after its approval. It becomes the draft that is checked and
 * reviewed, so that no person's work is overwritten. An untouched LLD for an older text of the issue may be replaced.
 */
export function editedLld(lld: LldFile, issue: Issue): string | null {
  if (lld.untouched && !isHashOf(lld.issueHash, issue)) return null;
  return !lld.untouched && isLld(lld.body) ? lld.body : null;
}
