import type { ItemId } from '../core/ids.ts';

export interface Issue {
  id: ItemId;
  title: string;
  /** The issue as people wrote it, LF only, without front matter. */
  body: string;
  labels: string[];
  /** The whole text, front matter included, LF only. */
  raw: string;
  /** Of what it says, title and body: white space, letter case and front matter don't count. What an approved LLD answers. */
  hash: string;
  /** Of the whole text, as earlier versions took it. */
  rawHash: string;
}

/** Whether a hash that was stored is of what the issue says. */
export function isHashOf(stored: unknown, { hash, rawHash }: Pick<Issue, 'hash' | 'rawHash'>): boolean {
  return stored === hash || stored === rawHash;
}

/** An issue or brief as models are shown it. */
export function shownIssue({ title, body }: Pick<Issue, 'title' | 'body'>): string {
  return `# ${title}\n\n${body}`;
}

/** Where issues come from. */
export interface IssueSource {
  /** For messages, e.g. the folder. */
  readonly location: string;
  /** Every id there is, in natural order (2 before 10). */
  ids(): Promise<ItemId[]>;
  /** Fails with `issue-missing` or `issue-unreadable`. */
  read(id: ItemId): Promise<Issue>;
  /** A mark that is another one whenever something may have changed since `last`. One cheap request. */
  poll(last: string | null): Promise<string>;
}
