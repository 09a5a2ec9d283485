import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { type IssueSource, isHashOf } from '../source/port.ts';
import { droppedItems } from '../workflow/dropped.ts';
import { type IssueOrigin, issuesOf } from '../workflow/issue-file.ts';
import { type BacklogItem, readBacklog } from './backlog.ts';

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
    done: (brief) => issuesOf(brief.id, issues).some(({ fields }) => isHashOf(fields['briefHash'], brief)),
    dropped: await droppedItems(paths, 'issue'),
  });
}
