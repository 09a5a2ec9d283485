import { readdir } from 'node:fs/promises';
import { basename, dirname, relative } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import type { Issue, IssueSource } from '../source/port.ts';
import { isApprovedFor, isApprovedForAnother, type LldFile, readLldFile } from '../workflow/approved-lld.ts';
import { droppedItems } from '../workflow/dropped.ts';
import { type BacklogItem, readBacklog } from './backlog.ts';

/**
 * An issue is done when an approved LLD answers what it says now, unless a person dropped it. `differenceOf`: what it says
 * otherwise than the text with that hash.
 */
export async function lldBacklog(
  source: IssueSource,
  paths: Paths,
  ids: readonly ItemId[] | 'all',
  differenceOf: (issue: Issue, issueHash: string | null) => Promise<string[] | null>,
): Promise<BacklogItem[]> {
  // Most have none yet: one look at the folder costs less than ten thousand failed attempts to open a file.
  const written = new Set(await readdir(dirname(paths.lld('x' as ItemId))).catch(() => []));
  const lldOf = async ({ id }: Issue): Promise<LldFile | null> =>
    written.has(basename(paths.lld(id))) ? readLldFile(paths.lld(id)) : null;
  return readBacklog(source, ids, {
    done: async (issue) => {
      const lld = await lldOf(issue);
      return lld !== null && isApprovedFor(lld, issue);
    },
    replaces: async (issue) => {
      const lld = await lldOf(issue);
      if (lld === null || !isApprovedForAnother(lld, issue)) return null;
      const difference = await differenceOf(issue, lld.issueHash);
      return { path: relative(paths.repository, paths.lld(issue.id)), difference };
    },
    dropped: await droppedItems(paths, 'lld'),
  });
}
