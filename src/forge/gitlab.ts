import { z } from 'zod';
import { AgentosError, codeOf } from '../core/errors.ts';
import { type GitLabAsk, type GitLabClient, projectAsk } from '../host/gitlab-client.ts';
import { webHostOf } from '../host/remote-url.ts';
import { ANSWER, type Check, EVIDENCE, type Forge, type Posted, type PullRequest, type Review } from './port.ts';

const requestSchema = z.looseObject({
  iid: z.int(),
  web_url: z.string().default(''),
  state: z.string(),
  draft: z.boolean().default(false),
  title: z.string(),
  description: z.string().nullish(),
  source_branch: z.string(),
  target_branch: z.string(),
  sha: z.string().nullish(),
  source_project_id: z.int().nullish(),
  target_project_id: z.int().nullish(),
  updated_at: z.string().default(''),
});
const branchSchema = z.looseObject({ commit: z.looseObject({ id: z.string() }) });
const statusSchema = z.looseObject({
  name: z.string(),
  status: z.string(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
  allow_failure: z.boolean().default(false),
});
const noteSchema = z.looseObject({
  id: z.int(),
  body: z.string(),
  author: z.looseObject({ id: z.int(), username: z.string() }).nullish(),
  created_at: z.string(),
  system: z.boolean().default(false),
  resolved: z.boolean().default(false),
  position: z.looseObject({ new_path: z.string().nullish(), new_line: z.int().nullish() }).nullish(),
});
const discussionSchema = z.looseObject({ id: z.string(), notes: z.array(noteSchema) });
const memberSchema = z.looseObject({ id: z.int(), access_level: z.int() });
const projectSchema = z.looseObject({ only_allow_merge_if_pipeline_succeeds: z.boolean().nullish() });

const DRAFT = /^(?:draft:|\[draft\]|\(draft\))\s*/i;
const RUNNING = new Set(['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled', 'manual']);
const REPORTER = 20;
const OPEN = { state: 'opened', order_by: 'updated_at', sort: 'desc' };

/** The branches and merge requests of one project of GitLab. */
export function createGitLabForge(client: GitLabClient, path: string): Forge {
  const { apiUrl } = client.options;
  const facts = () => client.repository(path);
  const web = `${new URL(apiUrl).protocol}//${webHostOf(apiUrl)}`;
  const below = projectAsk(client, path);
  const postedOn = (number: number, { id }: z.infer<typeof noteSchema>): Posted => ({
    id: String(id),
    url: `${web}/${path}/-/merge_requests/${number}#note_${id}`,
  });
  const viewer = async (): Promise<number> => {
    const ask = { what: 'read whose token it is', route: 'GET /user' };
    return (await client.get(ask, z.looseObject({ id: z.int() }))).id;
  };
  const listed = async (what: string, query: GitLabAsk['query']): Promise<PullRequest[]> =>
    (await client.list(await below('GET /merge_requests', what, { query: { ...query } }), requestSchema)).map(
      requestOf,
    );

  return {
    location: `gitlab:${path}`,
    async requireWrite() {
      const { isArchived, canPush, path: now } = await facts();
      if (isArchived) throw new AgentosError({ code: 'host-archived', host: 'gitlab', repository: now });
      if (canPush !== false) return;
      const needs = ['the role Developer'];
      throw new AgentosError({ code: 'host-scope-missing', host: 'gitlab', what: `push to ${now}`, needs, detail: '' });
    },
    defaultBranch: async () => (await facts()).defaultBranch,
    async branchHead(branch) {
      const ask = await below(`GET /repository/branches/${encodeURIComponent(branch)}`, `read branch ${branch}`);
      return client.get(ask, branchSchema).then(
        ({ commit }) => commit.id,
        (error: unknown) => {
          if (codeOf(error) !== 'host-not-found') throw error;
          return null;
        },
      );
    },
    fileUrl: (branch, file) =>
      `${web}/${path}/-/blob/${branch.split('/').map(encodeURIComponent).join('/')}/${encodeURI(file)}`,
    closing(place, issue) {
      if (!place.startsWith('gitlab:')) return null;
      const of = place.slice('gitlab:'.length);
      return of === path ? `Closes #${issue}` : `Closes ${of}#${issue}`;
    },
    async gitHeader() {
      const login = Buffer.from(`oauth2:${(await client.options.token()).reveal()}`).toString('base64');
      return { url: `${web}/`, header: `Authorization: Basic ${login}` };
    },
    async pullRequestsOf(branch) {
      const query = { source_branch: branch, state: 'all', order_by: 'created_at', sort: 'desc' };
      return (await listed(`read merge requests of ${branch}`, query)).filter(({ isOwn }) => isOwn);
    },
    async openPullRequests() {
      const all = await listed(`read merge requests of ${path}`, OPEN);
      return all.map((request) => ({
        ...request,
        baseHead: null,
        checks: null,
        remarks: null,
      }));
    },
    // A finished job changes no date of its merge request: the newest pipeline tells of it.
    async poll(last) {
      const asks = [
        below('GET /merge_requests', `read merge requests of ${path}`, { query: { ...OPEN, per_page: '1' } }),
        below('GET /issues', `read issues of ${path}`, { query: { order_by: 'updated_at', per_page: '1' } }),
        below('GET /pipelines', `read pipelines of ${path}`, { query: { order_by: 'updated_at', per_page: '1' } }),
      ];
      const before = last?.split('|') ?? [];
      const marks = asks.map(async (ask, at) => client.mark(await ask, before[at] ?? null).catch(unlessHidden));
      return (await Promise.all(marks)).join('|');
    },
    async pullRequest(number) {
      return requestOf(
        await client.get(await below(`GET /merge_requests/${number}`, `read merge request ${number}`), requestSchema),
      );
    },
    async open({ branch, base, title, body, isDraft }) {
      const request = {
        source_branch: branch,
        target_branch: base,
        title: isDraft ? `Draft: ${title}` : title,
        description: body,
      };
      const ask = await below('POST /merge_requests', `open a merge request for ${branch}`, { body: request });
      return requestOf(await client.send(ask, requestSchema));
    },
    async rewrite(number, { title, body }) {
      const now = await client.get(
        await below(`GET /merge_requests/${number}`, `read merge request ${number}`),
        requestSchema,
      );
      const named = title === undefined ? {} : { title: now.draft ? `Draft: ${title}` : title };
      const text = { ...named, description: body };
      await client.send(
        await below(`PUT /merge_requests/${number}`, `edit merge request ${number}`, { body: text }),
        z.unknown(),
      );
    },
    async makeReady({ number, title }) {
      const ask = await below(`PUT /merge_requests/${number}`, `make merge request ${number} ready`, {
        body: { title: title.replace(DRAFT, '') },
      });
      await client.send(ask, z.unknown());
    },
    async checks(commit) {
      const [statuses, { only_allow_merge_if_pipeline_succeeds: isRequired }] = await Promise.all([
        client.list(
          await below(`GET /repository/commits/${commit}/statuses`, `read the checks of ${commit}`),
          statusSchema,
        ),
        client.get(await below('GET ', `read project ${path}`), projectSchema),
      ]);
      const found = new Map<string, Check>();
      for (const { name, status, description, target_url, allow_failure } of statuses) {
        if (name === EVIDENCE || status === 'skipped') continue;
        const isFine = status === 'success' || (allow_failure && !RUNNING.has(status));
        const isUntold = RUNNING.has(status) || status === 'canceled';
        const state = isFine ? 'passed' : isUntold ? 'pending' : 'failed';
        const said = { url: target_url ?? null, output: description ?? '' };
        found.set(name, { name, state, isRequired: isRequired === true && !allow_failure, ...said });
      }
      return [...found.values()];
    },
    async failureLog({ name, url, output }) {
      const [, job] = /\/jobs\/(\d+)$/.exec(url ?? '') ?? [];
      if (job === undefined) return output;
      return (await client.log(await below(`GET /jobs/${job}/trace`, `read the log of ${name}`))) ?? output;
    },
    async reviews(number) {
      const [discussions, members] = await Promise.all([
        client.list(
          await below(`GET /merge_requests/${number}/discussions`, `read notes on ${number}`),
          discussionSchema,
        ),
        client.list(await below('GET /members/all', `read the members of ${path}`), memberSchema),
      ]);
      const isMarked = discussions.some(({ notes }) => notes.some(({ body }) => body.startsWith(ANSWER)));
      const self = isMarked ? await viewer() : null;
      const trusted = new Set(members.filter(({ access_level }) => access_level >= REPORTER).map(({ id }) => id));
      return discussions.flatMap(({ id: thread, notes }) =>
        notes
          .filter(({ system }) => !system)
          .map(({ id, body, author, created_at: at, position, resolved: isResolved }): Review => {
            const file = position?.new_path ?? null;
            const line = file === null ? null : { path: file, line: position?.new_line ?? null };
            const by = author?.username ?? 'ghost';
            return {
              id: String(id),
              by,
              isTrusted: trusted.has(author?.id ?? -1),
              verdict: 'commented',
              body,
              at,
              line,
              thread,
              isOwn: self !== null && author?.id === self && body.startsWith(ANSWER),
              isResolved,
            };
          }),
      );
    },
    async reply(number, thread, body) {
      const notes = thread === null ? 'notes' : `discussions/${thread}/notes`;
      const ask = await below(`POST /merge_requests/${number}/${notes}`, `answer on merge request ${number}`, {
        body: { body },
      });
      return postedOn(number, await client.send(ask, noteSchema));
    },
    async findReply(number, _thread, marker) {
      const ask = await below(`GET /merge_requests/${number}/notes`, `read notes on merge request ${number}`);
      const [notes, id] = await Promise.all([client.list(ask, noteSchema), viewer()]);
      const own = notes.find(({ body, author }) => author?.id === id && body.startsWith(marker));
      return own === undefined ? null : postedOn(number, own);
    },
    async setEvidence(commit, { passed, summary, url }) {
      const body = {
        state: passed ? 'success' : 'failed',
        name: EVIDENCE,
        description: summary.slice(0, 140),
        target_url: url,
      };
      await client.send(
        await below(`POST /statuses/${commit}`, `report evidence on ${commit.slice(0, 12)}`, { body }),
        z.unknown(),
      );
    },
  };
}

/** A project without pipelines, or a token that may not see them. */
function unlessHidden(error: unknown): string {
  if (codeOf(error) !== 'host-not-found' && codeOf(error) !== 'host-scope-missing') throw error;
  return 'hidden';
}

function requestOf(request: z.infer<typeof requestSchema>): PullRequest {
  return {
    number: request.iid,
    url: request.web_url,
    state: request.state === 'merged' ? 'merged' : request.state === 'opened' ? 'open' : 'closed',
    isDraft: request.draft,
    title: request.title,
    body: request.description ?? '',
    branch: request.source_branch,
    head: request.sha ?? '',
    base: request.target_branch,
    isOwn: request.source_project_id === request.target_project_id,
    updatedAt: request.updated_at,
  };
}
