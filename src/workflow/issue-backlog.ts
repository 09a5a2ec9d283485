import type { ItemId } from '../core/ids.ts';
import type { Paths } from '../core/paths.ts';
import { type IssueSource, isHashOf } from '../source/port.ts';
import { type BacklogItem, readBacklog } from './backlog.ts';
import { droppedItems } from './dropped.ts';

/** What the front matter of an issue says of the brief that it is from. */
export interface IssueOrigin {
  id: ItemId;
  fields: Readonly<Record<string, unknown>>;
}

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

/** The issues that were written from a brief, 2 before 10; more than one only where a person made copies. */
export function issuesOf<T extends IssueOrigin>(brief: ItemId, issues: readonly T[]): T[] {
  return issues
    .filter(({ fields }) => String(fields['brief']) === brief)
    .toSorted((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }));
}
