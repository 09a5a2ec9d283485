import { z } from 'zod';
import { toErrorRecord, usageError } from '../core/errors.ts';
import type { Selection } from '../core/remote.ts';
import { orElse } from '../host/failure.ts';
import { githubPost, type Repository, TRUSTED } from '../host/repository.ts';
import type { IssueSource, LinkedPullRequest } from './port.ts';
import { createRemoteSource, type IssueDetails, type RemoteComment, type RemoteIssue } from './remote-issue.ts';

/* Schemas require only what is used: GitHub Enterprise, proxies and compatible servers leave out some of the rest. */

const issueSchema = githubPost.extend({
  number: z.int(),
  title: z.string(),
  state: z.string(),
  locked: z.boolean().default(false),
  updated_at: z.string().default(''),
  labels: z.array(z.union([z.string(), z.looseObject({ name: z.string().nullish() })])).default([]),
  comments: z.int().default(0),
  pull_request: z.looseObject({ merged_at: z.string().nullish() }).nullish(),
  repository: z.looseObject({ full_name: z.string() }).nullish(),
  issue_dependencies_summary: z.looseObject({ blocked_by: z.int().default(0) }).nullish(),
});
type GitHubIssue = z.infer<typeof issueSchema>;

const commentSchema = githubPost.extend({ id: z.union([z.int(), z.bigint()]), created_at: z.string().default('') });

const eventSchema = z.looseObject({
  event: z.string().optional(),
  created_at: z.string().nullish(),
  actor: z.looseObject({ login: z.string() }).nullish(),
  label: z.looseObject({ name: z.string().nullish() }).nullish(),
  source: z.looseObject({ issue: issueSchema.nullish() }).nullish(),
});
type TimelineEvent = z.infer<typeof eventSchema>;

const pullSchema = githubPost.extend({
  number: z.int(),
  state: z.string(),
  merged_at: z.string().nullish(),
  head: z.looseObject({ ref: z.string(), repo: z.looseObject({ full_name: z.string() }).nullish() }),
});
type GitHubPull = z.infer<typeof pullSchema>;

const MOST_EDITS = 100;
/** The REST API does not say when a body was changed. */
const EDITS = `query($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    issue(number: $number) {
      lastEditedAt
      userContentEdits(first: ${MOST_EDITS}) { nodes { editedAt editor { login } } }
    }
  }
}`;
const edit = z.looseObject({ editedAt: z.string(), editor: z.looseObject({ login: z.string() }).nullable() });
const editsSchema = z.looseObject({
  repository: z.looseObject({
    issue: z.looseObject({
      lastEditedAt: z.string().nullable(),
      userContentEdits: z.looseObject({ nodes: z.array(edit) }),
    }),
  }),
});

/** GitHub updates the issue within the same request that sets its label. */
const SAME_MOMENT_MS = 2_000;

/** Statuses of an issue that can't be read any more. */
const GONE = new Map<number, 'transferred' | 'deleted' | 'withheld'>([
  [301, 'transferred'],
  [410, 'deleted'],
  [451, 'withheld'],
]);

const NEWEST = { state: 'all', sort: 'updated', direction: 'desc', per_page: 100 };

