import type { ItemId } from '../core/ids.ts';

export interface Issue {
  id: ItemId;
  title: string;
  /** The issue as people wrote it, LF only, without front matter. */
  body: string;
  labels: string[];
  /** The whole text, front matter included, LF only. */
  raw: string;
  /** Of the whole text: what an approved LLD answers. */
  hash: string;
}

/** Where issues come from. */
export interface IssueSource {
  /** For messages, e.g. the folder. */
  readonly location: string;
  /** Every id there is, in natural order (2 before 10). */
  ids(): Promise<ItemId[]>;
  /** Fails with `issue-missing` or `issue-unreadable`. */
  read(id: ItemId): Promise<Issue>;
}
