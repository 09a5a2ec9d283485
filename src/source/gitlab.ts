import { z } from 'zod';
import { AgentosError, codeOf } from '../core/errors.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import type { Selection } from '../core/remote.ts';
import { type GitLabAsk, type GitLabClient, projectAsk } from '../host/gitlab-client.ts';
import { orElse } from '../host/port.ts';
import type { IssueHead, IssueSource, LinkedPullRequest } from './port.ts';
import { doubtOf, issueFrom, outsideLine } from './remote-issue.ts';

const user = z.looseObject({ id: z.int(), username: z.string() }).nullish();

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

const noteSchema = z.looseObject({
  id: z.int(),
  body: z.string(),
  author: user,
  created_at: z.string(),
  system: z.boolean().default(false),
});

const labelEventSchema = z.looseObject({
  user,
  created_at: z.string(),
  action: z.string(),
  label: z.looseObject({ name: z.string() }).nullish(),
});

const stateEventSchema = z.looseObject({ state: z.string(), created_at: z.string() });

const mergeRequestSchema = z.looseObject({
  iid: z.int(),
  web_url: z.string().default(''),
  state: z.string(),
  merged_at: z.string().nullish(),
  source_project_id: z.int().nullish(),
  target_project_id: z.int().nullish(),
  author: user,
});

interface GitLabSourceOptions {
  client: GitLabClient;
  path: string;
  select: Selection;
}

