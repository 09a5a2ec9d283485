import { codeOf, type ErrorCode, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import type { Replaced } from '../core/plan.ts';
import type { Issue, IssueSource } from '../source/port.ts';

const READ_AT_ONCE = 32;
const UNREADABLE: ReadonlySet<ErrorCode | null> = new Set([
  'issue-unreadable',
  'brief-unreadable',
  'lld-unreadable',
] as const);

/** An item as the backlog sees it. An unreadable one is not passed over: it fails with its reason. */
export interface BacklogItem {
  id: ItemId;
  title: string;
  /** dropped: a person decided that what it says now is not to be done. */
  state: 'pending' | 'done' | 'dropped' | 'unreadable';
  error: ErrorRecord | null;
  chars: number;
  /** What is in its place and was made for another text. */
  replaces?: Replaced;
}

export interface ItemStates {
  done: (item: Issue) => boolean | Promise<boolean>;
  /** Asked of those that are pending. */
  replaces?: (item: Issue) => Promise<Replaced | null>;
  /** Asked of those that are not done. */
  dropped: (item: Issue) => Promise<boolean>;
}

/** Exactly these ids (a missing one is an error, nothing is started), or every one that there is. */
export async function readBacklog(
  source: IssueSource,
  ids: readonly ItemId[] | 'all',
  is: ItemStates,
): Promise<BacklogItem[]> {
  const wanted = ids === 'all' ? await source.ids() : [...new Set(ids)];
  const items: BacklogItem[] = [];
  for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
    const some = wanted.slice(at, at + READ_AT_ONCE);
    items.push(...(await Promise.all(some.map((id) => backlogItem(id, source, is)))));
  }
  return items;
}

async function backlogItem(id: ItemId, source: IssueSource, is: ItemStates): Promise<BacklogItem> {
  try {
    const item = await source.read(id);
    const state = (await is.done(item)) ? 'done' : (await is.dropped(item)) ? 'dropped' : 'pending';
    const replaces = state === 'pending' ? ((await is.replaces?.(item)) ?? null) : null;
    const plain: BacklogItem = { id, title: item.title, state, error: null, chars: item.raw.length };
    return replaces === null ? plain : { ...plain, replaces };
  } catch (error) {
    if (!UNREADABLE.has(codeOf(error))) throw error;
    return { id, title: id, state: 'unreadable', error: toErrorRecord(error), chars: 0 };
  }
}
