import { basename, dirname, join, relative } from 'node:path';
import { codeOf, type ErrorCode, toErrorRecord } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import type { Replaced } from '../../core/plan.ts';
import type { Headed } from '../../documents/header.ts';
import { namesInside, readText } from '../../process/files.ts';
import { createBriefSource, parseIssue } from '../../source/directory.ts';
import { readKnownIssues } from '../../source/known-work.ts';
import { type Issue, type IssueHead, type IssueSource, isHashOf, shownIssue } from '../../source/port.ts';
import { isApprovedFor, isApprovedForAnother, issuesOf, readLldFile } from '../../workflow/approved-documents.ts';
import { type Closed, closedItems, parseVersionName } from '../../workflow/lineage.ts';
import { type Batch, blocked, type CollectedItem, readSome, serviceState } from '../pipeline.ts';
import { documentDemand } from '../planned-cost.ts';

export const lldBatch: Batch = {
  workflow: 'lld',
  roles: ['drafter', 'reviewer'],
  /** An issue is done if it has an approved LLD for its current text. */
  async collect({ paths, git, source }, ids) {
    // Most issues have no LLD: listing the folder is faster than ten thousand failed attempts to open a file.
    const written = new Set(namesInside(paths.llds, paths.repository));
    const lldOf = async ({ id }: Issue): Promise<Headed | null> =>
      written.has(basename(paths.lld(id))) ? readLldFile(paths.lld(id)) : null;
    const lineages = new Set(namesInside(paths.lineages, paths.repository));
    return readBacklog(source, ids, {
      isNew: (id) => !written.has(basename(paths.lld(id))) && !lineages.has(id),
      done: async (issue) => {
        const lld = await lldOf(issue);
        return lld !== null && isApprovedFor(lld, issue);
      },
      replaces: async (issue) => {
        const lld = await lldOf(issue);
        if (lld === null || !isApprovedForAnother(lld, issue)) return null;
        const difference = await issueDifference(paths.lineage(issue.id), issue, lld.header.issueHash);
        return { path: relative(paths.repository, paths.lld(issue.id)), difference };
      },
      closed: await closedItems({ paths, git }, 'lld'),
    });
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
    return readBacklog(createBriefSource(paths.briefs), ids, {
      done: async (brief) => {
        if (issuesOf(brief.id, issues).some(({ header }) => isHashOf(header.briefHash, brief))) return true;
        if (!config.remote.create) return false;
        const { createdFrom } = await import('../services/services.ts');
        return (await createdFrom(project, brief)) !== null;
      },
      closed: await closedItems({ paths, git }, 'issue'),
    });
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

interface ItemStates {
  /** Nothing was made of it yet, so its text need not be read. */
  isNew?: (id: ItemId) => boolean;
  done: (item: Issue) => boolean | Promise<boolean>;
  /** Called for items that are not done: whether a person dropped it, or it was already done. */
  closed: (item: Issue) => Promise<Closed | null>;
  /** Called for pending items. */
  replaces?: (item: Issue) => Promise<Replaced | null>;
}

/** Exactly these ids (a missing one is an error), or all. */
async function readBacklog(
  source: IssueSource,
  ids: readonly ItemId[] | 'all',
  is: ItemStates,
): Promise<CollectedItem[]> {
  if (ids !== 'all') return readSome([...new Set(ids)], (id) => backlogItem(id, source, is));
  const all = await readSome(await source.ids(), (id) =>
    backlogItem(id, source, is, is.isNew?.(id) ?? false).catch((error: unknown) => {
      // It was closed after the list was read.
      if (codeOf(error) !== 'issue-not-taken') throw error;
      return null;
    }),
  );
  return all.filter((item) => item !== null);
}

function newItem({ id, title, chars, blockers }: IssueHead): CollectedItem {
  const plain = { id, title, chars };
  return blockers === 0 ? { ...plain, state: 'pending' } : { ...plain, ...blocked(id, [], blockers) };
}

/** An unreadable item is not skipped: it fails with the reason. */
async function backlogItem(id: ItemId, source: IssueSource, is: ItemStates, isNew = false): Promise<CollectedItem> {
  try {
    if (isNew) return newItem(await source.look(id));
    const item = await source.read(id);
    const { title, labels } = item;
    const plain = { id, title, chars: item.raw.length, labels, issue: item };
    if (await is.done(item)) return { ...plain, state: 'done' };
    const closed = (await is.closed(item)) ?? serviceState(item);
    if (closed !== null) return { ...plain, ...closed };
    const replaces = (await is.replaces?.(item)) ?? null;
    return { ...plain, state: 'pending', ...(replaces === null ? {} : { replaces }) };
  } catch (error) {
    if (!UNREADABLE.has(codeOf(error))) throw error;
    return { id, title: id, state: 'unreadable', error: toErrorRecord(error) };
  }
}

const MOST_LINES = 20;
const MOST_CHARS = 160;

/** How an issue changed since its LLD was approved, as the first lines of a diff. Null: the lineage does not have the old text. */
async function issueDifference(folder: string, issue: Issue, issueHash: string | null): Promise<string[] | null> {
  const designed = await designedIssue(folder, issue, issueHash);
  if (designed === null) return null;
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

/** The version of the issue in the lineage that has this hash. */
async function designedIssue(folder: string, { id }: Issue, issueHash: string | null): Promise<Issue | null> {
  const names = namesInside(folder, dirname(folder)).filter((name) => parseVersionName(name)?.kind === 'issue');
  for (const name of names.reverse()) {
    const version = parseIssue(id, readText(join(folder, name), folder) ?? '');
    if (isHashOf(issueHash, version)) return version;
  }
  return null;
}
