import type { ItemId } from '../core/ids.ts';

/*
 * What the program writes to services. Issues are often in another place than branches, so there are two ports: a tracker has the
 * issues, a forge has the branches and pull requests. Neither retries a write that may have happened: a post whose response
 * was lost fails with `host-uncertain`, and the caller looks it up before it posts again.
 */

/** Labels that show on an issue where its item stands. */
export const STATE_LABELS = [
  'agentos:designing',
  'agentos:waiting',
  'agentos:implementing',
  'agentos:pr',
  'agentos:failed',
] as const;
export type StateLabel = (typeof STATE_LABELS)[number];

/** How every answer of ours begins; it contains no text from outside. */
export const ANSWER = '<!-- agentos:reaction';

/** The name of our own status or check run; it is not a check of CI. */
export const EVIDENCE = 'agentos / evidence';

/** A comment. */
export interface Posted {
  id: string;
}

/** An issue to compare a new one with. */
export interface ExistingIssue {
  id: ItemId;
  title: string;
  body: string;
}

/** Where issues are. */
export interface Tracker {
  /** `github:owner/name`. */
  readonly location: string;
  /** Rejects if comments and labels can't be written, and names what is missing. */
  requireWrite(): Promise<void>;
  /** The first comment of our own that begins with the marker. */
  findComment(issue: ItemId, marker: string): Promise<Posted | null>;
  addComment(issue: ItemId, text: string): Promise<Posted>;
  /** False: the comment is gone. */
  editComment(issue: ItemId, comment: string, text: string): Promise<boolean>;
  /** Sets this state label and removes the others; null removes all of them. */
  setState(issue: ItemId, label: StateLabel | null): Promise<void>;
  /** Adds a reaction to a comment that a run has read. */
  markRead(issue: ItemId, comment: string): Promise<void>;
  /** Open and closed issues, most recently updated first, up to a limit. */
  existing(): Promise<ExistingIssue[]>;
  /** The newest issue of our own that contains the marker. */
  findIssue(marker: string): Promise<{ url: string } | null>;
  createIssue(issue: Omit<ExistingIssue, 'id'>): Promise<{ url: string }>;
}

/** A pull request, or a merge request of GitLab. */
export interface PullRequest {
  number: number;
  url: string;
  state: 'open' | 'merged' | 'closed';
  isDraft: boolean;
  branch: string;
  /** The commit of its branch. */
  head: string;
  /** The branch to merge into. */
  base: string;
  /** Its branch is in this repository, not in a fork. */
  isOwn: boolean;
  updatedAt: string;
  /** What a list of many says in addition; null: nothing. `checks`: the state of all together, if there are any; `remarks`: their number. */
  listed: { baseHead: string | null; checks: Check['state'] | null; remarks: number } | null;
}

export interface NewPullRequest {
  branch: string;
  base: string;
  title: string;
  body: string;
  isDraft: boolean;
}

/** A CI check of a commit. */
export interface Check {
  name: string;
  state: 'pending' | 'passed' | 'failed';
  isRequired: boolean;
  url: string | null;
  /** The check's own summary, for a check without a log. Text from outside. */
  output: string;
}

/** A review or comment on a pull request as a whole, or at a line. */
export interface Review {
  id: string;
  by: string;
  isTrusted: boolean;
  isApproval: boolean;
  body: string;
  at: string;
  /** Null: on the pull request as a whole. */
  line: { path: string; line: number | null } | null;
  /** The thread to answer in; null: answer on the pull request as a whole. */
  thread: string | null;
  /** An answer of this program: it begins with our marker, and its author is the token's user. */
  isOwn: boolean;
  /** A person has resolved the thread. */
  isResolved: boolean;
}

/** Where branches and pull requests are. */
export interface Forge {
  /** `github:owner/name`. */
  readonly location: string;
  /** Rejects if branches and pull requests can't be written, and names what is missing. */
  requireWrite(): Promise<void>;
  defaultBranch(): Promise<string>;
  /** The commit of a branch; null: there is no such branch. */
  branchHead(branch: string): Promise<string | null>;
  /** The web page of a file on a branch. */
  fileUrl(branch: string, path: string): Promise<string>;
  /** The HTTP header that authenticates git, and the URL prefix to send it to. */
  gitHeader(): Promise<{ url: string; header: string }>;
  /** Those for a branch of this repository, newest first, in any state. */
  pullRequestsOf(branch: string): Promise<PullRequest[]>;
  /** All open ones, including those of forks. */
  openPullRequests(): Promise<PullRequest[]>;
  /**
   * A mark that changes whenever an open pull request, its checks, its base or an issue may have changed. Uses as little quota as the
   * service allows.
   */
  poll(): Promise<string>;
  pullRequest(number: number): Promise<PullRequest>;
  open(request: NewPullRequest): Promise<PullRequest>;
  /** Replaces title and body. */
  rewrite(number: number, text: Pick<NewPullRequest, 'title' | 'body'>): Promise<void>;
  makeReady(number: number): Promise<void>;
  /** The checks of a commit, including those that `base` requires and that have not reported yet. */
  checks(commit: string, base: string): Promise<Check[]>;
  /** The log of a failed check's job, else the check's own summary. */
  failureLog(check: Check): Promise<string>;
  reviews(number: number): Promise<Review[]>;
  /** Answers in a thread, or on the pull request as a whole. Never resolves a thread. */
  reply(number: number, thread: string | null, text: string): Promise<Posted>;
  /** The answer of our own that begins with the marker. */
  findReply(number: number, thread: string | null, marker: string): Promise<Posted | null>;
  /** The results of the gates for a commit: in one line, and as Markdown. */
  setEvidence(
    commit: string,
    evidence: { passed: boolean; summary: string; details: string; url: string },
  ): Promise<void>;
}
