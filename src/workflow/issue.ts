import { relative } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { formatCoverage } from '../documents/coverage.ts';
import { checkIssue } from '../documents/issue/checks.ts';
import { describeDuplicate, findDuplicates, type KnownWork, LIKELY_DUPLICATE } from '../documents/issue/duplicates.ts';
import { withoutReviewLog, withReviewLog } from '../documents/lld/review-log.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import { type Issue, type IssueSource, isHashOf } from '../source/port.ts';
import { approvedDocument, type DocumentDependencies, type DocumentResult } from './document.ts';
import { approvedIssue, type IssueOfBrief, type IssueOrigin, issueOfBrief, issuesOf } from './issue-file.ts';
import { writeNumberedIssue } from './issue-number.ts';
import { issueSubject, type LookAlike } from './issue-questions.ts';

const EXCERPT_CHARS = 2_500;
const MOST_EXCERPTS = 2;

export interface IssueDependencies extends DocumentDependencies {
  brief: Issue;
  issues: IssueSource;
  /** Every issue and every approved LLD. */
  knownWork: () => Promise<(KnownWork & IssueOrigin)[]>;
}

interface IssueBeginning {
  lookAlikes: LookAlike[];
  /** The folder is named like an issue, and that issue's versions are in the usual place. */
  sharesName: boolean;
}

/**
 * One brief becomes a reviewed issue. Its number is taken by the finished file alone, so that a discussion costs none. The
 * issue that was written from an earlier text of the brief is revised in its place.
 */
export async function runIssue(deps: IssueDependencies): Promise<DocumentResult> {
  const { brief, paths, prompts, signal, emit, mask } = deps;
  const known = await deps.knownWork();
  const existing = await existingIssue(deps, known);
  const pathOf = (id: ItemId): string => paths.issue(id);
  // Written by an attempt that died before it could say so.
  if (existing !== null && isHashOf(existing.briefHash, brief)) return succeeded([pathOf(existing.issue.id)]);

  const given = existing && !existing.untouched ? existing.body : null;
  const lineageOf = (begun: IssueBeginning): string =>
    begun.sharesName ? paths.briefLineage(brief.id) : paths.lineage(brief.id);
  const approved = await approvedDocument<IssueBeginning>(deps, {
    workflow: 'issue',
    input: brief,
    inputs: { brief: brief.hash, issue: existing?.issue.rawHash ?? null },
    givenDraft: given,
    replaced: null,
    begin: () => {
      const others = known.filter(({ id }) => id !== existing?.issue.id);
      return Promise.resolve({
        lookAlikes: lookAlikesOf(brief, others, mask),
        sharesName: sharesName(brief.id, known),
      });
    },
    lineage: lineageOf,
    onBegun: ({ lookAlikes }) => {
      for (const work of lookAlikes) emit({ type: 'notice', text: `looks like ${describeDuplicate(work)}` });
    },
    subject: ({ context, lookAlikes }, begunWith) => {
      const current = given === null ? (existing?.body ?? null) : null;
      return issueSubject({ brief: begunWith, context, lookAlikes, current, prompts });
    },
    check: (draft) => {
      const { findings, coverage } = checkIssue(draft);
      return { findings, coverage: formatCoverage(coverage) };
    },
  });
  if ('ended' in approved) return approved.ended;

  const { text, reviewLog, beginning, lineage, by } = approved;
  const folder = lineageOf(beginning);
  const discuss = (reason: string): DocumentResult => ({ status: 'discuss', reason, outputs: [folder] });
  // Whoever designs from the issue has no use for the log; the lineage keeps it.
  const issue = approvedIssue(withoutReviewLog(text), brief, by);
  signal.throwIfAborted();
  await lineage.add('final', withReviewLog(issue, reviewLog));
  const id = existing === null ? await writeNumberedIssue(paths, issue) : await replaceIssue(deps, existing, issue);
  if (id === null) return discuss('the issue was changed by somebody while its revision was reviewed: run it again');
  emit({ type: 'file-written', path: relative(paths.repository, pathOf(id)), what: 'issue' });
  return succeeded([pathOf(id), folder]);
}

/** The folder for the versions of a brief that is looked at for the first time. */
export function briefFolder(paths: Paths, brief: ItemId, known: readonly { id: string }[]): string {
  return sharesName(brief, known) ? paths.briefLineage(brief) : paths.lineage(brief);
}

function sharesName(brief: ItemId, known: readonly { id: string }[]): boolean {
  return /^\d+$/.test(brief) || known.some(({ id }) => id === brief);
}

function succeeded(outputs: string[]): DocumentResult {
  return { status: 'succeeded', reason: null, outputs };
}

/** The one for what the brief says now, else the first that was ever written from it. */
async function existingIssue(
  { brief, issues }: IssueDependencies,
  known: readonly (KnownWork & IssueOrigin)[],
): Promise<IssueOfBrief | null> {
  const all = issuesOf(
    brief.id,
    known.filter(({ kind }) => kind === 'issue'),
  );
  const origin = all.find(({ fields }) => isHashOf(fields['briefHash'], brief)) ?? all[0];
  return origin === undefined ? null : issueOfBrief(await issues.read(origin.id));
}

/** Nobody's work is overwritten: a text that is not the one the revision began with stays. */
async function replaceIssue(
  { issues, paths }: IssueDependencies,
  { issue }: IssueOfBrief,
  text: string,
): Promise<ItemId | null> {
  const now = await issues.read(issue.id).catch(() => null);
  if (now?.raw !== issue.raw) return null;
  await writeFileAtomic(paths.issue(issue.id), text);
  return issue.id;
}

/** With the beginning of what may be the same, so that a reviewer can decide. */
function lookAlikesOf(brief: Issue, known: readonly KnownWork[], mask: (text: string) => string): LookAlike[] {
  return findDuplicates(brief, known).map((duplicate, index) => {
    const isLikely = duplicate.score >= LIKELY_DUPLICATE && index < MOST_EXCERPTS;
    const text = isLikely ? known.find(({ id }) => id === duplicate.id)?.text : undefined;
    return { ...duplicate, excerpt: text === undefined ? null : mask(text.trim().slice(0, EXCERPT_CHARS)) };
  });
}
