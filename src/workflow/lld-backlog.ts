import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import type { Issue, IssueSource } from '../source/port.ts';
import { isApprovedFor, readLldFile } from './approved-lld.ts';
import { type BacklogItem, readBacklog } from './backlog.ts';
import { droppedItems } from './dropped.ts';

/** An issue is done when an approved LLD answers what it says now, unless a person dropped it. */
export async function lldBacklog(
  source: IssueSource,
  paths: Paths,
  ids: readonly ItemId[] | 'all',
): Promise<BacklogItem[]> {
  // Most have none yet: one look at the folder costs less than ten thousand failed attempts to open a file.
  const written = new Set(await readdir(dirname(paths.lld('x' as ItemId))).catch(() => []));
  const done = async (issue: Issue): Promise<boolean> => {
    if (!written.has(basename(paths.lld(issue.id)))) return false;
    const lld = await readLldFile(paths.lld(issue.id));
    return lld !== null && isApprovedFor(lld, issue);
  };
  return readBacklog(source, ids, { done, dropped: await droppedItems(paths, 'lld') });
}
