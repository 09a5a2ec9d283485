import { documentDemand } from '../core/expected-cost.ts';
import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { requireModels } from '../models/require-models.ts';
import { createBriefSource } from '../source/briefs.ts';
import { readKnownIssues } from '../source/known-work.ts';
import { type IssueSource, isHashOf } from '../source/port.ts';
import { droppedItems } from '../workflow/decide.ts';
import { type IssueOrigin, issuesOf } from '../workflow/issue-file.ts';
import { type BacklogItem, readBacklog } from './backlog.ts';
import type { Batch } from './pipeline.ts';

export const issueBatch: Batch = {
  workflow: 'issue',
  task: { builtIn: 'issue' },
  roles: ['drafter', 'reviewer'],
  collect: async ({ paths }, ids) =>
    issueBacklog(createBriefSource(paths.briefs), await readKnownIssues(paths.issues), paths, ids),
  requirements: async ({ config }) => requireModels(config, ['drafter', 'reviewer']),
  demand: documentDemand,
  done: {
    reason: 'an issue was written already, from what the brief says now',
    outputs: async ({ paths }, { id }) => {
      const { hash } = await createBriefSource(paths.briefs).read(id);
      const written = issuesOf(id, await readKnownIssues(paths.issues));
      return written.filter(({ header }) => header.briefHash === hash).map((issue) => paths.issue(issue.id));
    },
  },
  nothingToDo: 'every brief has an issue for what it says now',
};

/**
 * A brief is done when an issue was written from what it says now, whatever a person made of that issue since; unless a
 * person dropped it.
 */
export async function issueBacklog(
  briefs: IssueSource,
  issues: readonly IssueOrigin[],
  paths: Paths,
  ids: readonly ItemId[] | 'all',
): Promise<BacklogItem[]> {
  return readBacklog(briefs, ids, {
    done: (brief) => issuesOf(brief.id, issues).some(({ header }) => isHashOf(header.briefHash, brief)),
    dropped: await droppedItems(paths, 'issue'),
  });
}
