import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { codeOf, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import type { Issue, IssueSource } from '../source/port.ts';
import { isApprovedFor, readLldFile } from './approved-lld.ts';

const READ_AT_ONCE = 32;

/** An issue as the backlog sees it. An unreadable one is not passed over: it fails with its reason. */
export interface BacklogItem {
  id: ItemId;
  title: string;
  state: 'pending' | 'done' | 'unreadable';
  error: ErrorRecord | null;
  chars: number;
}

/** Exactly these ids (a missing one is an error, nothing is started), or every issue there is. */
export async function lldBacklog(
  source: IssueSource,
  paths: Paths,
  ids: readonly ItemId[] | 'all',
): Promise<BacklogItem[]> {
  const wanted = ids === 'all' ? await source.ids() : [...new Set(ids)];
  // Most have none yet: one look at the folder costs less than ten thousand failed attempts to open a file.
  const written = new Set(await readdir(dirname(paths.lld('x' as ItemId))).catch(() => []));
  const items: BacklogItem[] = [];
  for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
    items.push(
      ...(await Promise.all(wanted.slice(at, at + READ_AT_ONCE).map((id) => backlogItem(id, source, paths, written)))),
    );
  }
  return items;
}

async function backlogItem(
  id: ItemId,
  source: IssueSource,
  paths: Paths,
  written: ReadonlySet<string>,
): Promise<BacklogItem> {
  try {
    const issue = await source.read(id);
    const done = written.has(basename(paths.lld(id))) && (await isDone(issue, paths));
    const state = done ? 'done' : 'pending';
    return { id, title: issue.title, state, error: null, chars: issue.raw.length };
  } catch (error) {
    if (codeOf(error) !== 'issue-unreadable') throw error;
    return { id, title: id, state: 'unreadable', error: toErrorRecord(error), chars: 0 };
  }
}

async function isDone(issue: Issue, paths: Paths): Promise<boolean> {
  const lld = await readLldFile(paths.lld(issue.id));
  return lld !== null && isApprovedFor(lld, issue);
}
