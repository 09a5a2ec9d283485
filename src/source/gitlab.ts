import { z } from 'zod';
import type { Selection } from '../core/remote.ts';
import { orElse } from '../host/failure.ts';
import { gitlabNote, type Repository } from '../host/repository.ts';
import type { IssueSource, LinkedPullRequest } from './port.ts';
import { createRemoteSource, type IssueDetails, type RemoteIssue } from './remote-issue.ts';

const user = gitlabNote.shape.author;

const issueSchema = z.looseObject({
  iid: z.int(),
  title: z.string(),
  description: z.string().nullish(),
  web_url: z.string().default(''),
  state: z.string(),
  discussion_locked: z.boolean().nullish(),
  updated_at: z.string().default(''),
  author: user,
  labels: z.array(z.string()).default([]),
  moved_to_id: z.int().nullish(),
});
type GitLabIssue = z.infer<typeof issueSchema>;

const labelEventSchema = z.looseObject({
  user,
  created_at: z.string(),
  action: z.string(),
  label: z.looseObject({ name: z.string() }).nullish(),
});

const stateEventSchema = z.looseObject({ state: z.string(), created_at: z.string() });

const linkSchema = z.looseObject({ iid: z.int(), state: z.string(), link_type: z.string().default('relates_to') });

const mergeRequestSchema = z.looseObject({
  iid: z.int(),
  web_url: z.string().default(''),
  state: z.string(),
  merged_at: z.string().nullish(),
  source_project_id: z.int().nullish(),
  target_project_id: z.int().nullish(),
  author: user,
});

/** The open issues of one GitLab project. Their ids are the numbers that people see (`iid`). */
export function createGitLabSource(repository: Repository, select: Selection): IssueSource {
  const remoteSchema = issueSchema.transform(remoteOf);

  /** Some editions of GitLab lack a feature. */
  const listIfThere = <T>(schema: z.ZodType<T>, route: string, what: string): Promise<T[]> =>
    orElse(repository.list(schema, route, what), []);

  function remoteOf(issue: GitLabIssue): RemoteIssue {
    const isClosed = issue.state !== 'opened';
    return {
      number: issue.iid,
      title: issue.title,
      body: issue.description ?? '',
      url: issue.web_url,
      labels: issue.labels,
      author: issue.author?.username ?? 'ghost',
      obstacle: issue.moved_to_id ? 'transferred' : isClosed ? 'closed' : issue.discussion_locked ? 'locked' : null,
      blockers: 0,
      details: () => detailsOf(issue),
    };
  }

  async function detailsOf({ iid, author, web_url }: GitLabIssue): Promise<IssueDetails> {
    const oldestFirst = { sort: 'asc', order_by: 'created_at' };
    const [notes, links, requests, members] = await Promise.all([
      repository.list(gitlabNote, `GET issues/${iid}/notes`, `read notes on #${iid}`, oldestFirst),
      listIfThere(linkSchema, `GET issues/${iid}/links`, `read what blocks #${iid}`),
      listIfThere(mergeRequestSchema, `GET issues/${iid}/closed_by`, `read what closes #${iid}`),
      repository.members(),
    ]);
    const isMember = (one: GitLabIssue['author']): boolean => members.has(one?.id ?? -1);
    const blocking = links.filter(({ link_type, state }) => link_type === 'is_blocked_by' && state === 'opened');
    const reopenedMs = requests.some(({ state }) => state === 'merged') ? await reopenedMsOf(iid) : 0;
    return {
      blockedBy: blocking.map((link) => `#${link.iid}`),
      answeredBy: requests
        .filter(({ state, merged_at, ...request }) => {
          const isOwn = request.source_project_id === request.target_project_id;
          if (state === 'merged') return !merged_at || reopenedMs <= Date.parse(merged_at);
          return state === 'opened' && (isOwn || isMember(request.author));
        })
        .map(({ iid: number, web_url: url, state }): LinkedPullRequest => {
          return { number, url, state: state === 'merged' ? 'merged' : 'open' };
        }),
      comments: notes
        .filter(({ system }) => !system)
        .map((note) => ({
          id: String(note.id),
          by: note.author?.username ?? 'ghost',
          isTrusted: isMember(note.author),
          at: note.created_at,
          url: `${web_url}#note_${note.id}`,
          body: note.body,
        })),
      isAuthorTrusted: isMember(author),
      async labelled() {
        const events = await listIfThere(
          labelEventSchema,
          `GET issues/${iid}/resource_label_events`,
          `read the labels of #${iid}`,
        );
        const set = events.filter(({ action, user: by }) => action === 'add' && isMember(by));
        return set.map(({ label, created_at: at }) => ({ label: label?.name ?? '', at }));
      },
      // GitLab adds a system note when the title or the description changes.
      async changedMs() {
        const isChange = /^changed (?:the description|title)/;
        const change = notes.findLast(
          ({ system, body, author: by }) => system && by?.id === author?.id && isChange.test(body),
        );
        return change === undefined ? null : Date.parse(change.created_at);
      },
    };
  }

  /** 0: it was never reopened. */
  async function reopenedMsOf(iid: number): Promise<number> {
    const route = `GET issues/${iid}/resource_state_events`;
    const events = await listIfThere(stateEventSchema, route, `read the history of #${iid}`);
    return Date.parse(events.findLast(({ state }) => state === 'reopened')?.created_at ?? '') || 0;
  }

  return createRemoteSource({
    location: repository.location,
    select,
    listed(isEnough) {
      const { labels, milestone, assignee, query } = select;
      const asked = {
        state: 'opened',
        order_by: 'created_at',
        sort: 'asc',
        ...(labels.length === 0 ? {} : { labels: labels.join(',') }),
        ...(milestone === null ? {} : { milestone }),
        ...(assignee === null ? {} : { assignee_username: assignee }),
        ...(query === null ? {} : { search: query }),
      };
      return repository.list(remoteSchema, 'GET issues', 'read issues', asked, isEnough);
    },
    issue: (number) => repository.request(remoteSchema, `GET issues/${number}`, `read issue ${number}`),
    async poll() {
      const newest = { scope: 'all', order_by: 'updated_at', sort: 'desc', per_page: 1 };
      const [issue] = await repository.request(z.array(issueSchema), 'GET issues', 'read issues', newest);
      return `${issue?.iid} ${issue?.updated_at}`;
    },
  });
}
