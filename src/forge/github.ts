import { z } from 'zod';
import { sha256 } from '../core/hash.ts';
import { parseItemId } from '../core/ids.ts';
import { orElse } from '../host/failure.ts';
import { githubPost, type Repository } from '../host/repository.ts';
import { branchSchema, commentSchema, createGitHubChecks, createGitHubReviews, findOwn } from './github-feedback.ts';
import { type Check, EVIDENCE, type Forge, type PullRequest, STATE_LABELS, type Tracker } from './port.ts';

const nothing = z.unknown();
const issueSchema = githubPost.extend({ number: z.int(), title: z.string(), pull_request: z.unknown().optional() });
const labelSchema = z.looseObject({ name: z.string() });

/** How many issues a new one is compared with. */
const MOST_COMPARED = 2_000;

/** The issues of one GitHub repository. */
export function createGitHubTracker(repository: Repository): Tracker {
  return {
    location: repository.location,
    requireWrite: repository.requireActive,
    async findComment(number, marker) {
      const what = `read comments on #${number}`;
      const all = await repository.list(commentSchema, 'GET issues/{number}/comments', what, { number });
      return findOwn(repository, all, marker);
    },
    async addComment(number, body) {
      const route = 'POST issues/{number}/comments';
      const { id } = await repository.request(commentSchema, route, `comment on #${number}`, { number, body });
      return { id: String(id) };
    },
    async editComment(number, comment, body) {
      const what = `edit its comment on #${number}`;
      const edit = repository.request(commentSchema, 'PATCH issues/comments/{comment}', what, { comment, body });
      return (await orElse(edit, null)) !== null;
    },
    async setState(number, state) {
      const what = `label #${number}`;
      const held = await repository.list(labelSchema, 'GET issues/{number}/labels', what, { number });
      const has = new Set(held.map(({ name }) => name));
      if (state !== null && !has.has(state))
        await repository.request(nothing, 'POST issues/{number}/labels', what, { number, labels: [state] });
      for (const name of STATE_LABELS.filter((one) => one !== state && has.has(one)))
        await orElse(repository.request(nothing, 'DELETE issues/{number}/labels/{name}', what, { number, name }), null);
    },
    async markRead(number, comment) {
      const what = `react to a comment on #${number}`;
      const reaction = { comment, content: 'eyes' };
      await orElse(repository.request(nothing, 'POST issues/comments/{comment}/reactions', what, reaction), null);
    },
    async existing() {
      const newest = { state: 'all', sort: 'updated', direction: 'desc' };
      const isEnough = (all: readonly unknown[]): boolean => all.length >= MOST_COMPARED;
      const found = await repository.list(issueSchema, 'GET issues', 'read issues', newest, isEnough);
      const issues = found.filter(({ pull_request }) => !pull_request);
      return issues.map(({ number, title, body }) => ({ id: parseItemId(String(number)), title, body: body ?? '' }));
    },
    async findIssue(marker) {
      const creator = (await repository.viewer()) ?? undefined;
      const newest = { state: 'all', sort: 'created', direction: 'desc', per_page: 100, creator };
      for (const one of await repository.request(z.array(issueSchema), 'GET issues', 'read issues', newest))
        if (one.body?.includes(marker) && (await repository.isOwn(one.user))) return { url: one.html_url };
      return null;
    },
    async createIssue({ title, body }) {
      const made = await repository.request(issueSchema, 'POST issues', 'create an issue', { title, body });
      return { url: made.html_url };
    },
  };
}

const repo = z.looseObject({ full_name: z.string() });
const pullSchema = z
  .looseObject({
    number: z.int(),
    html_url: z.string().default(''),
    state: z.string(),
    draft: z.boolean().default(false),
    merged_at: z.string().nullish(),
    head: z.looseObject({ ref: z.string(), sha: z.string(), repo: repo.nullish() }),
    base: z.looseObject({ ref: z.string(), repo }),
    updated_at: z.string().default(''),
  })
  .transform(
    ({ number, html_url, state, draft, merged_at, head, base, updated_at }): PullRequest => ({
      number,
      url: html_url,
      state: merged_at ? 'merged' : state === 'open' ? 'open' : 'closed',
      isDraft: draft,
      branch: head.ref,
      head: head.sha,
      base: base.ref,
      isOwn: head.repo?.full_name === base.repo.full_name,
      updatedAt: updated_at,
      listed: null,
    }),
  );
const nodeIdSchema = z.looseObject({ node_id: z.string() });

const LONGEST_DESCRIPTION = 140;

const MAKE_READY = `mutation($id: ID!) {
  markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { isDraft } }
}`;

