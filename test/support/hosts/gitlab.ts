import { branchHead } from './branch-head.ts';
import { type Answer, type HostServer, pageOf, type Seen, startHost } from './server.ts';

export const GITLAB_TOKEN = 'glpat-0123456789abcdefghij';

export interface FakeGitLabIssue {
  iid: number;
  title: string;
  description: string;
  state: 'opened' | 'closed';
  discussion_locked: boolean;
  labels: string[];
  author: { id: number; username: string };
  milestone: { title: string } | null;
  assignee: { username: string } | null;
  updated_at: string;
  moved_to_id: number | null;
  blockedBy: number[];
}

interface Note {
  id: number;
  issue: number;
  body: string;
  author: { id: number; username: string };
  created_at: string;
  system: boolean;
}

export interface FakeMergeRequest {
  iid: number;
  title: string;
  description: string;
  state: 'opened' | 'closed' | 'merged';
  draft: boolean;
  source_branch: string;
  target_branch: string;
  sha: string;
  source_project_id: number;
  target_project_id: number;
  merged_at: string | null;
  author: { id: number; username: string };
  updated_at: string;
  closes: number[];
}

export interface FakeGitLab extends HostServer {
  issues: Map<number, FakeGitLabIssue>;
  notes: Note[];
  labelEvents: { issue: number; user: { id: number }; created_at: string; action: string; label: { name: string } }[];
  stateEvents: { issue: number; state: string; created_at: string }[];
  mergeRequests: FakeMergeRequest[];
  statuses: { sha: string; name: string; status: string }[];
  emoji: { note: number; name: string }[];
  discussions: { id: string; notes: Record<string, unknown>[] }[];
  /** Access levels by the id of the user. */
  members: Map<number, number>;
  archived: boolean;
  issue(facts: Partial<FakeGitLabIssue> & { iid: number }): FakeGitLabIssue;
  note(issue: number, body: string, by: { id: number; username: string }, system?: boolean, at?: string): Note;
  merge(facts: Partial<FakeMergeRequest> & { iid: number }): FakeMergeRequest;
  writes(): Seen[];
  env: Record<string, string>;
}

function wordsIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export const OLIVIA = { id: 1, username: 'olivia' };
export const EVE = { id: 9, username: 'eve' };
const SELF = { id: 2, username: 'agentos-user' };
const PROJECT_ID = 7;

