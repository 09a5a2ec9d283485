import type { IncomingMessage, ServerResponse } from 'node:http';
import { branchHead } from './branch-head.ts';
import { serveGit } from './git-http.ts';
import { type Answer, type HostServer, pageOf, type Seen, startHost } from './server.ts';

export const TOKEN = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';

export interface FakeIssue {
  number: number;
  title: string;
  body: string | null;
  state: 'open' | 'closed';
  locked: boolean;
  labels: { name: string }[];
  user: { login: string; type: string };
  author_association: string;
  milestone: { number: number; title: string } | null;
  assignee: { login: string } | null;
  created_at: string;
  updated_at: string;
  pull_request?: { merged_at: string | null };
  blockedBy: number[];
}

export interface FakeComment {
  id: number;
  issue: number;
  body: string;
  user: { login: string; type: string };
  author_association: string;
  created_at: string;
  updated_at: string;
}

export interface FakePull {
  number: number;
  node_id: string;
  title: string;
  body: string;
  state: 'open' | 'closed';
  draft: boolean;
  merged_at: string | null;
  user: { login: string; type: string };
  author_association: string;
  head: { ref: string; sha: string; repo: { full_name: string } | null; label: string };
  base: { ref: string };
  updated_at: string;
}

export interface FakeGitHub extends HostServer {
  /** `owner/name`. */
  repository: string;
  facts: { archived: boolean; default_branch: string; permissions: { push: boolean } };
  issues: Map<number, FakeIssue>;
  comments: FakeComment[];
  events: Map<number, Record<string, unknown>[]>;
  pulls: FakePull[];
  statuses: { sha: string; state: string; context: string; description: string }[];
  checkRuns: { head_sha: string; name: string; status: string; conclusion: string | null; html_url?: string }[];
  /** Of jobs, by their number. */
  logs: Map<string, string>;
  /** Comments at lines whose threads a person has resolved. */
  resolved: Set<number>;
  reactions: { comment: number; content: string }[];
  /** When each issue's text was last edited, and by whom. */
  edits: Map<number, { editedAt: string; editor: { login: string } }[]>;
  required: string[];
  /** Of every pull request, as a whole and at lines. */
  reviews: Record<string, unknown>[];
  lines: Record<string, unknown>[];
  tokens: Set<string>;
  /** Whose name the token is in. */
  viewer: { login: string; type: string };
  issue(facts: Partial<FakeIssue> & { number: number }): FakeIssue;
  comment(issue: number, body: string, by?: string, association?: string): FakeComment;
  label(issue: number, name: string, by: string, at: string): void;
  pull(facts: Partial<FakePull> & { number: number }): FakePull;
  /** Writes that were carried out. */
  writes(): Seen[];
  env: Record<string, string>;
}

const MINUTE = 60_000;

