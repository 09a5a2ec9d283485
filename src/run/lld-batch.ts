import { readdir } from 'node:fs/promises';
import { basename, relative } from 'node:path';
import { documentDemand } from '../core/expected-cost.ts';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import type { Headed } from '../documents/header.ts';
import { requireModels } from '../models/require-models.ts';
import { createDirectorySource } from '../source/directory.ts';
import type { Issue, IssueSource } from '../source/port.ts';
import { isApprovedFor, isApprovedForAnother, readLldFile } from '../workflow/approved-lld.ts';
import { droppedItems } from '../workflow/decide.ts';
import { type BacklogItem, readBacklog } from './backlog.ts';
import type { Batch } from './pipeline.ts';

export const lldBatch: Batch = {
  workflow: 'lld',
  task: { builtIn: 'lld' },
  roles: ['drafter', 'reviewer'],
  collect: ({ paths }, ids) =>
    lldBacklog(createDirectorySource(paths.issues), paths, ids, async (issue, hash) => {
      // Most backlogs have no issue that changed.
      const { issueDifference } = await import('./issue-change.ts');
      return issueDifference(paths.lineage(issue.id), issue, hash);
    }),
  requirements: async ({ config }) => requireModels(config, ['drafter', 'reviewer']),
  demand: documentDemand,
  done: {
    reason: 'approved already, for what the issue says now',
    outputs: async ({ paths }, { id }) => [paths.lld(id)],
  },
  nothingToDo: 'every issue has an approved LLD for what it says now',
};

/**
 * An issue is done when an approved LLD answers what it says now, unless a person dropped it. `differenceOf`: what it says
 * otherwise than the text with that hash.
 */
async function lldBacklog(
  source: IssueSource,
  paths: Paths,
  ids: readonly ItemId[] | 'all',
  differenceOf: (issue: Issue, issueHash: string | null) => Promise<string[] | null>,
): Promise<BacklogItem[]> {
  // Most have none yet: one look at the folder costs less than ten thousand failed attempts to open a file.
  const written = new Set(await readdir(paths.llds).catch(() => []));
  const lldOf = async ({ id }: Issue): Promise<Headed | null> =>
    written.has(basename(paths.lld(id))) ? readLldFile(paths.lld(id)) : null;
  return readBacklog(source, ids, {
    done: async (issue) => {
      const lld = await lldOf(issue);
      return lld !== null && isApprovedFor(lld, issue);
    },
    replaces: async (issue) => {
      const lld = await lldOf(issue);
      if (lld === null || !isApprovedForAnother(lld, issue)) return null;
      const difference = await differenceOf(issue, lld.header.issueHash);
      return { path: relative(paths.repository, paths.lld(issue.id)), difference };
    },
    dropped: await droppedItems(paths, 'lld'),
  });
}
