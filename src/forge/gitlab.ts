import { z } from 'zod';
import { parseItemId } from '../core/ids.ts';
import { orElse } from '../host/failure.ts';
import { gitlabNote, type Repository } from '../host/repository.ts';
import {
  ANSWER,
  type Check,
  EVIDENCE,
  type Forge,
  type Posted,
  type PullRequest,
  type Review,
  STATE_LABELS,
  type Tracker,
} from './port.ts';

const nothing = z.unknown();
type Note = z.infer<typeof gitlabNote>;
const issueSchema = z.looseObject({
  iid: z.int(),
  title: z.string(),
  description: z.string().nullish(),
  web_url: z.string().default(''),
  labels: z.array(z.string()).default([]),
});

/** How many issues a new one is compared with. */
const MOST_COMPARED = 2_000;

/** The issues of one GitLab project. */
export function createGitLabTracker(repository: Repository): Tracker {
  return {
    location: repository.location,
    requireWrite: repository.requireActive,
    findComment: (id, marker) => findNote(repository, `issues/${id}`, `#${id}`, marker),
    async addComment(id, body) {
      const note = repository.request(gitlabNote, `POST issues/${id}/notes`, `comment on #${id}`, { body });
      return { id: String((await note).id) };
    },
    async editComment(id, comment, body) {
      const route = `PUT issues/${id}/notes/${comment}`;
      const edit = repository.request(gitlabNote, route, `edit its note on #${id}`, { body });
      return (await orElse(edit, null)) !== null;
    },
    async setState(id, state) {
      const what = `label #${id}`;
      const { labels } = await repository.request(issueSchema, `GET issues/${id}`, what);
      const others = STATE_LABELS.filter((one) => one !== state && labels.includes(one));
      if ((state === null || labels.includes(state)) && others.length === 0) return;
      const change = { ...(state === null ? {} : { add_labels: state }), remove_labels: others.join(',') };
      await repository.request(nothing, `PUT issues/${id}`, what, change);
    },
    async markRead(id, comment) {
      const route = `POST issues/${id}/notes/${comment}/award_emoji`;
      const react = repository.request(nothing, route, `react to a note on #${id}`, { name: 'eyes' });
      // Refused if the note has that reaction already.
      await orElse(react, null, ['host-not-found', 'host-refused']);
    },
    async existing() {
      const newest = { scope: 'all', order_by: 'updated_at', sort: 'desc' };
      const isEnough = (all: readonly unknown[]): boolean => all.length >= MOST_COMPARED;
      const all = await repository.list(issueSchema, 'GET issues', 'read issues', newest, isEnough);
      return all.map(({ iid, title, description }) => ({
        id: parseItemId(String(iid)),
        title,
        body: description ?? '',
      }));
    },
    async findIssue(marker) {
      const author_username = await repository.viewer();
      const newest = { author_username, order_by: 'created_at', sort: 'desc', state: 'all', per_page: 100 };
      const all = await repository.request(z.array(issueSchema), 'GET issues', 'read issues', newest);
      const found = all.find(({ description }) => description?.includes(marker));
      return found === undefined ? null : { url: found.web_url };
    },
    async createIssue({ title, body: description }) {
      const issue = { title, description };
      return { url: (await repository.request(issueSchema, 'POST issues', 'create an issue', issue)).web_url };
    },
  };
}

/** The first note of our own that begins with the marker. `place`: an issue or a merge request. */
async function findNote(repository: Repository, place: string, name: string, marker: string): Promise<Posted | null> {
  const all = await repository.list(gitlabNote, `GET ${place}/notes`, `read notes on ${name}`, { sort: 'asc' });
  for (const note of all)
    if (note.body.startsWith(marker) && (await repository.isOwn(note.author))) return { id: String(note.id) };
  return null;
}

const requestSchema = z
  .looseObject({
    iid: z.int(),
    web_url: z.string().default(''),
    state: z.string(),
    draft: z.boolean().default(false),
    source_branch: z.string(),
    target_branch: z.string(),
    sha: z.string().nullish(),
    source_project_id: z.int().nullish(),
    target_project_id: z.int().nullish(),
    updated_at: z.string().default(''),
  })
  .transform(
    ({ iid, web_url, state, draft, sha, updated_at, ...request }): PullRequest => ({
      number: iid,
      url: web_url,
      state: state === 'merged' ? 'merged' : state === 'opened' ? 'open' : 'closed',
      isDraft: draft,
      branch: request.source_branch,
      head: sha ?? '',
      base: request.target_branch,
      isOwn: request.source_project_id === request.target_project_id,
      updatedAt: updated_at,
      listed: null,
    }),
  );
const titleSchema = z.looseObject({ title: z.string(), draft: z.boolean().default(false) });
const branchSchema = z.looseObject({ commit: z.looseObject({ id: z.string() }) });
const statusSchema = z.looseObject({
  name: z.string(),
  status: z.string(),
  description: z.string().nullish(),
  target_url: z.string().nullish(),
  allow_failure: z.boolean().default(false),
});
const discussionSchema = z.looseObject({ id: z.string(), notes: z.array(gitlabNote) });
const changedSchema = z.looseObject({
  id: z.int().optional(),
  updated_at: z.string().nullish(),
  status: z.string().nullish(),
});

const LONGEST_DESCRIPTION = 140;
const DRAFT = /^(?:draft:|\[draft\]|\(draft\))\s*/i;
const RUNNING = new Set(['created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled', 'manual']);

