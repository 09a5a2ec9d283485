import { z } from 'zod';
import { parseItemId } from '../core/ids.ts';
import { type GitHubClient, repositoryAsk } from '../host/github-client.ts';
import { orElse, requireActive } from '../host/port.ts';
import { type Posted, STATE_LABELS, type Tracker } from './port.ts';

const posted = z.looseObject({ id: z.union([z.int(), z.bigint()]), html_url: z.string().default('') });
const user = z.looseObject({ login: z.string(), type: z.string().optional() });
const comment = posted.extend({ body: z.string().nullish(), user: user.nullish() });
const issue = z.looseObject({
  number: z.int(),
  html_url: z.string().default(''),
  title: z.string(),
  body: z.string().nullish(),
  user: user.nullish(),
  pull_request: z.unknown().optional(),
});
const MOST_COMPARED = 2_000;
const label = z.looseObject({ name: z.string() });
const nothing = z.unknown();

/** The issues of one GitHub repository. */
export function createGitHubTracker(client: GitHubClient, path: string): Tracker {
  const below = repositoryAsk(client, path);

  return {
    location: `github:${path}`,
    requireWrite: async () => requireActive('github', await client.repository(path)),
    async findComment(id, marker) {
      const ask = await below('GET /issues/{number}/comments', `read comments on #${id}`, { number: id });
      for (const one of await client.list(ask, comment))
        if (one.body?.startsWith(marker) && (await client.isOwn(one.user))) return postedOf(one);
      return null;
    },
    async addComment(id, body) {
      const ask = await below('POST /issues/{number}/comments', `comment on #${id}`, { number: id, body });
      return postedOf(await client.send(ask, comment));
    },
    async editComment(id, commentId, body) {
      const ask = await below('PATCH /issues/comments/{comment}', `edit its comment on #${id}`, {
        comment: commentId,
        body,
      });
      const edited = client.send(ask, nothing).then(() => true);
      return orElse(edited, false);
    },
    async setState(id, state) {
      const held = await client.list(
        await below('GET /issues/{number}/labels', `read labels of #${id}`, { number: id }),
        label,
      );
      const has = new Set(held.map(({ name }) => name));
      if (state !== null && !has.has(state)) {
        const labels = [state];
        await client.send(await below('POST /issues/{number}/labels', `label #${id}`, { number: id, labels }), nothing);
      }
      for (const name of STATE_LABELS.filter((one) => one !== state && has.has(one))) {
        const ask = await below('DELETE /issues/{number}/labels/{name}', `label #${id}`, { number: id, name });
        await orElse(client.send(ask, nothing), null);
      }
    },
    async markRead(id, commentId) {
      const route = 'POST /issues/comments/{comment}/reactions';
      const ask = await below(route, `react to a comment on #${id}`, { comment: commentId, content: 'eyes' });
      await orElse(client.send(ask, nothing), null);
    },
    async existing() {
      const newest = { state: 'all', sort: 'updated', direction: 'desc' };
      const ask = await below('GET /issues', `read issues of ${path}`, newest);
      const found = await client.list(ask, issue, { count: MOST_COMPARED, isWanted: () => true });
      const issues = found.filter(({ pull_request }) => !pull_request);
      return issues.map(({ number, title, body }) => ({ id: parseItemId(String(number)), title, body: body ?? '' }));
    },
    async findIssue(marker) {
      const name = await client.viewer();
      const ask = await below('GET /issues', `read issues of ${path}`, {
        state: 'all',
        sort: 'created',
        direction: 'desc',
        ...(name === null ? {} : { creator: name }),
      });
      const newest = await client.list(ask, issue, { count: 1, isWanted: () => true });
      for (const one of newest)
        if (one.body?.includes(marker) && (await client.isOwn(one.user))) return issuePosted(one);
      return null;
    },
    async createIssue({ title, body }) {
      const ask = await below('POST /issues', `create an issue in ${path}`, { title, body });
      return issuePosted(await client.send(ask, issue));
    },
  };
}

function postedOf({ id, html_url }: z.infer<typeof posted>): Posted {
  return { id: String(id), url: html_url };
}

function issuePosted({ number, html_url }: z.infer<typeof issue>): Posted {
  return { id: String(number), url: html_url };
}
