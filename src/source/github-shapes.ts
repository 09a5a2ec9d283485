import { z } from 'zod';
import { parseItemId } from '../core/ids.ts';
import { TRUSTED } from '../host/github-client.ts';
import type { IssueHead, LinkedPullRequest } from './port.ts';
import { closes, outsideLine } from './remote-issue.ts';

/* Schemas require only what is used: GitHub Enterprise, proxies and compatible servers leave out some of the rest. */

const user = z.looseObject({ login: z.string(), type: z.string().optional() }).nullish();

export const issueSchema = z.looseObject({
  number: z.int(),
  title: z.string(),
  body: z.string().nullish(),
  html_url: z.string().default(''),
  state: z.string(),
  locked: z.boolean().default(false),
  updated_at: z.string().default(''),
  user,
  author_association: z.string().default('NONE'),
  labels: z.array(z.union([z.string(), z.looseObject({ name: z.string().nullish() })])).default([]),
  comments: z.int().default(0),
  pull_request: z.looseObject({ merged_at: z.string().nullish() }).nullish(),
  repository: z.looseObject({ full_name: z.string() }).nullish(),
  issue_dependencies_summary: z.looseObject({ blocked_by: z.int().default(0) }).nullish(),
});
export type GitHubIssue = z.infer<typeof issueSchema>;

export const commentSchema = z.looseObject({
  id: z.union([z.int(), z.bigint()]),
  body: z.string().nullish(),
  html_url: z.string().default(''),
  created_at: z.string().default(''),
  user,
  author_association: z.string().default('NONE'),
});

export const eventSchema = z.looseObject({
  event: z.string().optional(),
  created_at: z.string().nullish(),
  actor: user,
  label: z.looseObject({ name: z.string().nullish() }).nullish(),
  source: z.looseObject({ issue: issueSchema.nullish() }).nullish(),
});
export type TimelineEvent = z.infer<typeof eventSchema>;

export const pullSchema = z.looseObject({
  number: z.int(),
  html_url: z.string().default(''),
  state: z.string(),
  merged_at: z.string().nullish(),
  body: z.string().nullish(),
  user,
  author_association: z.string().default('NONE'),
  head: z.looseObject({ ref: z.string(), repo: z.looseObject({ full_name: z.string() }).nullish() }),
});
export type GitHubPull = z.infer<typeof pullSchema>;

export const MOST_EDITS = 100;
export const EDITS = `query($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    issue(number: $number) {
      lastEditedAt
      userContentEdits(first: ${MOST_EDITS}) { nodes { editedAt editor { login } } }
    }
  }
}`;
export const editsSchema = z.looseObject({
  repository: z.looseObject({
    issue: z.looseObject({
      lastEditedAt: z.string().nullable(),
      userContentEdits: z.looseObject({
        nodes: z.array(
          z.looseObject({ editedAt: z.string(), editor: z.looseObject({ login: z.string() }).nullable() }),
        ),
      }),
    }),
  }),
});

export function isItem({ pull_request, locked, state }: GitHubIssue): boolean {
  return !pull_request && !locked && state === 'open';
}

export function labelsOf({ labels }: GitHubIssue): string[] {
  return labels.flatMap((label) => (typeof label === 'string' ? label : (label.name ?? [])));
}

/** GitHub's labels are case-insensitive. */
export function hasLabel(labels: readonly string[], label: string): boolean {
  return labels.some((one) => one.toLowerCase() === label.toLowerCase());
}

export function headOf({ number, title, body, issue_dependencies_summary }: GitHubIssue): IssueHead {
  return {
    id: parseItemId(String(number)),
    title: outsideLine(title) || `Issue ${number}`,
    chars: title.length + (body?.length ?? 0),
    blockers: issue_dependencies_summary?.blocked_by ?? 0,
  };
}

/** When one of the labels was last set, which vouches for the text as it was then. Labels that the author set don't count. */
export function labelledMs(
  events: readonly TimelineEvent[],
  labels: readonly string[],
  vouching: readonly string[],
  author: string,
): number | null | 'unknown' {
  const held = vouching.filter((label) => hasLabel(labels, label));
  if (held.length === 0) return null;
  const set = events.filter(
    ({ event, label, actor }) => event === 'labeled' && actor?.login !== author && hasLabel(held, label?.name ?? ''),
  );
  return timeOf(set.at(-1)?.created_at) ?? 'unknown';
}

export function timeOf(text: string | null | undefined): number | null {
  return text ? Date.parse(text) : null;
}

/**
 * Pull requests that close the issue, or whose branch is the item's. A merged one counts unless the issue was reopened since.
 * An open one counts only from a trusted person: otherwise a stranger could block an item.
 */
export function answersTo(
  number: number,
  path: string,
  events: readonly TimelineEvent[],
  pulls: readonly GitHubPull[],
): LinkedPullRequest[] {
  const reopened = timeOf(events.findLast(({ event }) => event === 'reopened')?.created_at);
  const found = new Map<string, LinkedPullRequest>();
  const add = (pull: Pick<GitHubPull, 'number' | 'html_url' | 'state' | 'merged_at'>, isTrusted: boolean): void => {
    const merged = timeOf(pull.merged_at);
    const isUndone = merged !== null && reopened !== null && reopened > merged;
    const counts = merged === null ? pull.state === 'open' && isTrusted : !isUndone;
    if (!counts) return;
    const state = merged === null ? 'open' : 'merged';
    found.set(pull.html_url || `#${pull.number}`, { number: pull.number, url: pull.html_url, state });
  };
  for (const { event, source } of events) {
    const pull = event === 'cross-referenced' ? source?.issue : null;
    if (!pull?.pull_request) continue;
    const of = pull.repository?.full_name ?? path;
    if (!closes(pull.body ?? '', { path, of, number })) continue;
    add({ ...pull, merged_at: pull.pull_request.merged_at }, isTrusted(pull));
  }
  for (const pull of pulls) {
    const isOwn = pull.head.repo?.full_name.toLowerCase() === path.toLowerCase();
    const isOfBranch =
      isOwn && (pull.head.ref === `agentos/${number}` || pull.head.ref.startsWith(`agentos/${number}-`));
    if (isOfBranch || closes(pull.body ?? '', { path, of: path, number })) add(pull, isOwn || isTrusted(pull));
  }
  return [...found.values()].sort((a, b) => a.number - b.number);
}

function isTrusted({ author_association, user: by }: Pick<GitHubPull, 'author_association' | 'user'>): boolean {
  return TRUSTED.has(author_association) || by?.type === 'Bot';
}