/** The branches and pull requests of one GitHub repository. */
export function createGitHubForge(repository: Repository): Forge {
  return {
    location: repository.location,
    requireWrite: repository.requirePush,
    gitHeader: repository.gitHeader,
    ...createGitHubChecks(repository),
    ...createGitHubReviews(repository),
    defaultBranch: async () => (await repository.facts()).defaultBranch,
    async branchHead(branch) {
      const read = repository.request(branchSchema, 'GET branches/{branch}', `read branch ${branch}`, { branch });
      return (await orElse(read, null))?.commit.sha ?? null;
    },
    async fileUrl(branch, file) {
      const { webUrl } = await repository.facts();
      return `${webUrl}/blob/${branch.split('/').map(encodeURIComponent).join('/')}/${encodeURI(file)}`;
    },
    async pullRequestsOf(branch) {
      const [owner] = (await repository.facts()).path.split('/');
      const asked = { state: 'all', head: `${owner}:${branch}` };
      const all = await repository.list(pullSchema, 'GET pulls', `read pull requests of ${branch}`, asked);
      // The owner may have a fork too.
      return all.filter(({ isOwn }) => isOwn);
    },
    openPullRequests: async () => (await glanceAt(repository)).requests,
    poll: async () => sha256(JSON.stringify(await glanceAt(repository))),
    pullRequest: (number) =>
      repository.request(pullSchema, 'GET pulls/{number}', `read pull request ${number}`, { number }),
    async open({ branch, base, title, body, isDraft }) {
      const what = `open a pull request for ${branch}`;
      const request = { head: branch, base, title, body, draft: isDraft };
      return repository.request(pullSchema, 'POST pulls', what, request);
    },
    async rewrite(number, { title, body }) {
      const what = `edit pull request ${number}`;
      await repository.request(nothing, 'PATCH pulls/{number}', what, { number, title, body });
    },
    async makeReady(number) {
      const what = `make pull request ${number} ready`;
      const { node_id: id } = await repository.request(nodeIdSchema, 'GET pulls/{number}', what, { number });
      await repository.graphql(nothing, MAKE_READY, what, { id });
    },
    async setEvidence(commit, { passed, summary, details, url }) {
      const what = `report evidence on ${commit.slice(0, 12)}`;
      const result = passed ? 'success' : 'failure';
      if (repository.options.isApp) {
        const output = { title: summary, summary: details };
        const run = { name: EVIDENCE, head_sha: commit, status: 'completed', conclusion: result };
        await repository.request(nothing, 'POST check-runs', what, { ...run, details_url: url, output });
        return;
      }
      const description = summary.slice(0, LONGEST_DESCRIPTION);
      const status = { commit, state: result, context: EVIDENCE, description, target_url: url };
      await repository.request(nothing, 'POST statuses/{commit}', what, status);
    },
  };
}

const count = z.looseObject({ totalCount: z.int() });
const nodeSchema = z
  .looseObject({
    number: z.int(),
    url: z.string(),
    isDraft: z.boolean(),
    headRefName: z.string(),
    headRefOid: z.string(),
    baseRefName: z.string(),
    baseRef: z.looseObject({ target: z.looseObject({ oid: z.string() }).nullish() }).nullish(),
    isCrossRepository: z.boolean(),
    updatedAt: z.string(),
    reviews: count,
    reviewThreads: count,
    commits: z.looseObject({
      nodes: z.array(
        z.looseObject({ commit: z.looseObject({ statusCheckRollup: z.looseObject({ state: z.string() }).nullish() }) }),
      ),
    }),
  })
  .transform(
    ({ number, url, isDraft, updatedAt, ...node }): PullRequest => ({
      number,
      url,
      state: 'open',
      isDraft,
      branch: node.headRefName,
      head: node.headRefOid,
      base: node.baseRefName,
      isOwn: !node.isCrossRepository,
      updatedAt,
      listed: {
        baseHead: node.baseRef?.target?.oid ?? null,
        checks: STATES[node.commits.nodes[0]?.commit.statusCheckRollup?.state ?? ''] ?? null,
        remarks: node.reviews.totalCount + node.reviewThreads.totalCount,
      },
    }),
  );
const pageSchema = z.looseObject({
  repository: z.looseObject({
    issues: z.looseObject({ nodes: z.array(z.looseObject({ number: z.int(), updatedAt: z.string() })) }),
    pullRequests: z.looseObject({
      nodes: z.array(nodeSchema),
      pageInfo: z.looseObject({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }),
    }),
  }),
});

const STATES: Readonly<Record<string, Check['state']>> = {
  SUCCESS: 'passed',
  FAILURE: 'failed',
  ERROR: 'failed',
  PENDING: 'pending',
  EXPECTED: 'pending',
};

/**
 * One request per hundred pull requests: the REST API would need several for each, and does not update a date when a check finishes.
 * Asks for the checks' combined state only, because no fine-grained token may read single ones.
 */
const OPEN = `query($owner: String!, $repo: String!, $after: String) {
  repository(owner: $owner, name: $repo) {
    issues(first: 1, orderBy: { field: UPDATED_AT, direction: DESC }) { nodes { number updatedAt } }
    pullRequests(first: 100, after: $after, states: OPEN, orderBy: { field: CREATED_AT, direction: ASC }) {
      nodes {
        number url isDraft headRefName headRefOid baseRefName isCrossRepository updatedAt
        baseRef { target { oid } }
        reviews { totalCount }
        reviewThreads { totalCount }
        commits(last: 1) { nodes { commit { statusCheckRollup { state } } } }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

/** All open pull requests of a repository, and the issue that changed last. */
async function glanceAt(repository: Repository): Promise<{ newest: unknown; requests: PullRequest[] }> {
  const requests: PullRequest[] = [];
  for (let after: string | null = null; ; ) {
    const page: z.infer<typeof pageSchema> = await repository.graphql(pageSchema, OPEN, 'read pull requests', {
      after,
    });
    const { issues, pullRequests } = page.repository;
    requests.push(...pullRequests.nodes);
    const { hasNextPage, endCursor } = pullRequests.pageInfo;
    if (!hasNextPage || !endCursor) return { newest: issues.nodes, requests };
    after = endCursor;
  }
}
