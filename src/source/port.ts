import type { ItemId } from '../core/ids.ts';

export interface Issue {
  id: ItemId;
  title: string;
  /** The issue as people wrote it, LF only, without front matter. */
  body: string;
  labels: string[];
  /** The whole text, front matter included, LF only. */
  raw: string;
  /** Of title and body, without white space, letter case and front matter. An approved LLD stores it. */
  hash: string;
  /** Of the whole text; LLDs of earlier versions store it. */
  rawHash: string;
  /** Facts from a service; absent for a file. */
  facts?: IssueFacts;
}

/** Whether a stored hash matches the issue's text. */
export function isHashOf(stored: unknown, { hash, rawHash }: Pick<Issue, 'hash' | 'rawHash'>): boolean {
  return stored === hash || stored === rawHash;
}

/** An issue or brief as models see it. */
export function shownIssue({ title, body }: Pick<Issue, 'title' | 'body'>): string {
  return `# ${title}\n\n${body}`;
}

/** What a plan needs to know about an issue without an LLD. */
export interface IssueHead {
  id: ItemId;
  title: string;
  /** The length of its text, for the cost estimate. */
  chars: number;
  /** The number of open issues that block it, as far as the list says. */
  blockers: number;
}

export interface IssueFacts {
  url: string;
  /** Open issues that block it, such as `#7`. */
  blockedBy: string[];
  /** Pull requests that close it: merged ones, and open ones by a trusted person or this program. */
  answeredBy: LinkedPullRequest[];
  /** Why a person has to read the text before a model does; null: a trusted person vouches for it. */
  doubt: string | null;
  comments: {
    /** Ids of the comments that are part of the text. */
    used: string[];
    /** The number of comments by people who are not trusted. */
    leftOut: number;
  };
  /** `/agentos` comments of trusted people, oldest first. */
  commands: IssueCommand[];
  /** The number of `/agentos` comments of other people, which have no effect. */
  ignoredCommands: number;
}

export interface LinkedPullRequest {
  number: number;
  url: string;
  state: 'open' | 'merged';
}

/** `/agentos revise …` in a comment. */
export interface IssueCommand {
  /** The comment's id. */
  id: string;
  by: string;
  at: string;
  url: string;
  kind: 'approve' | 'revise' | 'drop';
  /** The words after the command. */
  text: string;
}

/** Where issues come from. */
export interface IssueSource {
  /** For messages: the folder, or `github:owner/name`. */
  readonly location: string;
  /** All selected ids in natural order (2 before 10). Rejects if the list could be incomplete. */
  ids(): Promise<ItemId[]>;
  /** Uses a list that was read before, if there is one. */
  look(id: ItemId): Promise<IssueHead>;
  /** The whole current text. Rejects with `issue-missing`, `issue-unreadable`, or `issue-not-taken` (closed, locked, …). */
  read(id: ItemId): Promise<Issue>;
  /** A mark that changes whenever an issue may have changed. One request at most, without cost if nothing changed. */
  poll(): Promise<string>;
}