/** The open issues of one GitHub repository. */
export function createGitHubSource(repository: Repository, select: Selection): IssueSource {
  const remoteSchema = issueSchema.transform(remoteOf);
  let recent: Promise<GitHubPull[]> | null = null;

  /** The most recently updated page; pull requests that are not on it are found by an issue's timeline. */
  const recentPulls = (): Promise<GitHubPull[]> =>
    (recent ??= repository.request(z.array(pullSchema), 'GET pulls', 'read pull requests', NEWEST));

  async function milestoneNumber(title: string): Promise<string> {
    if (title === '*' || title === 'none') return title;
    const milestone = z.looseObject({ number: z.int(), title: z.string() });
    const all = await repository.list(milestone, 'GET milestones', 'read milestones', { state: 'all' });
    const found = all.find((one) => one.title === title) ?? all.find((one) => String(one.number) === title);
    if (found !== undefined) return String(found.number);
    const known = all.map((one) => `"${one.title}"`).join(', ') || 'none';
    throw usageError(`${repository.location} has no milestone "${title}".`, `There are: ${known}`);
  }

  function remoteOf(issue: GitHubIssue): RemoteIssue {
    const isClosed = issue.state !== 'open';
    return {
      number: issue.number,
      title: issue.title,
      body: issue.body ?? '',
      url: issue.html_url,
      labels: issue.labels.flatMap((label) => (typeof label === 'string' ? label : (label.name ?? []))),
      author: nameOf(issue),
      obstacle: issue.pull_request ? 'pull-request' : isClosed ? 'closed' : issue.locked ? 'locked' : null,
      blockers: issue.issue_dependencies_summary?.blocked_by ?? 0,
      details: () => detailsOf(issue),
    };
  }

  async function detailsOf(issue: GitHubIssue): Promise<IssueDetails> {
    const { number, issue_dependencies_summary: dependencies } = issue;
    const author = nameOf(issue);
    const history = repository.list(eventSchema, 'GET issues/{number}/timeline', `read the history of #${number}`, {
      number,
    });
    const [comments, events, blockedBy, pulls, { path }] = await Promise.all([
      issue.comments === 0 ? [] : commentsOn(number),
      // Without a timeline no label vouches for the text.
      orElse(history, []),
      dependencies?.blocked_by ? blockersOf(number) : [],
      recentPulls(),
      repository.facts(),
    ]);
    return {
      comments,
      blockedBy,
      answeredBy: answersTo(number, path, events, pulls),
      isAuthorTrusted: TRUSTED.has(issue.author_association),
      // Labels that the author set don't count.
      labelled: async () =>
        events.flatMap(({ event, label, actor, created_at: at }) =>
          event === 'labeled' && actor?.login !== author && at ? [{ label: label?.name ?? '', at }] : [],
        ),
      async changedMs(labelledMs) {
        // Nothing happened to the issue after its label was set.
        if (Date.parse(issue.updated_at) <= labelledMs + SAME_MOMENT_MS) return null;
        const renamed = events.findLast(({ event, actor }) => event === 'renamed' && actor?.login === author);
        const edited = await editedMs(number, author);
        return edited === 'unknown' ? edited : Math.max(timeOf(renamed?.created_at), edited);
      },
    };
  }

  async function commentsOn(number: number): Promise<RemoteComment[]> {
    const what = `read comments on #${number}`;
    const all = await repository.list(commentSchema, 'GET issues/{number}/comments', what, { number });
    return all.map((comment) => ({
      id: String(comment.id),
      by: nameOf(comment),
      isTrusted: TRUSTED.has(comment.author_association),
      at: comment.created_at,
      url: comment.html_url,
      body: comment.body ?? '',
    }));
  }

  async function blockersOf(number: number): Promise<string[]> {
    const route = 'GET issues/{number}/dependencies/blocked_by';
    const all = await repository.list(issueSchema, route, `read what blocks #${number}`, { number });
    const { path } = await repository.facts();
    const open = all.filter(({ state }) => state === 'open');
    return open.map(({ number: other, repository: of = null }) =>
      of === null || of.full_name === path ? `#${other}` : `${of.full_name}#${other}`,
    );
  }

  /** When the author last edited the body; 0: never. */
  async function editedMs(number: number, author: string): Promise<number | 'unknown'> {
    const read = repository.graphql(editsSchema, EDITS, `read the edits of #${number}`, { number });
    const edited = await read.then(({ repository: { issue } }) => issue).catch(() => null);
    if (edited === null) return 'unknown';
    const { nodes } = edited.userContentEdits;
    const own = nodes.find(({ editor }) => editor === null || editor.login === author);
    if (edited.lastEditedAt === null || own !== undefined) return timeOf(own?.editedAt);
    return nodes.length < MOST_EDITS ? 0 : 'unknown';
  }

  return createRemoteSource({
    location: repository.location,
    select,
    async listed(isEnough) {
      const { labels, milestone, assignee, query } = select;
      if (query !== null) {
        const words = [
          `repo:${(await repository.facts()).path} is:issue is:open`,
          ...labels.map((label) => `label:"${label}"`),
          ...(milestone === null ? [] : [`milestone:"${milestone}"`]),
          ...(assignee === null ? [] : [`assignee:${assignee}`]),
          query,
        ];
        return repository.list(remoteSchema, 'GET /search/issues', 'search issues', { q: words.join(' ') }, isEnough);
      }
      const asked = {
        state: 'open',
        sort: 'created',
        direction: 'asc',
        ...(labels.length === 0 ? {} : { labels: labels.join(',') }),
        ...(milestone === null ? {} : { milestone: await milestoneNumber(milestone) }),
        ...(assignee === null ? {} : { assignee }),
      };
      return repository.list(remoteSchema, 'GET issues', 'read issues', asked, isEnough);
    },
    issue: (number) =>
      repository
        .request(remoteSchema, 'GET issues/{number}', `read issue ${number}`, { number })
        .catch((error: unknown) => {
          const { problem } = toErrorRecord(error);
          const why = problem.code === 'host-refused' ? GONE.get(problem.status) : undefined;
          if (why === undefined) throw error;
          return why;
        }),
    async poll() {
      const newest = { ...NEWEST, per_page: 1 };
      const [issue] = await repository.request(z.array(issueSchema), 'GET issues', 'read issues', newest);
      return `${issue?.number} ${issue?.updated_at}`;
    },
  });
}

