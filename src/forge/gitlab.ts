import { z } from 'zod';
import { type GitLabAsk, type GitLabClient, projectAsk } from '../host/gitlab-client.ts';
import { orElse, requirePush } from '../host/port.ts';
import { webHostOf } from '../host/remote-url.ts';
import {
  ANSWER,
  type Check,
  closingWords,
  EVIDENCE,
  type Forge,
  type Posted,
  type PullRequest,
  type Review,
} from './port.ts';

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
const projectSchema = z.looseObject({ only_allow_merge_if_pipeline_succeeds: z.boolean().nullish() });

const DRAFT = /^(?:draft:|\[draft\]|\(draft\))\s*/i;
const RUNNING = new Set(['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled', 'manual']);
const OPEN = { state: 'opened', order_by: 'updated_at', sort: 'desc' };

/** The branches and merge requests of one GitLab project. */
export function createGitLabForge(client: GitLabClient, path: string): Forge {
  const { apiUrl } = client.options;
  const facts = () => client.repository(path);
  const web = `${new URL(apiUrl).protocol}//${webHostOf(apiUrl)}`;
  const below = projectAsk(client, path);
  const postedOn = (number: number, { id }: z.infer<typeof noteSchema>): Posted => ({
    id: String(id),
    url: `${web}/${path}/-/merge_requests/${number}#note_${id}`,
  });
  const listed = async (what: string, query: NonNullable<GitLabAsk['query']>): Promise<PullRequest[]> =>
    (await client.list(await below('GET /merge_requests', what, { query }), requestSchema)).map(requestOf);
  const requestNow = async (number: number) =>
    client.get(await below(`GET /merge_requests/${number}`, `read merge request ${number}`), requestSchema);

  return {
    location: `gitlab:${path}`,
    requireWrite: async () => requirePush('gitlab', await facts(), { needs: ['the role Developer'], detail: '' }),
    defaultBranch: async () => (await facts()).defaultBranch,
    async branchHead(branch) {
      const ask = await below(`GET /repository/branches/${encodeURIComponent(branch)}`, `read branch ${branch}`);
      return (await orElse(client.get(ask, branchSchema), null))?.commit.id ?? null;
    },
    fileUrl: (branch, file) =>
      `${web}/${path}/-/blob/${branch.split('/').map(encodeURIComponent).join('/')}/${encodeURI(file)}`,
    closing: (place, issue) => closingWords(`gitlab:${path}`, place, issue),
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
      return all.map((request) => ({ ...request, baseHead: null, checks: null, remarks: null }));
    },
    // A finished job updates no date of its merge request, but the newest pipeline changes.
    async poll(last) {
      const asks = [
        below('GET /merge_requests', `read merge requests of ${path}`, { query: { ...OPEN, per_page: '1' } }),
        below('GET /issues', `read issues of ${path}`, { query: { order_by: 'updated_at', per_page: '1' } }),
        below('GET /pipelines', `read pipelines of ${path}`, { query: { order_by: 'updated_at', per_page: '1' } }),
      ];
      const before = last?.split('|') ?? [];
      // Some projects have no pipelines, and some tokens may not see them.
      const marks = asks.map(async (ask, at) =>
        orElse(client.mark(await ask, before[at] ?? null), 'hidden', ['host-not-found', 'host-scope-missing']),
      );
      return (await Promise.all(marks)).join('|');
    },
    pullRequest: async (number) => requestOf(await requestNow(number)),
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
      const now = await requestNow(number);
      const named = title === undefined ? {} : { title: now.draft ? `Draft: ${title}` : title };
      const text = { ...named, description: body };
      const ask = await below(`PUT /merge_requests/${number}`, `edit merge request ${number}`, { body: text });
      await client.send(ask, z.unknown());
    },
    async makeReady({ number, title }) {
      const ask = await below(`PUT /merge_requests/${number}`, `make merge request ${number} ready`, {
        body: { title: title.replace(DRAFT, '') },
      });
      await client.send(ask, z.unknown());
    },
    async checks(commit) {
      const ask = await below(`GET /repository/commits/${commit}/statuses`, `read the checks of ${commit}`);
      const [statuses, { only_allow_merge_if_pipeline_succeeds: isRequired }] = await Promise.all([
        client.list(ask, statusSchema),
        client.get(await below('GET ', `read project ${path}`), projectSchema),
      ]);
      const found = new Map<string, Check>();
      for (const { name, status, description, target_url, allow_failure } of statuses) {
        if (name === EVIDENCE || status === 'skipped') continue;
        const isPassed = status === 'success' || (allow_failure && !RUNNING.has(status));
        const isUndecided = RUNNING.has(status) || status === 'canceled';
        const state = isPassed ? 'passed' : isUndecided ? 'pending' : 'failed';
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
      const ask = await below(`GET /merge_requests/${number}/discussions`, `read notes on ${number}`);
      const [discussions, members] = await Promise.all([client.list(ask, discussionSchema), client.members(path)]);
      const isMarked = discussions.some(({ notes }) => notes.some(({ body }) => body.startsWith(ANSWER)));
      const self = isMarked ? await client.viewer() : null;
      return discussions.flatMap(({ id: thread, notes }) =>
        notes
          .filter(({ system }) => !system)
          .map(({ id, body, author, created_at: at, position, resolved: isResolved }): Review => {
            const file = position?.new_path ?? null;
            const line = file === null ? null : { path: file, line: position?.new_line ?? null };
            return {
              id: String(id),
              by: author?.username ?? 'ghost',
              isTrusted: members.has(author?.id ?? -1),
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
      const [notes, id] = await Promise.all([client.list(ask, noteSchema), client.viewer()]);
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
      const ask = await below(`POST /statuses/${commit}`, `report evidence on ${commit.slice(0, 12)}`, { body });
      await client.send(ask, z.unknown());
    },
  };
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
