import { basename, dirname, join, relative } from 'node:path';
import { codeOf, type ErrorCode, toErrorRecord } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import { namesInside, readText } from '../../process/files.ts';
import { createBriefSource, parseIssue, readKnownIssues } from '../../source/directory.ts';
import { type Issue, type IssueSource, isHashOf, shownIssue } from '../../source/port.ts';
import { isApprovedFor, isApprovedForAnother, issuesOf, readLldFile } from '../../workflow/approved-documents.ts';
import { closedItems, parseVersionName } from '../../workflow/lineage.ts';
import { type Batch, blocked, type CollectedItem, readSome, serviceState } from '../pipeline.ts';
import { documentDemand } from '../planned-cost.ts';

export const lldBatch: Batch = {
  workflow: 'lld',
  roles: ['drafter', 'reviewer'],
  /** An issue is done if it has an approved LLD for its current text. */
  async collect({ paths, git, source }, ids) {
    // Most issues have no LLD: listing the folder is faster than ten thousand failed attempts to open a file.
    const written = new Set(namesInside(paths.llds, paths.repository));
    const hasLld = (id: ItemId): boolean => written.has(basename(paths.lld(id)));
    const lineages = new Set(namesInside(paths.lineages, paths.repository));
    const closed = await closedItems({ paths, git }, 'lld');
    const judge = async (issue: Issue): Promise<Judged> => {
      const lld = hasLld(issue.id) ? await readLldFile(paths.lld(issue.id)) : null;
      if (lld !== null && isApprovedFor(lld, issue)) return { state: 'done' };
      const found = (await closed(issue)) ?? serviceState(issue);
      if (found !== null) return found;
      if (lld === null || !isApprovedForAnother(lld, issue)) return { state: 'pending' };
      const difference = issueDifference(paths.lineage(issue.id), issue, lld.header.issueHash);
      const path = relative(paths.repository, paths.lld(issue.id));
      return { state: 'pending', replaces: { path, difference: await difference } };
    };
    // Nothing was made of most issues yet, so their text need not be read.
    return readBacklog(source, ids, judge, (id) => !hasLld(id) && !lineages.has(id));
  },
  start: async ({ source }, id, read) => ({ issue: read ?? (await source.read(id)) }),
  demand: documentDemand,
  done: {
    reason: 'its LLD is approved, for what the issue says now',
    outputs: async ({ paths }, { id }) => [paths.lld(id)],
  },
  nothingToDo: 'every issue has an approved LLD for what it says now, or needs none',
};

export const issueBatch: Batch = {
  workflow: 'issue',
  roles: ['drafter', 'reviewer'],
  /** A brief is done if an issue was written from its current text, even if that issue was edited since. */
  async collect(project, ids) {
    const { paths, git, config } = project;
    const issues = await readKnownIssues(paths.issues);
    const closed = await closedItems({ paths, git }, 'issue');
    const isWritten = async (brief: Issue): Promise<boolean> => {
      if (issuesOf(brief.id, issues).some(({ header }) => isHashOf(header.briefHash, brief))) return true;
      if (!config.remote.create) return false;
      const { createdFrom } = await import('../services/services.ts');
      return (await createdFrom(project, brief)) !== null;
    };
    return readBacklog(createBriefSource(paths.briefs), ids, async (brief) =>
      (await isWritten(brief)) ? { state: 'done' } : ((await closed(brief)) ?? { state: 'pending' }),
    );
  },
  async start(project, id, read) {
    const { paths, config } = project;
    const issue = read ?? (await createBriefSource(paths.briefs).read(id));
    if (config.remote.source === null && !config.remote.create) return { issue };
    const { existingLike } = await import('../services/services.ts');
    return { issue, existing: await existingLike(project, issue) };
  },
  demand: documentDemand,
  done: {
    reason: 'its issue is written, from what the brief says now',
    outputs: async ({ paths }, { id }) => {
      const { hash } = await createBriefSource(paths.briefs).read(id);
      const written = issuesOf(id, await readKnownIssues(paths.issues));
      return written.filter(({ header }) => header.briefHash === hash).map((issue) => paths.issue(issue.id));
    },
  },
  nothingToDo: 'every brief has an issue for what it says now',
};

const UNREADABLE: ReadonlySet<ErrorCode | null> = new Set([
  'issue-unreadable',
  'brief-unreadable',
  'lld-unreadable',
  'file-unreadable',
] as const);

type Judged = Pick<CollectedItem, 'state' | 'error' | 'solved' | 'replaces'>;

/** Exactly these ids (a missing one is an error), or all. `isNew`: it is pending, whatever its text says. */
async function readBacklog(
  source: IssueSource,
  ids: readonly ItemId[] | 'all',
  judge: (issue: Issue) => Promise<Judged>,
  isNew: (id: ItemId) => boolean = () => false,
): Promise<CollectedItem[]> {
  const collected = async (id: ItemId): Promise<CollectedItem | null> => {
    try {
      if (ids === 'all' && isNew(id)) {
        const { title, chars, blockers } = await source.look(id);
        return { id, title, chars, ...(blockers === 0 ? { state: 'pending' } : blocked(id, [], blockers)) };
      }
      const issue = await source.read(id);
      const { title, labels, raw } = issue;
      return { id, title, labels, chars: raw.length, issue, ...(await judge(issue)) };
    } catch (error) {
      const code = codeOf(error);
      // It was closed after the list was read.
      if (ids === 'all' && code === 'issue-not-taken') return null;
      // An unreadable item is not skipped: it fails with the reason.
      if (!UNREADABLE.has(code)) throw error;
      return { id, title: id, state: 'unreadable', error: toErrorRecord(error) };
    }
  };
  const all = await readSome(ids === 'all' ? await source.ids() : [...new Set(ids)], collected);
  return all.filter((item) => item !== null);
}

const MOST_LINES = 20;
const MOST_CHARS = 160;

/** How an issue changed since its LLD was approved, as the first lines of a diff. Null: the lineage does not have the old text. */
async function issueDifference(folder: string, issue: Issue, issueHash: string | null): Promise<string[] | null> {
  const names = namesInside(folder, dirname(folder)).filter((name) => parseVersionName(name)?.kind === 'issue');
  const versions = names.map((name) => parseIssue(issue.id, readText(join(folder, name), folder) ?? ''));
  const designed = versions.findLast((version) => isHashOf(issueHash, version));
  if (designed === undefined) return null;
  // Loaded here, because most backlogs have no changed issue.
  const { structuredPatch } = await import('diff');
  const patch = structuredPatch('', '', shownIssue(designed), shownIssue(issue), '', '', { context: 0 });
  const lines = patch.hunks.flatMap((hunk) => hunk.lines).filter((line) => /^[+-]\s*\S/.test(line));
  const shown = lines.slice(0, MOST_LINES).map((line) => {
    const text = `${line.charAt(0)} ${line.slice(1).trim()}`;
    return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS - 1)}…` : text;
  });
  return lines.length > MOST_LINES ? [...shown, `… and ${lines.length - MOST_LINES} more line(s)`] : shown;
}
