import { z } from 'zod';
import { AgentosError, codeOf } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { type GitLabClient, projectAsk } from '../host/gitlab-client.ts';
import { STATE_LABELS, type Tracker } from './port.ts';

const user = z.looseObject({ id: z.int() });
const note = z.looseObject({
  id: z.int(),
  body: z.string(),
  author: user.nullish(),
  system: z.boolean().default(false),
});
const issue = z.looseObject({
  iid: z.int(),
  title: z.string(),
  description: z.string().nullish(),
  web_url: z.string().default(''),
  labels: z.array(z.string()).default([]),
  author: user.nullish(),
});
const nothing = z.unknown();
const MOST_COMPARED = 2_000;

/** The issues of one project of GitLab. */
export function createGitLabTracker(client: GitLabClient, path: string): Tracker {
  let viewer: Promise<number> | null = null;
  const below = projectAsk(client, path);
  const ownId = (): Promise<number> =>
    (viewer ??= client.get({ what: 'read whose token it is', route: 'GET /user' }, user).then(({ id }) => id));
  const noteUrl = async (id: string, noteId: string): Promise<string> =>
    `${(await client.repository(path)).webUrl}/-/issues/${id}#note_${noteId}`;

  return {
    location: `gitlab:${path}`,
    async requireWrite() {
      const { isArchived, path: now } = await client.repository(path);
      if (isArchived) throw new AgentosError({ code: 'host-archived', host: 'gitlab', repository: now });
    },
    async findComment(id, marker) {
      const ask = await below(`GET /issues/${id}/notes`, `read notes on #${id}`, { query: { sort: 'asc' } });
      const own = await ownId();
      const found = (await client.list(ask, note)).find((one) => one.body.startsWith(marker) && one.author?.id === own);
      return found === undefined ? null : { id: String(found.id), url: await noteUrl(id, String(found.id)) };
    },
    async addComment(id, body) {
      const made = await client.send(
        await below(`POST /issues/${id}/notes`, `comment on #${id}`, { body: { body } }),
        note,
      );
      return { id: String(made.id), url: await noteUrl(id, String(made.id)) };
    },
    async editComment(id, comment, body) {
      const ask = await below(`PUT /issues/${id}/notes/${comment}`, `edit its note on #${id}`, { body: { body } });
      return client.send(ask, nothing).then(
        () => true,
        (error: unknown) => {
          if (codeOf(error) !== 'host-not-found') throw error;
          return false;
        },
      );
    },
    async setState(id, state) {
      const { labels } = await client.get(await below(`GET /issues/${id}`, `read issue ${id}`), issue);
      const others = STATE_LABELS.filter((one) => one !== state && labels.includes(one));
      if ((state === null || labels.includes(state)) && others.length === 0) return;
      const body = { ...(state === null ? {} : { add_labels: state }), remove_labels: others.join(',') };
      await client.send(await below(`PUT /issues/${id}`, `label #${id}`, { body }), nothing);
    },
    async markRead(id, comment) {
      const ask = await below(`POST /issues/${id}/notes/${comment}/award_emoji`, `react to a note on #${id}`, {
        body: { name: 'eyes' },
      });
      await client.send(ask, nothing).catch((error: unknown) => {
        // Given already, or the note is gone.
        if (codeOf(error) !== 'host-not-found' && codeOf(error) !== 'host-refused') throw error;
      });
    },
    async existing() {
      const query = { scope: 'all', order_by: 'updated_at', sort: 'desc' };
      const ask = await below('GET /issues', `read issues of ${path}`, { query });
      const all = await client.list(ask, issue, { count: MOST_COMPARED, isWanted: () => true });
      return all.map(({ iid, title, description }) => ({
        id: parseItemId(String(iid)),
        title,
        body: description ?? '',
      }));
    },
    async findIssue(marker) {
      const query = { author_id: await ownId(), order_by: 'created_at', sort: 'desc', state: 'all' };
      const ask = await below('GET /issues', `read issues of ${path}`, { query });
      const newest = await client.list(ask, issue, { count: 1, isWanted: () => true });
      const found = newest.find(({ description }) => description?.includes(marker));
      return found === undefined ? null : { id: String(found.iid), url: found.web_url };
    },
    async createIssue({ title, body }) {
      const ask = await below('POST /issues', `create an issue in ${path}`, { body: { title, description: body } });
      const { iid, web_url } = await client.send(ask, issue);
      return { id: String(iid), url: web_url };
    },
  };
}