/** GitHub's REST interface on loopback, with one repository. `bare`: the git repository behind it. */
export async function fakeGitHub({ repository = 'acme/widget', bare = '' } = {}): Promise<FakeGitHub> {
  let now = Date.parse('2026-03-01T10:00:00Z');
  let nextId = 1000;
  const tick = (): string => new Date((now += MINUTE)).toISOString().replace('.000', '');
  const login = (name: string) => ({ login: name, type: name.endsWith('[bot]') ? 'Bot' : 'User' });
  const web = `https://github.com/${repository}`;
  const at = `/repos/${repository}`;

  const shownIssue = ({ blockedBy, ...issue }: FakeIssue) => ({
    ...issue,
    html_url: `${web}/issues/${issue.number}`,
    comments: github.comments.filter((comment) => comment.issue === issue.number).length,
    issue_dependencies_summary: {
      blocked_by: blockedBy.filter((number) => github.issues.get(number)?.state === 'open').length,
      total_blocked_by: blockedBy.length,
      blocking: 0,
      total_blocking: 0,
    },
  });
  const shownComment = ({ issue, ...comment }: FakeComment) => ({
    ...comment,
    html_url: `${web}/issues/${issue}#issuecomment-${comment.id}`,
  });
  const shaOf = ({ head }: FakePull): string => (head.repo?.full_name === repository && headOf(head.ref)) || head.sha;
  const shownPull = (pull: FakePull) => ({
    ...pull,
    head: { ...pull.head, sha: shaOf(pull) },
    base: { ...pull.base, repo: { full_name: repository } },
    html_url: `${web}/pull/${pull.number}`,
  });
  const headOf = (branch: string): string | null => branchHead(bare, branch);
  const notFound: Answer = { status: 404, body: { message: 'Not Found' } };

  function selected(query: Record<string, string>): FakeIssue[] {
    const labels = (query['labels'] ?? '').split(',').filter(Boolean);
    const byTime = query['sort'] === 'updated';
    const all = [...github.issues.values()]
      .filter(({ state }) => query['state'] === 'all' || state === (query['state'] ?? 'open'))
      .filter((issue) => labels.every((label) => issue.labels.some(({ name }) => name === label)))
      .filter(({ milestone }) => !query['milestone'] || String(milestone?.number) === query['milestone'])
      .filter(({ assignee }) => !query['assignee'] || assignee?.login === query['assignee'])
      .sort((a, b) => (byTime ? a.updated_at.localeCompare(b.updated_at) : a.number - b.number));
    return query['direction'] === 'asc' ? all : all.reverse();
  }

  function search(q: string): FakeIssue[] {
    const label = /label:"?([^"\s]+)/.exec(q)?.[1];
    const words = q.replace(/\w+:(?:"[^"]*"|\S+)/g, '').trim();
    return [...github.issues.values()].filter(
      (issue) =>
        issue.state === 'open' &&
        (label === undefined || issue.labels.some(({ name }) => name === label)) &&
        (words === '' || `${issue.title} ${issue.body}`.includes(words)),
    );
  }

  function handle(seen: Seen): Answer {
    const { method, path, query, body } = seen;
    const [, given] = /^(?:Bearer|token) (.+)$/.exec(seen.headers['authorization'] ?? '') ?? [];
    if (!github.tokens.has(given ?? '')) return { status: 401, body: { message: 'Bad credentials' } };
    if (path === '/graphql') return graphql(body);
    if (path === '/user') return { body: github.viewer };
    if (path === '/search/issues') {
      const found = search(query['q'] ?? '').map(shownIssue);
      const page = pageOf(found, seen, github.url);
      return { ...page, body: { total_count: found.length, incomplete_results: false, items: page.body } };
    }
    if (path === at) return { body: { full_name: repository, html_url: web, private: false, ...github.facts } };
    const rest = path.startsWith(`${at}/`) ? path.slice(at.length) : null;
    if (rest === null) return notFound;
    if (method === 'GET') return read(rest, seen) ?? notFound;
    return write(method, rest, body) ?? notFound;
  }

  function read(rest: string, seen: Seen): Answer | null {
    const { query } = seen;
    const [, number = '', part] = /^\/issues\/(\d+)(?:\/(\w+(?:\/\w+)?))?$/.exec(rest) ?? [];
    const issue = github.issues.get(Number(number));
    if (rest === '/issues') return pageOf(selected(query).map(shownIssue), seen, github.url);
    if (rest === '/milestones') {
      const all = new Map(
        [...github.issues.values()].flatMap(({ milestone }) =>
          milestone ? [[milestone.number, milestone] as const] : [],
        ),
      );
      return pageOf([...all.values()], seen, github.url);
    }
    if (issue !== undefined && part === undefined) return { body: shownIssue(issue) };
    if (part === 'comments')
      return pageOf(github.comments.filter((one) => one.issue === Number(number)).map(shownComment), seen, github.url);
    if (part === 'timeline') return pageOf(github.events.get(Number(number)) ?? [], seen, github.url);
    if (part === 'labels') return { body: issue?.labels ?? [] };
    if (part === 'dependencies/blocked_by')
      return pageOf(
        (issue?.blockedBy ?? []).flatMap((one) => github.issues.get(one) ?? []).map(shownIssue),
        seen,
        github.url,
      );
    if (rest === '/pulls') {
      const all = github.pulls
        .filter(({ state }) => (query['state'] ?? 'open') === 'all' || state === (query['state'] ?? 'open'))
        .filter(({ head }) => !query['head'] || head.label === query['head'])
        .toReversed();
      return pageOf(all.map(shownPull), seen, github.url);
    }
    const pull = github.pulls.find((one) => rest === `/pulls/${one.number}`);
    if (pull !== undefined) return { body: shownPull(pull) };
    const [, branch] = /^\/branches\/(.+)$/.exec(rest) ?? [];
    if (branch !== undefined) {
      const sha = headOf(branch);
      const protection = { enabled: github.required.length > 0, required_status_checks: { contexts: github.required } };
      return sha === null
        ? null
        : { body: { name: branch, commit: { sha }, protected: github.required.length > 0, protection } };
    }
    if (rest.startsWith('/rules/branches/')) return { body: [] };
    const [, sha = '', kind] = /^\/commits\/(\w+)\/(check-runs|status|statuses)$/.exec(rest) ?? [];
    if (kind === 'check-runs') {
      const runs = github.checkRuns.filter((run) => run.head_sha === sha).toReversed();
      const page = pageOf(runs, seen, github.url);
      return { ...page, body: { total_count: runs.length, check_runs: page.body } };
    }
    if (kind === 'status' || kind === 'statuses') {
      const all = github.statuses.filter((status) => status.sha === sha).toReversed();
      return { body: kind === 'status' ? { state: 'pending', statuses: all } : all };
    }
    if (/^\/pulls\/\d+\/reviews$/.test(rest)) return pageOf(github.reviews, seen, github.url);
    if (/^\/pulls\/\d+\/comments$/.test(rest)) return pageOf(github.lines, seen, github.url);
    return null;
  }

  const lineOf = (thread: string): Record<string, unknown> =>
    github.lines.find(({ id }) => String(id) === thread) ?? { path: '', line: null };

  function write(method: string, rest: string, body: Record<string, unknown>): Answer | null {
    const [, number = '', part, name] = /^\/issues\/(\d+)\/(comments|labels)(?:\/(.+))?$/.exec(rest) ?? [];
    const issue = github.issues.get(Number(number));
    if (part === 'comments' && (issue || github.pulls.some((one) => String(one.number) === number))) {
      const comment = github.comment(Number(number), String(body['body']), github.viewer.login, 'MEMBER');
      return { status: 201, body: shownComment(comment) };
    }
    if (part === 'labels' && issue && method === 'POST') {
      for (const label of body['labels'] as string[])
        if (!issue.labels.some((one) => one.name === label)) issue.labels.push({ name: label });
      return { body: issue.labels };
    }
    if (part === 'labels' && issue && method === 'DELETE') {
      if (!issue.labels.some((one) => one.name === name))
        return { status: 404, body: { message: 'Label does not exist' } };
      issue.labels = issue.labels.filter((one) => one.name !== name);
      return { body: issue.labels };
    }
    const [, commentId, more] = /^\/issues\/comments\/(\d+)(\/reactions)?$/.exec(rest) ?? [];
    const comment = github.comments.find((one) => String(one.id) === commentId);
    if (comment && more) {
      github.reactions.push({ comment: comment.id, content: String(body['content']) });
      return { status: 201, body: { id: nextId++, content: body['content'] } };
    }
    if (comment && method === 'PATCH') {
      comment.body = String(body['body']);
      comment.updated_at = tick();
      return { body: shownComment(comment) };
    }
    if (rest === '/issues' && method === 'POST') {
      const created = github.issue({
        number: nextNumber(),
        title: String(body['title']),
        body: String(body['body']),
        user: github.viewer,
        author_association: 'MEMBER',
        labels: [],
      });
      return { status: 201, body: shownIssue(created) };
    }
    if (rest === '/pulls' && method === 'POST') {
      const branch = String(body['head']);
      const sha = headOf(branch);
      const [owner] = repository.split('/');
      if (sha === null)
        return { status: 422, body: { message: 'Validation Failed', errors: [{ field: 'head', code: 'invalid' }] } };
      if (github.pulls.some(({ head, state }) => state === 'open' && head.label === `${owner}:${branch}`))
        return {
          status: 422,
          body: {
            message: 'Validation Failed',
            errors: [{ message: `A pull request already exists for ${owner}:${branch}.` }],
          },
        };
      const pull = github.pull({
        number: nextNumber(),
        title: String(body['title']),
        body: String(body['body']),
        draft: body['draft'] === true,
        head: { ref: branch, sha, repo: { full_name: repository }, label: `${owner}:${branch}` },
        base: { ref: String(body['base']) },
        user: github.viewer,
        author_association: 'MEMBER',
      });
      return { status: 201, body: shownPull(pull) };
    }
    const [, thread] = /^\/pulls\/\d+\/comments\/(\d+)\/replies$/.exec(rest) ?? [];
    if (thread !== undefined) {
      const line = { ...lineOf(thread), body: String(body['body']), user: github.viewer, author_association: 'MEMBER' };
      github.lines.push({ ...line, id: nextId++, in_reply_to_id: Number(thread), created_at: tick() });
      return { status: 201, body: { ...github.lines.at(-1), html_url: web } };
    }
    const pull = github.pulls.find((one) => rest === `/pulls/${one.number}`);
    if (pull && method === 'PATCH') {
      Object.assign(pull, body, { head: { ...pull.head, sha: headOf(pull.head.ref) ?? pull.head.sha } });
      return { body: shownPull(pull) };
    }
    const [, sha] = /^\/statuses\/(\w+)$/.exec(rest) ?? [];
    if (sha !== undefined) {
      github.statuses.push({ sha, ...(body as { state: string; context: string; description: string }) });
      return { status: 201, body: { id: nextId++ } };
    }
    if (rest === '/check-runs') {
      github.checkRuns.push(body as FakeGitHub['checkRuns'][number]);
      return { status: 201, body: { id: nextId++ } };
    }
    return null;
  }

  function openRequests(after: string | null | undefined) {
    const [newest] = [...github.issues.values()].toSorted((a, b) => b.updated_at.localeCompare(a.updated_at));
    const open = github.pulls.filter(({ state }) => state === 'open');
    const from = Number(after ?? 0);
    const nodes = open.slice(from, from + 100).map((pull) => {
      const sha = shaOf(pull);
      const states = [
        ...new Map(github.checkRuns.filter((run) => run.head_sha === sha).map((run) => [run.name, run])).values(),
      ].map(({ status, conclusion }) => (status === 'completed' ? conclusion : 'pending'));
      const all = states.includes('failure') ? 'FAILURE' : states.includes('pending') ? 'PENDING' : 'SUCCESS';
      return {
        id: pull.node_id,
        number: pull.number,
        url: `${web}/pull/${pull.number}`,
        isDraft: pull.draft,
        title: pull.title,
        headRefName: pull.head.ref,
        headRefOid: sha,
        baseRefName: pull.base.ref,
        baseRef: { target: { oid: headOf(pull.base.ref) ?? '0'.repeat(40) } },
        isCrossRepository: pull.head.repo?.full_name !== repository,
        updatedAt: pull.updated_at,
        reviews: { totalCount: github.reviews.length },
        reviewThreads: { totalCount: github.lines.length },
        commits: { nodes: [{ commit: { statusCheckRollup: states.length === 0 ? null : { state: all } } }] },
      };
    });
    const pageInfo = { hasNextPage: open.length > from + 100, endCursor: String(from + 100) };
    const issues = { nodes: newest === undefined ? [] : [{ number: newest.number, updatedAt: newest.updated_at }] };
    return { issues, pullRequests: { nodes, pageInfo } };
  }

  function graphql({ query, variables }: Record<string, unknown>): Answer {
    const words = variables as { number?: number; id?: string; after?: string | null };
    if (String(query).includes('userContentEdits')) {
      const nodes = [...(github.edits.get(words.number ?? 0) ?? [])].reverse();
      const issue = { lastEditedAt: nodes[0]?.editedAt ?? null, userContentEdits: { nodes } };
      return { body: { data: { repository: { issue } } } };
    }
    if (String(query).includes('reviewThreads(last')) {
      const threads = github.lines.filter(({ in_reply_to_id }) => in_reply_to_id === undefined);
      const nodes = threads.map(({ id }) => ({
        isResolved: github.resolved.has(Number(id)),
        comments: { nodes: [{ fullDatabaseId: String(id) }] },
      }));
      return { body: { data: { repository: { pullRequest: { reviewThreads: { nodes } } } } } };
    }
    if (String(query).includes('pullRequests(first'))
      return { body: { data: { repository: openRequests(words.after) } } };
    const pull = github.pulls.find(({ node_id }) => node_id === words.id);
    if (!pull) return { body: { errors: [{ message: 'Could not resolve to a node' }] } };
    pull.draft = false;
    return { body: { data: { markPullRequestReadyForReview: { pullRequest: { isDraft: false } } } } };
  }

  /** Git over HTTP, for requests with the token. */
  const overGit = (request: IncomingMessage, response: ServerResponse, body: Buffer): boolean => {
    const [, job] = /\/actions\/jobs\/(\d+)\/logs$/.exec(request.url ?? '') ?? [];
    if (job !== undefined && github.logs.has(job)) {
      response.writeHead(200, { 'content-type': 'text/plain' }).end(github.logs.get(job));
      return true;
    }
    if (!request.url?.startsWith(`/${repository}.git/`)) return false;
    const login = `Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`;
    if (request.headers.authorization === login) return serveGit(bare, `/${repository}.git`, request, response, body);
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    return true;
  };

  const nextNumber = (): number =>
    Math.max(0, ...github.issues.keys(), ...github.pulls.map(({ number }) => number)) + 1;

  const github: FakeGitHub = Object.assign(await startHost(handle, overGit), {
    repository,
    facts: { archived: false, default_branch: 'main', permissions: { push: true } },
    issues: new Map<number, FakeIssue>(),
    comments: [] as FakeComment[],
    events: new Map<number, Record<string, unknown>[]>(),
    pulls: [] as FakePull[],
    statuses: [] as FakeGitHub['statuses'],
    checkRuns: [] as FakeGitHub['checkRuns'],
    logs: new Map() as FakeGitHub['logs'],
    resolved: new Set() as FakeGitHub['resolved'],
    reactions: [] as FakeGitHub['reactions'],
    edits: new Map() as FakeGitHub['edits'],
    required: [] as string[],
    reviews: [] as FakeGitHub['reviews'],
    lines: [] as FakeGitHub['lines'],
    tokens: new Set([TOKEN]),
    viewer: login('agentos-user'),
    env: {} as Record<string, string>,
    issue(facts: Partial<FakeIssue> & { number: number }): FakeIssue {
      const created_at = tick();
      const issue: FakeIssue = {
        title: `Issue ${facts.number}`,
        body: '',
        state: 'open',
        locked: false,
        labels: [{ name: 'agentos' }],
        user: login('olivia'),
        author_association: 'OWNER',
        milestone: null,
        assignee: null,
        created_at,
        updated_at: created_at,
        blockedBy: [],
        ...facts,
      };
      github.issues.set(issue.number, issue);
      return issue;
    },
    comment(issue: number, body: string, by = 'olivia', association = 'OWNER'): FakeComment {
      const created_at = tick();
      const comment = {
        id: nextId++,
        issue,
        body,
        user: login(by),
        author_association: association,
        created_at,
        updated_at: created_at,
      };
      github.comments.push(comment);
      const of = github.issues.get(issue);
      if (of) of.updated_at = created_at;
      return comment;
    },
    label(issue: number, name: string, by: string, created_at: string): void {
      const events = github.events.get(issue) ?? [];
      events.push({ event: 'labeled', label: { name }, actor: login(by), created_at });
      github.events.set(issue, events);
    },
    pull(facts: Partial<FakePull> & { number: number }): FakePull {
      const pull: FakePull = {
        node_id: `PR_${facts.number}`,
        title: `Pull ${facts.number}`,
        body: '',
        state: 'open',
        draft: false,
        merged_at: null,
        user: login('olivia'),
        author_association: 'OWNER',
        head: { ref: 'x', sha: '0'.repeat(40), repo: { full_name: repository }, label: 'acme:x' },
        base: { ref: 'main' },
        updated_at: tick(),
        ...facts,
      };
      github.pulls.push(pull);
      return pull;
    },
    writes: () =>
      github.requests.filter(({ method, path, status }) => method !== 'GET' && path !== '/graphql' && status < 400),
  });
  github.env = { GITHUB_API_URL: github.url, GITHUB_TOKEN: TOKEN };
  return github;
}
