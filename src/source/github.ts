import { z } from 'zod';
import { AgentosError, type Problem, toErrorRecord, usageError } from '../core/errors.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { Selection } from '../core/remote.ts';
import { type GitHubClient, repositoryAsk, TRUSTED } from '../host/github-client.ts';
import { orElse } from '../host/port.ts';
import {
  answersTo,
  commentSchema,
  EDITS,
  editsSchema,
  eventSchema,
  type GitHubIssue,
  type GitHubPull,
  hasLabel,
  headOf,
  isItem,
  issueSchema,
  labelledMs,
  labelsOf,
  MOST_EDITS,
  pullSchema,
  type TimelineEvent,
  timeOf,
} from './github-shapes.ts';
import type { IssueSource } from './port.ts';
import { doubtOf, issueFrom, type RemoteComment } from './remote-issue.ts';

interface GitHubSourceOptions {
  client: GitHubClient;
  /** As configured; the repository may have been renamed since. */
  path: string;
  select: Selection;
}

/** GitHub updates the issue within the same request that sets its label. */
const SAME_MOMENT_MS = 2_000;

/** The open issues of one GitHub repository. Their ids are their numbers. */
export function createGitHubSource({ client, path: given, select }: GitHubSourceOptions): IssueSource {
  const location = `github:${given}`;
  const listed = new Map<string, GitHubIssue>();
  let recent: Promise<GitHubPull[]> | null = null;

  const pathNow = async (): Promise<string> => (await client.repository(given)).path;
  const ask = repositoryAsk(client, given);
  const below: typeof ask = (route, what, parameters) => ask(route, `${what} of ${given}`, parameters);
  /** The most recently updated page; pull requests that are not on it are found by an issue's timeline. */
  const recentPulls = (): Promise<GitHubPull[]> =>
    (recent ??= below('GET /pulls', 'read pull requests', {
      state: 'all',
      sort: 'updated',
      direction: 'desc',
    }).then((ask) => client.list(ask, pullSchema, { count: 1, isWanted: () => true })));

  async function selected(): Promise<GitHubIssue[]> {
    const { labels, milestone, assignee, query, limit } = select;
    const most = limit === null ? undefined : { count: limit, isWanted: isItem };
    if (query !== null) {
      const words = [
        `repo:${await pathNow()} is:issue is:open`,
        ...labels.map((label) => `label:"${label}"`),
        ...(milestone === null ? [] : [`milestone:"${milestone}"`]),
        ...(assignee === null ? [] : [`assignee:${assignee}`]),
        query,
      ];
      const ask = {
        what: `search issues of ${given}`,
        route: 'GET /search/issues',
        parameters: { q: words.join(' ') },
      };
      return client.list(ask, issueSchema, most);
    }
    const ask = await below('GET /issues', 'read issues', {
      state: 'open',
      sort: 'created',
      direction: 'asc',
      ...(labels.length === 0 ? {} : { labels: labels.join(',') }),
      ...(milestone === null ? {} : { milestone: await milestoneNumber(milestone) }),
      ...(assignee === null ? {} : { assignee }),
    });
    return client.list(ask, issueSchema, most);
  }

  async function milestoneNumber(title: string): Promise<string> {
    if (title === '*' || title === 'none') return title;
    const ask = await below('GET /milestones', 'read milestones', { state: 'all' });
    const all = await client.list(ask, z.looseObject({ number: z.int(), title: z.string() }));
    const found = all.find((one) => one.title === title) ?? all.find((one) => String(one.number) === title);
    if (found !== undefined) return String(found.number);
    const known = all.map((one) => `"${one.title}"`).join(', ') || 'none';
    throw usageError(`${given} has no milestone "${title}".`, `There are: ${known}`);
  }

  async function issue(id: ItemId): Promise<GitHubIssue> {
    const notTaken = (why: Extract<Problem, { code: 'issue-not-taken' }>['why']): AgentosError =>
      new AgentosError({ code: 'issue-not-taken', id, where: location, why });
    const missing = new AgentosError({ code: 'issue-missing', id, path: `${location}#${id}`, near: [] });
    if (!/^[1-9]\d{0,14}$/.test(id)) throw missing;
    const ask = await below('GET /issues/{number}', `read issue ${id}`, { number: Number(id) });
    const found = await client.find(ask, issueSchema).catch((error: unknown) => {
      const { problem } = toErrorRecord(error);
      if (problem.code === 'host-not-found') throw missing;
      if (problem.code === 'host-refused' && problem.status === 410) throw notTaken('deleted');
      if (problem.code === 'host-refused' && problem.status === 451) throw notTaken('withheld');
      throw error;
    });
    if (!('value' in found)) throw notTaken('transferred');
    const { value } = found;
    if (value.pull_request) throw notTaken('pull-request');
    if (value.state !== 'open') throw notTaken('closed');
    if (value.locked) throw notTaken('locked');
    const labels = labelsOf(value);
    if (listed.has(id) && !select.labels.every((label) => hasLabel(labels, label))) throw notTaken('unlabelled');
    return value;
  }

  async function comments(id: ItemId, count: number): Promise<RemoteComment[]> {
    if (count === 0) return [];
    const ask = await below('GET /issues/{number}/comments', `read comments on ${id}`, {
      number: Number(id),
    });
    return (await client.list(ask, commentSchema)).map((comment) => ({
      id: String(comment.id),
      by: comment.user?.login ?? 'ghost',
      isTrusted: TRUSTED.has(comment.author_association),
      at: comment.created_at,
      url: comment.html_url,
      body: comment.body ?? '',
    }));
  }

  async function timeline(id: ItemId): Promise<TimelineEvent[]> {
    const ask = await below('GET /issues/{number}/timeline', `read the history of ${id}`, {
      number: Number(id),
    });
    // Without a timeline no label vouches for the text.
    return orElse(client.list(ask, eventSchema), []);
  }

  async function blockers(id: ItemId, count: number): Promise<string[]> {
    if (count === 0) return [];
    const route = 'GET /issues/{number}/dependencies/blocked_by';
    const ask = await below(route, `read what blocks ${id}`, { number: Number(id) });
    const path = await pathNow();
    const open = (await client.list(ask, issueSchema)).filter(({ state }) => state === 'open');
    return open.map(({ number, repository }) => {
      const other = repository?.full_name ?? path;
      return other === path ? `#${number}` : `${other}#${number}`;
    });
  }

  async function lastEdit(number: number, author: string): Promise<number | null | 'unknown'> {
    const [owner, repo] = (await pathNow()).split('/');
    const asked = client.graphql(`read the edits of ${number}`, EDITS, { owner, repo, number }, editsSchema);
    const edited = await asked.then(({ repository }) => repository.issue).catch(() => null);
    if (edited === null) return 'unknown';
    if (edited.lastEditedAt === null) return null;
    const own = edited.userContentEdits.nodes.filter(({ editor }) => editor === null || editor.login === author);
    const isComplete = edited.userContentEdits.nodes.length < MOST_EDITS;
    return timeOf(own[0]?.editedAt) ?? (isComplete ? null : 'unknown');
  }

  return {
    location,
    async ids() {
      const { limit } = select;
      // Pull requests are read now, so that starting an item needs no further request.
      const [issues] = await Promise.all([selected(), recentPulls()]);
      const items = issues.filter(isItem).slice(0, limit ?? issues.length);
      for (const one of items) listed.set(String(one.number), one);
      return items.map(({ number }) => parseItemId(String(number))).sort((a, b) => Number(a) - Number(b));
    },
    look: async (id) => headOf(listed.get(id) ?? (await issue(id))),
    async read(id) {
      const found = await issue(id);
      const author = found.user?.login ?? 'ghost';
      const [said, events, blockedBy, pulls] = await Promise.all([
        comments(id, found.comments),
        timeline(id),
        blockers(id, found.issue_dependencies_summary?.blocked_by ?? 0),
        recentPulls(),
      ]);
      const labelled = labelledMs(events, labelsOf(found), select.labels, author);
      const doubt = await doubtOf({
        isAuthorTrusted: TRUSTED.has(found.author_association),
        author,
        isNamed: !listed.has(id),
        labelledMs: labelled,
        async changedMs() {
          // Nothing happened to the issue after its label was set.
          const isQuiet = typeof labelled === 'number' && Date.parse(found.updated_at) <= labelled + SAME_MOMENT_MS;
          if (isQuiet) return null;
          const renamed = events.findLast(({ event, actor }) => event === 'renamed' && actor?.login === author);
          const edited = await lastEdit(found.number, author);
          return edited === 'unknown' ? edited : Math.max(timeOf(renamed?.created_at) ?? 0, edited ?? 0);
        },
      });
      const remote = {
        number: found.number,
        title: found.title,
        body: found.body ?? '',
        url: found.html_url,
        updatedAt: found.updated_at,
        labels: labelsOf(found),
        comments: said,
        blockedBy,
        answeredBy: answersTo(found.number, await pathNow(), events, pulls),
        doubt,
      };
      return issueFrom(remote, location);
    },
    async poll(last) {
      const newest = { state: 'all', sort: 'updated', direction: 'desc', per_page: 1 };
      return client.mark(await below('GET /issues', 'read issues', newest), last);
    },
  };
}
