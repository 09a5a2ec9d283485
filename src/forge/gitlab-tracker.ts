import { z } from 'zod';
import { parseItemId } from '../core/ids.ts';
import { type GitLabClient, projectAsk } from '../host/gitlab-client.ts';
import { orElse, requireActive } from '../host/port.ts';
import { type Posted, STATE_LABELS, type Tracker } from './port.ts';

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

/** The issues of one GitLab project. */
export function createGitLabTracker(client: GitLabClient, path: string): Tracker {
  const below = projectAsk(client, path);
  const postedOf = async (id: string, { id: noteId }: z.infer<typeof note>): Promise<Posted> => ({
    id: String(noteId),
    url: `${(await client.repository(path)).webUrl}/-/issues/${id}#note_${noteId}`,
  });

  return {
    location: `gitlab:${path}`,
    requireWrite: async () => requireActive('gitlab', await client.repository(path)),
    async findComment(id, marker) {
      const ask = await below(`GET /issues/${id}/notes`, `read notes on #${id}`, { query: { sort: 'asc' } });
      const own = await client.viewer();
      const found = (await client.list(ask, note)).find((one) => one.body.startsWith(marker) && one.author?.id === own);
      return found === undefined ? null : postedOf(id, found);
    },
    async addComment(id, body) {
      const ask = await below(`POST /issues/${id}/notes`, `comment on #${id}`, { body: { body } });
      return postedOf(id, await client.send(ask, note));
    },
    async editComment(id, comment, body) {
      const ask = await below(`PUT /issues/${id}/notes/${comment}`, `edit its note on #${id}`, { body: { body } });
      const edited = client.send(ask, nothing).then(() => true);
      return orElse(edited, false);
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
      // Refused if the note has that reaction already.
      await orElse(client.send(ask, nothing), null, ['host-not-found', 'host-refused']);
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
      const query = { author_id: await client.viewer(), order_by: 'created_at', sort: 'desc', state: 'all' };
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
