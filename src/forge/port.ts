import type { ItemId } from '../core/ids.ts';

/*
 * What the program writes. Issues in one place and branches in another are common, so that there are two ports: the tracker
 * is where issues are, the forge where branches and pull requests are. Neither repeats a request that may have been carried out:
 * a post whose answer was lost fails with `host-uncertain`, and the caller looks it up before it posts again.
 */

/** Where an item stands, as a label of its issue. */
export const STATE_LABELS = [
  'agentos:designing',
  'agentos:waiting',
  'agentos:implementing',
  'agentos:pr',
  'agentos:failed',
] as const;
export type StateLabel = (typeof STATE_LABELS)[number];

/** How every answer of ours begins; nothing from outside is inside of it. */
export const ANSWER = '<!-- agentos:reaction';

/** Names the remarks that it answers, so that they are known as answered wherever the answer is read. */
export function answerMarker(key: string, thread: string | null, remarks: readonly string[]): string {
  return `${ANSWER} ${[key, thread ?? 'all', 'remarks', ...remarks].join(' ')} -->`;
}

/** The remarks that an answer of ours is for. */
export function answeredIn(text: string): string[] {
  const [, ids = ''] = /^<!-- agentos:reaction \S+ \S+ remarks([\w -]*) -->/.exec(text) ?? [];
  return ids.split(' ').filter(Boolean);
}

/** The name of our own status or check run, which is not one of CI's. */
export const EVIDENCE = 'agentos / evidence';

export interface Posted {
  id: string;
  url: string;
}

/** An issue that is there, for the look for duplicates. */
export interface ExistingIssue extends NewIssue {
  id: ItemId;
}

export interface NewIssue {
  title: string;
  body: string;
}

/** Where issues are. */
export interface Tracker {
  /** `github:owner/name`. */
  readonly location: string;
  /** Rejects, with what is missing by name, where comments and labels can't be written. */
  requireWrite(): Promise<void>;
  /** The first comment of our own that begins with the marker. */
  findComment(issue: ItemId, marker: string): Promise<Posted | null>;
  addComment(issue: ItemId, text: string): Promise<Posted>;
  /** False: it is gone. */
  editComment(issue: ItemId, comment: string, text: string): Promise<boolean>;
  /** Exactly this one of the state labels, or none. */
  setState(issue: ItemId, label: StateLabel | null): Promise<void>;
  /** Shows that a comment was read. */
  markRead(issue: ItemId, comment: string): Promise<void>;
  /** Issues, open and closed, those that changed last; as many as anybody would compare a new one with. */
  existing(): Promise<ExistingIssue[]>;
  /** The newest issue of our own whose text holds the marker. */
  findIssue(marker: string): Promise<Posted | null>;
  createIssue(issue: NewIssue): Promise<Posted>;
}

/** A pull request, or what the service calls one. */
export interface PullRequest {
  number: number;
  url: string;
  state: 'open' | 'merged' | 'closed';
  isDraft: boolean;
  title: string;
  body: string;
  branch: string;
  /** The commit that the branch is at. */
  head: string;
  /** The branch that it is to be merged into. */
  base: string;
  /** Its branch is in this repository, not in a fork. */
  isOwn: boolean;
  updatedAt: string;
}

/** An open pull request at a glance, as a list of many has them. */
export interface OpenRequest extends Omit<PullRequest, 'body' | 'state'> {
  /** The commit that its base is at. */
  baseHead: string | null;
  /** Of all its checks together; null: there are none, or the list does not say. */
  checks: Check['state'] | null;
  /** Reviews and threads; null: the list does not say. */
  remarks: number | null;
}

export interface NewPullRequest {
  branch: string;
  base: string;
  title: string;
  body: string;
  isDraft: boolean;
}

/** What a run of CI says of a commit. */
export interface Check {
  name: string;
  state: 'pending' | 'passed' | 'failed';
  isRequired: boolean;
  url: string | null;
  /** What it says itself, where there is no log to read. Text from outside. */
  output: string;
}

/** What a person says of a pull request, as a whole or at a line. */
export interface Review {
  id: string;
  by: string;
  isTrusted: boolean;
  verdict: 'approved' | 'changes-requested' | 'commented';
  body: string;
  at: string;
  /** Null: about the pull request as a whole. */
  line: { path: string; line: number | null } | null;
  /** Where an answer to it goes; null: to the pull request as a whole. */
  thread: string | null;
  /** An answer of this program's: it begins with its marker, and is by the user of the token. */
  isOwn: boolean;
  /** A person has settled the thread. */
  isResolved: boolean;
}

/** What the gates saw, for the commit that they saw it at. */
export interface Evidence {
  passed: boolean;
  /** One line. */
  summary: string;
  /** Markdown. */
  details: string;
  url: string;
}

/** Where branches and pull requests are. */
export interface Forge {
  /** `github:owner/name`. */
  readonly location: string;
  /** Rejects, with what is missing by name, where branches and pull requests can't be written. */
  requireWrite(): Promise<void>;
  defaultBranch(): Promise<string>;
  /** The commit that a branch is at; null: there is no such branch. */
  branchHead(branch: string): Promise<string | null>;
  /** How people reach a file on a branch. */
  fileUrl(branch: string, path: string): string;
  /** How an issue is closed by a pull request here: `Closes #12`; null: it can't be. */
  closing(location: string, issue: ItemId): string | null;
  /** What git sends to fetch and push, and where; null: git's own credentials have to do. */
  gitHeader(): Promise<{ url: string; header: string } | null>;
  /** Of a branch in this very repository, the newest first, whatever state they are in. */
  pullRequestsOf(branch: string): Promise<PullRequest[]>;
  /** Every open one, those of forks included. A request for each hundred. */
  openPullRequests(): Promise<OpenRequest[]>;
  /**
   * A mark that is another one whenever an open pull request, its checks, its base or an issue here may have changed since
   * `last`. As cheap as the service allows.
   */
  poll(last: string | null): Promise<string>;
  pullRequest(number: number): Promise<PullRequest>;
  open(request: NewPullRequest): Promise<PullRequest>;
  /** Gives it another text, and another title where there is one. */
  rewrite(number: number, text: { title?: string; body: string }): Promise<void>;
  makeReady(request: PullRequest): Promise<void>;
  /** Of a commit, with those that have not reported yet but are required for `base`. */
  checks(commit: string, base: string): Promise<Check[]>;
  /** Why a check failed: the log of its job, whole, or else what it says itself. */
  failureLog(check: Check): Promise<string>;
  reviews(number: number): Promise<Review[]>;
  /** An answer in a thread, or on the pull request as a whole. Threads of people are never resolved. */
  reply(number: number, thread: string | null, text: string): Promise<Posted>;
  /** An answer of our own that begins with the marker, wherever it is on the pull request. */
  findReply(number: number, thread: string | null, marker: string): Promise<Posted | null>;
  setEvidence(commit: string, evidence: Evidence): Promise<void>;
}