function nameOf({ user: by }: Pick<GitHubIssue, 'user'>): string {
  return by?.login ?? 'ghost';
}

function timeOf(text: string | null | undefined): number {
  return text ? Date.parse(text) : 0;
}

/**
 * Pull requests that close the issue, or whose branch is the item's. A merged one counts unless the issue was reopened since.
 * An open one counts only from a trusted person: otherwise a stranger could block an item.
 */
function answersTo(
  number: number,
  path: string,
  events: readonly TimelineEvent[],
  pulls: readonly GitHubPull[],
): LinkedPullRequest[] {
  const reopenedMs = timeOf(events.findLast(({ event }) => event === 'reopened')?.created_at);
  const ofBranch = new RegExp(`^agentos/${number}(?:-|$)`);
  const linked = events.flatMap(({ event, source }) => {
    const pull = event === 'cross-referenced' ? source?.issue : null;
    if (!pull?.pull_request) return [];
    const { merged_at } = pull.pull_request;
    return [{ ...pull, merged_at, of: pull.repository?.full_name ?? path, isOwn: false, isOfBranch: false }];
  });
  const recent = pulls.map((pull) => {
    const isOwn = pull.head.repo?.full_name.toLowerCase() === path.toLowerCase();
    return { ...pull, of: path, isOwn, isOfBranch: isOwn && ofBranch.test(pull.head.ref) };
  });
  const found = [...linked, ...recent]
    .filter(({ isOfBranch, body, of }) => isOfBranch || closes(body ?? '', { path, of, number }))
    .filter(({ merged_at, state, isOwn, author_association, user: by }) =>
      merged_at
        ? reopenedMs <= timeOf(merged_at)
        : state === 'open' && (isOwn || TRUSTED.has(author_association) || by?.type === 'Bot'),
    )
    .map(({ number: pull, html_url: url, merged_at }): LinkedPullRequest => {
      return { number: pull, url, state: merged_at ? 'merged' : 'open' };
    });
  const byPlace = new Map(found.map((one) => [one.url || `#${one.number}`, one]));
  return [...byPlace.values()].sort((a, b) => a.number - b.number);
}

const CLOSING = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?\s+([^\s,;)]+)/gi;

/** Whether the text of a pull request in the repository `of` says that it closes this issue of the repository `path`. */
function closes(text: string, { path, of, number }: { path: string; of: string; number: number }): boolean {
  for (const [, target = ''] of text.matchAll(CLOSING)) {
    const [, named, digits] =
      /^(?:https?:\/\/[^/]+\/)?([\w./-]+?)(?:#|\/issues\/|\/-\/issues\/)(\d+)\b/.exec(target) ??
      /^()(?:#|GH-)(\d+)\b/i.exec(target) ??
      [];
    if (Number(digits) === number && (named || of).toLowerCase() === path.toLowerCase()) return true;
  }
  return false;
}