/** GitLab's REST interface on loopback, with one project. `bare`: the git repository behind it. */
export async function fakeGitLab({ path = 'acme/tools/widget', bare = '' } = {}): Promise<FakeGitLab> {
  let now = Date.parse('2026-03-01T10:00:00Z');
  let nextId = 1000;
  const tick = (): string => new Date((now += 60_000)).toISOString();
  const web = `https://gitlab.com/${path}`;
  const at = `/api/v4/projects/${path}`;
  const notFound: Answer = { status: 404, body: { message: '404 Not found' } };
  const headOf = (branch: string): string | null => branchHead(bare, branch);
  const shownIssue = ({ blockedBy: _blockedBy, ...issue }: FakeGitLabIssue) => ({
    ...issue,
    web_url: `${web}/-/issues/${issue.iid}`,
    user_notes_count: gitlab.notes.filter((note) => note.issue === issue.iid && !note.system).length,
  });
  const shownMerge = ({ closes: _closes, ...request }: FakeMergeRequest) => ({
    ...request,
    web_url: `${web}/-/merge_requests/${request.iid}`,
  });

  function selected(query: Record<string, string>): FakeGitLabIssue[] {
    const labels = (query['labels'] ?? '').split(',').filter(Boolean);
    const found = [...gitlab.issues.values()]
      .filter(({ state }) => !query['state'] || query['state'] === 'all' || state === query['state'])
      .filter((issue) => labels.every((label) => issue.labels.includes(label)))
      .filter(({ milestone }) => !query['milestone'] || milestone?.title === query['milestone'])
      .filter(({ assignee }) => !query['assignee_username'] || assignee?.username === query['assignee_username'])
      .filter(({ author }) => !query['author_username'] || author.username === query['author_username'])
      .filter(({ title, description }) => !query['search'] || `${title} ${description}`.includes(query['search']));
    return query['sort'] === 'asc' ? found : found.reverse();
  }

  function handle(seen: Seen): Answer {
    if (seen.headers['authorization'] !== `Bearer ${GITLAB_TOKEN}`)
      return { status: 401, body: { message: '401 Unauthorized' } };
    if (seen.path === '/api/v4/user') return { body: SELF };
    if (seen.path === at || seen.path === `${at}/`) {
      const permissions = { project_access: { access_level: 30 }, group_access: null };
      const facts = {
        path_with_namespace: path,
        web_url: web,
        default_branch: 'main',
        archived: gitlab.archived,
        permissions,
      };
      return { body: { ...facts, only_allow_merge_if_pipeline_succeeds: true } };
    }
    if (!seen.path.startsWith(`${at}/`)) return notFound;
    const rest = seen.path.slice(at.length);
    return (seen.method === 'GET' ? read(rest, seen) : write(seen.method, rest, seen.body)) ?? notFound;
  }

  function read(rest: string, seen: Seen): Answer | null {
    const page = <T>(all: readonly T[]): Answer => pageOf(all, seen, gitlab.url);
    if (rest === '/issues') return page(selected(seen.query).map(shownIssue));
    if (rest === '/members/all') return page([...gitlab.members].map(([id, access_level]) => ({ id, access_level })));
    const [, number = '', part] = /^\/issues\/(\d+)(?:\/(\w+))?$/.exec(rest) ?? [];
    const issue = gitlab.issues.get(Number(number));
    const ofIssue = <T extends { issue: number }>(all: readonly T[]): T[] =>
      all.filter((one) => one.issue === issue?.iid);
    if (issue !== undefined) {
      if (part === undefined) return { body: shownIssue(issue) };
      if (part === 'notes') return page(ofIssue(gitlab.notes));
      if (part === 'resource_label_events') return page(ofIssue(gitlab.labelEvents));
      if (part === 'resource_state_events') return page(ofIssue(gitlab.stateEvents));
      if (part === 'closed_by')
        return page(gitlab.mergeRequests.filter(({ closes }) => closes.includes(issue.iid)).map(shownMerge));
      if (part === 'links')
        return page(
          issue.blockedBy
            .flatMap((iid) => gitlab.issues.get(iid) ?? [])
            .map((one) => ({ ...shownIssue(one), link_type: 'is_blocked_by' })),
        );
    }
    if (rest === '/merge_requests') {
      const { state = 'all', source_branch } = seen.query;
      const all = gitlab.mergeRequests.filter(
        (one) => (state === 'all' || one.state === state) && (!source_branch || one.source_branch === source_branch),
      );
      return page(all.toReversed().map(shownMerge));
    }
    const request = gitlab.mergeRequests.find(({ iid }) => rest === `/merge_requests/${iid}`);
    if (request !== undefined) return { body: shownMerge(request) };
    if (/^\/merge_requests\/\d+\/discussions$/.test(rest)) return page(gitlab.discussions);
    if (/^\/merge_requests\/\d+\/notes$/.test(rest)) return page(gitlab.discussions.flatMap(({ notes }) => notes));
    if (rest === '/pipelines') return page(gitlab.statuses.map((status, id) => ({ id, ...status })));
    const [, branch] = /^\/repository\/branches\/(.+)$/.exec(rest) ?? [];
    const head = branch === undefined ? null : headOf(branch);
    if (head !== null) return { body: { name: branch, commit: { id: head } } };
    const [, sha] = /^\/repository\/commits\/(\w+)\/statuses$/.exec(rest) ?? [];
    return sha === undefined ? null : page(gitlab.statuses.filter((status) => status.sha === sha));
  }

  function write(method: string, rest: string, body: Record<string, unknown>): Answer | null {
    const [, number = '', part] = /^\/issues\/(\d+)(?:\/(.+))?$/.exec(rest) ?? [];
    const issue = gitlab.issues.get(Number(number));
    const text = wordsIn(body['body']);
    if (issue && part === 'notes') return { status: 201, body: gitlab.note(issue.iid, text, SELF) };
    const [, noteId, more] = /^notes\/(\d+)(\/award_emoji)?$/.exec(part ?? '') ?? [];
    const note = gitlab.notes.find(({ id }) => String(id) === noteId);
    if (note && more) {
      gitlab.emoji.push({ note: note.id, name: String(body['name']) });
      return { status: 201, body: { id: nextId++ } };
    }
    if (note && method === 'PUT') return { body: Object.assign(note, { body: text }) };
    if (issue && method === 'PUT' && part === undefined) {
      const listed = (name: string): string[] => wordsIn(body[name]).split(',').filter(Boolean);
      const removed = listed('remove_labels');
      issue.labels = [...new Set([...issue.labels, ...listed('add_labels')])].filter(
        (label) => !removed.includes(label),
      );
      return { body: shownIssue(issue) };
    }
    if (rest === '/issues') {
      const iid = Math.max(0, ...gitlab.issues.keys()) + 1;
      const made = gitlab.issue({
        iid,
        title: String(body['title']),
        description: String(body['description']),
        author: SELF,
        labels: [],
      });
      return { status: 201, body: shownIssue(made) };
    }
    if (rest === '/merge_requests') {
      const branch = String(body['source_branch']);
      const sha = headOf(branch);
      if (sha === null) return { status: 400, body: { message: { source_branch: ['does not exist'] } } };
      if (
        gitlab.mergeRequests.some(
          (one) => one.state === 'opened' && one.source_branch === branch && one.source_project_id === PROJECT_ID,
        )
      )
        return {
          status: 409,
          body: { message: ['Another open merge request already exists for this source branch: !1'] },
        };
      const made = gitlab.merge({
        iid: gitlab.mergeRequests.length + 1,
        title: String(body['title']),
        description: String(body['description']),
        draft: String(body['title']).startsWith('Draft:'),
        source_branch: branch,
        target_branch: String(body['target_branch']),
        sha,
        author: SELF,
      });
      return { status: 201, body: shownMerge(made) };
    }
    const [, discussion] = /^\/merge_requests\/\d+\/(?:discussions\/(\w+)\/)?notes$/.exec(rest) ?? [rest];
    if (/^\/merge_requests\/\d+\/.*notes$/.test(rest)) {
      const made = { id: nextId++, body: text, author: SELF, created_at: tick() };
      const known = gitlab.discussions.find(({ id }) => id === discussion);
      if (known === undefined) gitlab.discussions.push({ id: `d${made.id}`, notes: [made] });
      else known.notes.push(made);
      return { status: 201, body: made };
    }
    const request = gitlab.mergeRequests.find(({ iid }) => rest === `/merge_requests/${iid}`);
    if (request && method === 'PUT') {
      request.title = String(body['title']);
      request.description = wordsIn(body['description']) || request.description;
      request.draft = request.title.startsWith('Draft:');
      return { body: shownMerge(request) };
    }
    const [, sha] = /^\/statuses\/(\w+)$/.exec(rest) ?? [];
    if (sha === undefined) return null;
    gitlab.statuses.push({ sha, name: String(body['name']), status: String(body['state']) });
    return { status: 201, body: { id: nextId++ } };
  }

  const gitlab: FakeGitLab = Object.assign(await startHost(handle), {
    issues: new Map<number, FakeGitLabIssue>(),
    notes: [] as Note[],
    labelEvents: [] as FakeGitLab['labelEvents'],
    stateEvents: [] as FakeGitLab['stateEvents'],
    mergeRequests: [] as FakeMergeRequest[],
    statuses: [] as FakeGitLab['statuses'],
    emoji: [] as FakeGitLab['emoji'],
    discussions: [] as FakeGitLab['discussions'],
    members: new Map([
      [OLIVIA.id, 50],
      [SELF.id, 30],
    ]),
    archived: false,
    env: {} as Record<string, string>,
    issue(facts: Partial<FakeGitLabIssue> & { iid: number }): FakeGitLabIssue {
      const issue: FakeGitLabIssue = {
        title: `Issue ${facts.iid}`,
        description: '',
        state: 'opened',
        discussion_locked: false,
        labels: ['agentos'],
        author: OLIVIA,
        milestone: null,
        assignee: null,
        updated_at: tick(),
        moved_to_id: null,
        blockedBy: [],
        ...facts,
      };
      gitlab.issues.set(issue.iid, issue);
      return issue;
    },
    note(issue: number, body: string, author: Note['author'], system = false, created_at = tick()): Note {
      const note = { id: nextId++, issue, body, author, created_at, system };
      gitlab.notes.push(note);
      return note;
    },
    merge(facts: Partial<FakeMergeRequest> & { iid: number }): FakeMergeRequest {
      const request: FakeMergeRequest = {
        title: `Merge request ${facts.iid}`,
        description: '',
        state: 'opened',
        draft: false,
        source_branch: 'x',
        target_branch: 'main',
        sha: '0'.repeat(40),
        source_project_id: PROJECT_ID,
        target_project_id: PROJECT_ID,
        merged_at: null,
        author: OLIVIA,
        updated_at: tick(),
        closes: [],
        ...facts,
      };
      gitlab.mergeRequests.push(request);
      return request;
    },
    writes: () => gitlab.requests.filter(({ method, status }) => method !== 'GET' && status < 400),
  });
  gitlab.env = { GITLAB_API_URL: `${gitlab.url}/api/v4`, GITLAB_TOKEN };
  return gitlab;
}