/** The open issues of one GitLab project. Their ids are the numbers that people see (`iid`). */
export function createGitLabSource({ client, path: given, select }: GitLabSourceOptions): IssueSource {
  const location = `gitlab:${given}`;
  const listed = new Map<string, GitLabIssue>();

  const ask = projectAsk(client, given);
  const below = (route: string, what: string, query: GitLabAsk['query'] = {}): Promise<GitLabAsk> =>
    ask(`GET ${route}`, `${what} of ${given}`, { query });
  /** Some editions of GitLab lack a feature. */
  const listIfThere = <T>(ask: GitLabAsk, schema: z.ZodType<T>): Promise<T[]> => orElse(client.list(ask, schema), []);

  async function issue(id: ItemId): Promise<GitLabIssue> {
    const missing = new AgentosError({ code: 'issue-missing', id, path: `${location}#${id}`, near: [] });
    if (!/^[1-9]\d{0,14}$/.test(id)) throw missing;
    const found = await client
      .get(await below(`/issues/${id}`, `read issue ${id}`), issueSchema)
      .catch((error: unknown) => {
        throw codeOf(error) === 'host-not-found' ? missing : error;
      });
    const notTaken = (why: 'closed' | 'locked' | 'transferred' | 'unlabelled'): AgentosError =>
      new AgentosError({ code: 'issue-not-taken', id, where: location, why });
    if (found.moved_to_id) throw notTaken('transferred');
    if (found.state !== 'opened') throw notTaken('closed');
    if (found.discussion_locked) throw notTaken('locked');
    if (listed.has(id) && !select.labels.every((label) => found.labels.includes(label))) throw notTaken('unlabelled');
    return found;
  }

  async function blockers(id: ItemId): Promise<string[]> {
    const linkSchema = z.looseObject({ iid: z.int(), state: z.string(), link_type: z.string().default('relates_to') });
    const ask = await below(`/issues/${id}/links`, `read what blocks ${id}`);
    const links = await listIfThere(ask, linkSchema);
    return links
      .filter((link) => link.link_type === 'is_blocked_by' && link.state === 'opened')
      .map(({ iid }) => `#${iid}`);
  }

  async function answers(id: ItemId): Promise<LinkedPullRequest[]> {
    const ask = await below(`/issues/${id}/closed_by`, `read what closes ${id}`);
    const [all, members] = await Promise.all([listIfThere(ask, mergeRequestSchema), client.members(given)]);
    const reopened = all.some(({ state }) => state === 'merged') ? await reopenedAt(id) : null;
    return all.flatMap((request): LinkedPullRequest[] => {
      if (reopened !== null && request.merged_at && Date.parse(reopened) > Date.parse(request.merged_at)) return [];
      const isOwn = request.source_project_id === request.target_project_id;
      const isTrusted = isOwn || members.has(request.author?.id ?? -1);
      if (request.state !== 'merged' && (request.state !== 'opened' || !isTrusted)) return [];
      return [{ number: request.iid, url: request.web_url, state: request.state === 'merged' ? 'merged' : 'open' }];
    });
  }

  async function reopenedAt(id: ItemId): Promise<string | null> {
    const ask = await below(`/issues/${id}/resource_state_events`, `read the history of ${id}`);
    const events = await listIfThere(ask, stateEventSchema);
    return events.findLast(({ state }) => state === 'reopened')?.created_at ?? null;
  }

  return {
    location,
    async ids() {
      const { labels, milestone, assignee, query, limit } = select;
      const ask = await below('/issues', 'read issues', {
        state: 'opened',
        order_by: 'created_at',
        sort: 'asc',
        ...(labels.length === 0 ? {} : { labels: labels.join(',') }),
        ...(milestone === null ? {} : { milestone }),
        ...(assignee === null ? {} : { assignee_username: assignee }),
        ...(query === null ? {} : { search: query }),
      });
      const most = limit === null ? undefined : { count: limit, isWanted: isItem };
      const issues = (await client.list(ask, issueSchema, most)).filter(isItem);
      const items = issues.slice(0, limit ?? issues.length);
      for (const one of items) listed.set(String(one.iid), one);
      return items.map(({ iid }) => parseItemId(String(iid))).sort((a, b) => Number(a) - Number(b));
    },
    look: async (id) => headOf(listed.get(id) ?? (await issue(id))),
    async read(id) {
      const found = await issue(id);
      const notes = async () =>
        client.list(
          await below(`/issues/${id}/notes`, `read notes on ${id}`, { sort: 'asc', order_by: 'created_at' }),
          noteSchema,
        );
      const [said, blockedBy, answeredBy, members] = await Promise.all([
        notes(),
        blockers(id),
        answers(id),
        client.members(given),
      ]);
      const author = found.author?.username ?? 'ghost';
      const isOfAuthor = (one: { author?: { id: number } | null | undefined }): boolean =>
        one.author?.id === found.author?.id;
      const doubt = await doubtOf({
        isAuthorTrusted: members.has(found.author?.id ?? -1),
        author,
        isNamed: !listed.has(id),
        labelledMs: await labelledMs(id, found, members),
        // GitLab adds a system note when the title or the description changes.
        async changedMs() {
          const isChange = ({ body }: { body: string }): boolean => /^changed (?:the description|title)/.test(body);
          const change = said.findLast((note) => note.system && isOfAuthor(note) && isChange(note));
          return change === undefined ? null : Date.parse(change.created_at);
        },
      });
      const comments = said
        .filter(({ system }) => !system)
        .map((note) => ({
          id: String(note.id),
          by: note.author?.username ?? 'ghost',
          isTrusted: members.has(note.author?.id ?? -1),
          at: note.created_at,
          url: `${found.web_url}#note_${note.id}`,
          body: note.body,
        }));
      const { iid: number, title, description, web_url: url, updated_at: updatedAt, labels } = found;
      const body = description ?? '';
      return issueFrom(
        { number, title, body, url, updatedAt, labels, comments, blockedBy, answeredBy, doubt },
        location,
      );
    },
    async poll(last) {
      const newest = { scope: 'all', order_by: 'updated_at', sort: 'desc', per_page: 1 };
      return client.mark(await below('/issues', 'read issues', newest), last);
    },
  };

  async function labelledMs(
    id: ItemId,
    { labels }: GitLabIssue,
    members: ReadonlySet<number>,
  ): Promise<number | null | 'unknown'> {
    const held = select.labels.filter((label) => labels.includes(label));
    if (held.length === 0) return null;
    const ask = await below(`/issues/${id}/resource_label_events`, `read the labels of ${id}`);
    const set = (await listIfThere(ask, labelEventSchema)).findLast(
      ({ action, label, user: by }) =>
        action === 'add' && held.includes(label?.name ?? '') && members.has(by?.id ?? -1),
    );
    return set === undefined ? 'unknown' : Date.parse(set.created_at);
  }
}

function isItem({ state, discussion_locked }: GitLabIssue): boolean {
  return state === 'opened' && !discussion_locked;
}

function headOf({ iid, title, description }: GitLabIssue): IssueHead {
  const chars = title.length + (description?.length ?? 0);
  return { id: parseItemId(String(iid)), title: outsideLine(title) || `Issue ${iid}`, chars, blockers: 0 };
}
