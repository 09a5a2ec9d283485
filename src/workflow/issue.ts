import { dirname, relative } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { formatCoverage } from '../documents/coverage.ts';
import { isUntouched, readHeader } from '../documents/header.ts';
import { checkIssue } from '../documents/issue.ts';
import { ISSUE_FORM } from '../documents/revise/reply.ts';
import { withoutReviewLog, withReviewLog } from '../documents/revise/review-log.ts';
import { writeFileAtomic } from '../process/files.ts';
import { tagged } from '../prompts/tags.ts';
import { type Issue, type IssueSource, isHashOf, shownIssue } from '../source/port.ts';
import { approvedIssue, type IssueOrigin, issuesOf, writeNumberedIssue } from './approved-documents.ts';
import { approvedDocument, type DocumentRepository } from './document.ts';
import type { DocumentSubject } from './document-review.ts';
import { type Duplicate, describeDuplicate, findDuplicates, type KnownWork, LIKELY_DUPLICATE } from './duplicates.ts';
import type { ItemContext, ItemResult } from './item.ts';

const EXCERPT_CHARS = 2_500;

export interface BriefWork {
  brief: Issue;
  issues: IssueSource;
  /** The parent creates the issue on the service: no file is written for it here. */
  isCreatedElsewhere: boolean;
  /** Every issue and every approved LLD. */
  known: readonly (KnownWork & IssueOrigin)[];
}

/** Existing work that is similar to the brief; with the beginning of its text if it may be the same. */
type LookAlike = Duplicate & { excerpt: string | null };

interface IssueBeginning {
  lookAlikes: LookAlike[];
  /** An issue has the brief's name, and its versions are in the usual place. */
  sharesName: boolean;
}

/**
 * Turns a brief into a reviewed issue. Only the finished file takes a number. An issue that was written from an earlier text
 * of the brief is revised in its place.
 */
export async function runIssue(
  item: ItemContext,
  repository: DocumentRepository,
  { brief, issues, isCreatedElsewhere, known }: BriefWork,
): Promise<ItemResult> {
  const { paths, signal, emit, mask } = item;
  const existing = await existingIssue(brief, issues, known);
  const written = existing && readHeader(existing.raw);
  // An attempt that was killed right after it wrote the issue.
  if (existing && isHashOf(written?.header.briefHash, brief)) return succeeded([paths.issue(existing.id)]);

  const isEdited = written !== null && !isUntouched(written);
  const approved = await approvedDocument<IssueBeginning>(item, repository, {
    input: brief,
    inputs: { brief: brief.hash, issue: existing?.rawHash ?? null },
    givenDraft: isEdited ? written.body : null,
    replaced: null,
    begin: () => {
      const others = known.filter(({ id }) => id !== existing?.id);
      return { lookAlikes: lookAlikesOf(brief, others, mask), sharesName: sharesName(brief.id, known) };
    },
    lineage: (begun) => (begun.sharesName ? paths.briefLineage(brief.id) : paths.lineage(brief.id)),
    subject: (beginning, begunWith) => {
      for (const work of beginning.lookAlikes) emit({ type: 'notice', text: `looks like ${describeDuplicate(work)}` });
      return issueSubject(item, begunWith, beginning, isEdited ? null : (written?.body ?? null));
    },
    check: (draft) => {
      const { findings, coverage } = checkIssue(draft);
      return { findings, coverage: formatCoverage(coverage) };
    },
  });
  if ('ended' in approved) return approved.ended;

  const { text, reviewLog, lineage, by } = approved;
  // A designer has no use for the review log; the lineage keeps it.
  const issue = approvedIssue(withoutReviewLog(text), brief, by);
  signal.throwIfAborted();
  const final = await lineage.add('final', withReviewLog(issue, reviewLog));
  if (isCreatedElsewhere && existing === null) return succeeded([final]);
  const folder = dirname(final);
  if (existing !== null) {
    const now = await issues.read(existing.id).catch(() => null);
    if (now?.raw !== existing.raw) {
      const reason = 'the issue was edited while its revision was reviewed: run it again';
      return { status: 'discuss', reason, outputs: [folder] };
    }
    await writeFileAtomic(paths.issue(existing.id), issue);
  }
  const id = existing?.id ?? (await writeNumberedIssue(paths, issue));
  emit({ type: 'file-written', path: relative(paths.repository, paths.issue(id)), what: 'issue' });
  return succeeded([paths.issue(id), folder]);
}

/** The lineage of a brief that has none yet. */
export function briefFolder(paths: Paths, brief: ItemId, known: readonly { id: string }[]): string {
  return sharesName(brief, known) ? paths.briefLineage(brief) : paths.lineage(brief);
}

function sharesName(brief: ItemId, known: readonly { id: string }[]): boolean {
  return /^\d+$/.test(brief) || known.some(({ id }) => id === brief);
}

function succeeded(outputs: string[]): ItemResult {
  return { status: 'succeeded', reason: null, outputs };
}

/** The issue of the brief's present text, else the first one that was written from the brief. */
async function existingIssue(
  brief: Issue,
  issues: IssueSource,
  known: readonly (KnownWork & IssueOrigin)[],
): Promise<Issue | null> {
  const all = issuesOf(
    brief.id,
    known.filter(({ kind }) => kind === 'issue'),
  );
  const origin = all.find(({ header }) => isHashOf(header.briefHash, brief)) ?? all[0];
  return origin === undefined ? null : issues.read(origin.id);
}

function lookAlikesOf(brief: Issue, known: readonly KnownWork[], mask: (text: string) => string): LookAlike[] {
  return findDuplicates(brief, known).map((duplicate) => {
    const { text = '' } = known.find(({ id }) => id === duplicate.id) ?? {};
    const isLikely = duplicate.score >= LIKELY_DUPLICATE;
    return { ...duplicate, excerpt: isLikely ? mask(text.trim().slice(0, EXCERPT_CHARS)) : null };
  });
}

/** `current`: the issue that was written from an earlier text of the brief. */
function issueSubject(
  { prompts }: ItemContext,
  brief: Issue,
  { context, lookAlikes }: IssueBeginning & { context: string },
  current: string | null,
): DocumentSubject {
  const existing = lookAlikes.length === 0 ? [] : [tagged('existing-work', existingWork(lookAlikes))];
  return {
    id: brief.id,
    title: brief.title,
    form: ISSUE_FORM,
    shown: [tagged('brief', shownIssue(brief)), tagged('repository', context), ...existing],
    shownToDrafter: [
      tagged('template', prompts.fill('issue-template')),
      ...(current === null ? [] : [tagged('current-issue', current)]),
    ],
    prefix: 'issue-',
  };
}

function existingWork(lookAlikes: readonly LookAlike[]): string {
  const list = lookAlikes.map((work) => {
    const likely = work.excerpt === null ? '' : ' – perhaps the same: decide whether it is';
    return `- ${describeDuplicate(work)}${likely}`;
  });
  const excerpts = lookAlikes.flatMap(({ id, excerpt }) => (excerpt === null ? [] : [tagged(`work-${id}`, excerpt)]));
  return [list.join('\n'), ...excerpts].join('\n\n');
}