/** The branches and merge requests of one GitLab project. */
export function createGitLabForge(repository: Repository): Forge {
  const titleOf = (number: number, what: string) =>
    repository.request(titleSchema, `GET merge_requests/${number}`, what);

  return {
    location: repository.location,
    requireWrite: repository.requirePush,
    gitHeader: repository.gitHeader,
    defaultBranch: async () => (await repository.facts()).defaultBranch,
    async branchHead(branch) {
      const route = 'GET repository/branches/{branch}';
      const read = repository.request(branchSchema, route, `read branch ${branch}`, { branch });
      return (await orElse(read, null))?.commit.id ?? null;
    },
    async fileUrl(branch, file) {
      const { webUrl } = await repository.facts();
      return `${webUrl}/-/blob/${branch.split('/').map(encodeURIComponent).join('/')}/${encodeURI(file)}`;
    },
    async pullRequestsOf(branch) {
      const asked = { source_branch: branch, state: 'all', order_by: 'created_at', sort: 'desc' };
      const what = `read merge requests of ${branch}`;
      const all = await repository.list(requestSchema, 'GET merge_requests', what, asked);
      return all.filter(({ isOwn }) => isOwn);
    },
    openPullRequests: () =>
      repository.list(requestSchema, 'GET merge_requests', 'read merge requests', { state: 'opened' }),
    // A finished job updates no date of its merge request, but the newest pipeline changes.
    async poll() {
      const marks = ['merge_requests', 'issues', 'pipelines'].map(async (things) => {
        const newest = { order_by: 'updated_at', sort: 'desc', per_page: 1 };
        const read = repository.request(z.array(changedSchema), `GET ${things}`, `read ${things}`, newest);
        // Some projects have no pipelines, and some tokens may not see them.
        const [first] = await orElse(read, [], ['host-not-found', 'host-scope-missing']);
        return [first?.id, first?.updated_at, first?.status].join(' ');
      });
      return (await Promise.all(marks)).join('|');
    },
    pullRequest: (number) =>
      repository.request(requestSchema, `GET merge_requests/${number}`, `read merge request ${number}`),
    async open({ branch, base, title, body, isDraft }) {
      const request = {
        source_branch: branch,
        target_branch: base,
        title: isDraft ? `Draft: ${title}` : title,
        description: body,
      };
      const what = `open a merge request for ${branch}`;
      return repository.request(requestSchema, 'POST merge_requests', what, request);
    },
    async rewrite(number, { title, body: description }) {
      const what = `edit merge request ${number}`;
      const { draft } = await titleOf(number, what);
      const text = { title: draft ? `Draft: ${title}` : title, description };
      await repository.request(nothing, `PUT merge_requests/${number}`, what, text);
    },
    async makeReady(number) {
      const what = `make merge request ${number} ready`;
      const title = (await titleOf(number, what)).title.replace(DRAFT, '');
      await repository.request(nothing, `PUT merge_requests/${number}`, what, { title });
    },
    async checks(commit) {
      const route = `GET repository/commits/${commit}/statuses`;
      const statuses = await repository.list(statusSchema, route, `read the checks of ${commit}`);
      const found = new Map<string, Check>();
      for (const { name, status, description, target_url, allow_failure } of statuses) {
        if (name === EVIDENCE || status === 'skipped') continue;
        const isPassed = status === 'success' || (allow_failure && !RUNNING.has(status));
        const isUndecided = RUNNING.has(status) || status === 'canceled';
        const state = isPassed ? 'passed' : isUndecided ? 'pending' : 'failed';
        const said = { url: target_url ?? null, output: description ?? '' };
        found.set(name, { name, state, isRequired: !allow_failure, ...said });
      }
      return [...found.values()];
    },
    async failureLog({ name, url, output }) {
      const [, job] = /\/jobs\/(\d+)$/.exec(url ?? '') ?? [];
      if (job === undefined) return output;
      return (await repository.log(`GET jobs/${job}/trace`, `read the log of ${name}`)) ?? output;
    },
    async reviews(number) {
      const route = `GET merge_requests/${number}/discussions`;
      const [discussions, members] = await Promise.all([
        repository.list(discussionSchema, route, `read notes on ${number}`),
        repository.members(),
      ]);
      const reviewOf = async (thread: string, note: Note): Promise<Review> => {
        const { id, body, author, position } = note;
        const path = position?.new_path ?? null;
        return {
          id: String(id),
          by: author?.username ?? 'ghost',
          isTrusted: members.has(author?.id ?? -1),
          isApproval: false,
          body,
          at: note.created_at,
          line: path === null ? null : { path, line: position?.new_line ?? null },
          thread,
          isOwn: body.startsWith(ANSWER) && (await repository.isOwn(author)),
          isResolved: note.resolved,
        };
      };
      const said = discussions.flatMap(({ id, notes }) =>
        notes.filter(({ system }) => !system).map((note) => reviewOf(id, note)),
      );
      return Promise.all(said);
    },
    async reply(number, thread, body) {
      const notes = thread === null ? 'notes' : `discussions/${thread}/notes`;
      const route = `POST merge_requests/${number}/${notes}`;
      const note = repository.request(gitlabNote, route, `answer on merge request ${number}`, { body });
      return { id: String((await note).id) };
    },
    findReply: (number, _thread, marker) =>
      findNote(repository, `merge_requests/${number}`, `merge request ${number}`, marker),
    async setEvidence(commit, { passed, summary, url }) {
      const status = {
        state: passed ? 'success' : 'failed',
        name: EVIDENCE,
        description: summary.slice(0, LONGEST_DESCRIPTION),
        target_url: url,
      };
      const what = `report evidence on ${commit.slice(0, 12)}`;
      await repository.request(nothing, `POST statuses/${commit}`, what, status);
    },
  };
}
