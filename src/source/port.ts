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
  /** What a service knows of it beyond the text; absent for a file. */
  facts?: IssueFacts;
}

/** Whether a hash that was stored is of what the issue says. */
export function isHashOf(stored: unknown, { hash, rawHash }: Pick<Issue, 'hash' | 'rawHash'>): boolean {
  return stored === hash || stored === rawHash;
}

/** An issue or brief as models are shown it. */
export function shownIssue({ title, body }: Pick<Issue, 'title' | 'body'>): string {
  return `# ${title}\n\n${body}`;
}

/** What planning needs of an issue that nothing was made of yet. */
export interface IssueHead {
  id: ItemId;
  title: string;
  /** How much text there is, for the estimate of its cost. */
  chars: number;
  /** How many open issues it is blocked by, as far as a list says. */
  blockers: number;
}

export interface IssueFacts {
  url: string;
  /** Of the service. */
  updatedAt: string;
  /** Open issues that it is blocked by, as people write them: `#7`. */
  blockedBy: string[];
  /** Pull requests that close it: merged ones, and open ones that a trusted person or this program made. */
  answeredBy: LinkedPullRequest[];
  /** Why a person has to look at the text before a model does; null: a trusted person vouches for it. */
  doubt: string | null;
  comments: {
    /** Part of the text, by id. */
    used: string[];
    /** By people who are not trusted: not part of it. */
    leftOut: number;
  };
  /** What trusted people told this program in comments, oldest first. */
  commands: IssueCommand[];
  /** Such comments of others, which mean nothing. */
  ignoredCommands: number;
}

export interface LinkedPullRequest {
  number: number;
  url: string;
  state: 'open' | 'merged';
}

/** `/agentos revise …` in a comment. */
export interface IssueCommand {
  /** Of the comment. */
  id: string;
  by: string;
  at: string;
  url: string;
  kind: 'approve' | 'revise' | 'drop';
  /** What follows the word; empty: nothing. */
  text: string;
}

/** Where issues come from. */
export interface IssueSource {
  /** For messages: the folder, or `github:owner/name`. */
  readonly location: string;
  /** Every id that is selected, in natural order (2 before 10). Rejects where not all of them can be known. */
  ids(): Promise<ItemId[]>;
  /** As cheaply as it can be had; nothing more is needed of an issue that is not started. */
  look(id: ItemId): Promise<IssueHead>;
  /** Whole, and as it is now. Fails with `issue-missing`, `issue-unreadable`, or `issue-not-taken` where it is no item. */
  read(id: ItemId): Promise<Issue>;
  /** A mark that is another one whenever something may have changed since `last`. One cheap request. */
  poll(last: string | null): Promise<string>;
}
