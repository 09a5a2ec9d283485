import { z } from 'zod';
import { sha256 } from '../core/hash.ts';
import { type GitHubClient, repositoryAsk } from '../host/github-client.ts';
import { orElse, requirePush } from '../host/port.ts';
import { webHostOf } from '../host/remote-url.ts';
import { type Below, createGitHubChecks, createGitHubReviews } from './github-feedback.ts';
import { closingWords, EVIDENCE, type Forge, type OpenRequest, type PullRequest } from './port.ts';

const pullSchema = z.looseObject({
  number: z.int(),
  node_id: z.string().default(''),
  html_url: z.string().default(''),
  state: z.string(),
  draft: z.boolean().default(false),
  merged_at: z.string().nullish(),
  title: z.string(),
  body: z.string().nullish(),
  head: z.looseObject({ ref: z.string(), sha: z.string(), repo: z.looseObject({ full_name: z.string() }).nullish() }),
  base: z.looseObject({ ref: z.string() }),
  updated_at: z.string().default(''),
});

const branchSchema = z.looseObject({ commit: z.looseObject({ sha: z.string() }) });

const LONGEST_DESCRIPTION = 140;

const MAKE_READY = `mutation($id: ID!) {
  markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { isDraft } }
}`;

/** The branches and pull requests of one GitHub repository. */
export function createGitHubForge(client: GitHubClient, path: string): Forge {
  const facts = () => client.repository(path);
  const below = repositoryAsk(client, path);
  const nodes = new Map<number, string>();
  let webUrl = `https://${webHostOf(client.options.apiUrl)}/${path}`;

  const pullOf = async (pull: z.infer<typeof pullSchema>): Promise<PullRequest> => {
    nodes.set(pull.number, pull.node_id);
    return {
      number: pull.number,
      url: pull.html_url,
      state: pull.merged_at ? 'merged' : pull.state === 'open' ? 'open' : 'closed',
      isDraft: pull.draft,
      title: pull.title,
      body: pull.body ?? '',
      branch: pull.head.ref,
      head: pull.head.sha,
      base: pull.base.ref,
      isOwn: pull.head.repo?.full_name.toLowerCase() === (await facts()).path.toLowerCase(),
      updatedAt: pull.updated_at,
    };
  };

  return {
    location: `github:${path}`,
    ...createGitHubChecks(client, below),
    ...createGitHubReviews(client, below),
    async requireWrite() {
      const found = await facts();
      ({ webUrl } = found);
      requirePush('github', found, { needs: [], detail: 'it may only read this repository' });
    },
    defaultBranch: async () => (await facts()).defaultBranch,
    async branchHead(branch) {
      const ask = await below('GET /branches/{branch}', `read branch ${branch}`, { branch });
      return (await orElse(client.get(ask, branchSchema), null))?.commit.sha ?? null;
    },
    fileUrl: (branch, file) =>
      `${webUrl}/blob/${branch.split('/').map(encodeURIComponent).join('/')}/${encodeURI(file)}`,
    closing: (place, issue) => closingWords(`github:${path}`, place, issue),
    async gitHeader() {
      const { options } = client;
      const { protocol } = new URL(options.apiUrl);
      const login = Buffer.from(`x-access-token:${(await options.token()).reveal()}`).toString('base64');
      return { url: `${protocol}//${webHostOf(options.apiUrl)}/`, header: `Authorization: Basic ${login}` };
    },
    async pullRequestsOf(branch) {
      const [owner] = (await facts()).path.split('/');
      const parameters = { state: 'all', head: `${owner}:${branch}` };
      const ask = await below('GET /pulls', `read pull requests of ${branch}`, parameters);
      return Promise.all((await client.list(ask, pullSchema)).map(pullOf));
    },
    async openPullRequests() {
      const { requests } = await glanceAt(client, below);
      return requests.map(({ node, ...request }) => {
        nodes.set(request.number, node);
        return request;
      });
    },
    poll: async () => (await glanceAt(client, below)).mark,
    async pullRequest(number) {
      const ask = await below('GET /pulls/{number}', `read pull request ${number}`, { number });
      return pullOf(await client.get(ask, pullSchema));
    },
    async open({ branch, base, title, body, isDraft }) {
      const ask = await below('POST /pulls', `open a pull request for ${branch}`, {
        head: branch,
        base,
        title,
        body,
        draft: isDraft,
      });
      return pullOf(await client.send(ask, pullSchema));
    },
    async rewrite(number, { title, body }) {
      const ask = await below('PATCH /pulls/{number}', `edit pull request ${number}`, {
        number,
        body,
        ...(title === undefined ? {} : { title }),
      });
      await client.send(ask, z.unknown());
    },
    async makeReady({ number }) {
      const id = nodes.get(number) ?? '';
      await client.graphql(`make pull request ${number} ready`, MAKE_READY, { id }, z.unknown());
    },
    async setEvidence(commit, { passed, summary, details, url }) {
      const what = `report evidence on ${commit.slice(0, 12)}`;
      if (client.options.isApp) {
        const conclusion = passed ? 'success' : 'failure';
        const output = { title: summary, summary: details };
        const run = { name: EVIDENCE, head_sha: commit, status: 'completed', conclusion, details_url: url, output };
        await client.send(await below('POST /check-runs', what, run), z.unknown());
        return;
      }
      const state = passed ? 'success' : 'failure';
      const description = summary.slice(0, LONGEST_DESCRIPTION);
      const status = { sha: commit, state, context: EVIDENCE, description, target_url: url };
      await client.send(await below('POST /statuses/{sha}', what, status), z.unknown());
    },
  };
}

const nodeSchema = z.looseObject({
  id: z.string(),
  number: z.int(),
  url: z.string(),
  isDraft: z.boolean(),
  title: z.string(),
  headRefName: z.string(),
  headRefOid: z.string(),
  baseRefName: z.string(),
  baseRef: z.looseObject({ target: z.looseObject({ oid: z.string() }).nullish() }).nullish(),
  isCrossRepository: z.boolean(),
  updatedAt: z.string(),
  reviews: z.looseObject({ totalCount: z.int() }),
  reviewThreads: z.looseObject({ totalCount: z.int() }),
  commits: z.looseObject({
    nodes: z.array(
      z.looseObject({ commit: z.looseObject({ statusCheckRollup: z.looseObject({ state: z.string() }).nullish() }) }),
    ),
  }),
});
const pageSchema = z.looseObject({
  repository: z.looseObject({
    issues: z.looseObject({ nodes: z.array(z.looseObject({ number: z.int(), updatedAt: z.string() })) }),
    pullRequests: z.looseObject({
      nodes: z.array(nodeSchema),
      pageInfo: z.looseObject({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }),
    }),
  }),
});

/**
 * One request per hundred pull requests: the REST API would need several for each, and does not update a date when a check finishes.
 * Asks for the checks' combined state only, because no fine-grained token may read single ones.
 */
const OPEN = `query($owner: String!, $repo: String!, $after: String) {
  repository(owner: $owner, name: $repo) {
    issues(first: 1, orderBy: { field: UPDATED_AT, direction: DESC }) { nodes { number updatedAt } }
    pullRequests(first: 100, after: $after, states: OPEN, orderBy: { field: CREATED_AT, direction: ASC }) {
      nodes {
        id number url isDraft title headRefName headRefOid baseRefName isCrossRepository updatedAt
        baseRef { target { oid } }
        reviews { totalCount }
        reviewThreads { totalCount }
        commits(last: 1) { nodes { commit { statusCheckRollup { state } } } }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
}`;

const STATES: Readonly<Record<string, OpenRequest['checks']>> = {
  SUCCESS: 'passed',
  FAILURE: 'failed',
  ERROR: 'failed',
  PENDING: 'pending',
  EXPECTED: 'pending',
};

interface Glance {
  requests: (OpenRequest & { node: string })[];
  /** Changes when any of them, or an issue, has changed. */
  mark: string;
}

/** All open pull requests of a repository, and the newest date among its issues. */
async function glanceAt(client: GitHubClient, below: Below): Promise<Glance> {
  const { parameters } = await below('GET ', '');
  const requests: Glance['requests'] = [];
  let newest = '';
  for (let after: string | null = null; ; ) {
    const variables: Record<string, unknown> = { ...parameters, after };
    const page: z.infer<typeof pageSchema> = await client.graphql('read pull requests', OPEN, variables, pageSchema);
    const { issues, pullRequests } = page.repository;
    newest = JSON.stringify(issues.nodes);
    requests.push(...pullRequests.nodes.map(requestOf));
    const { hasNextPage, endCursor } = pullRequests.pageInfo;
    if (!hasNextPage || !endCursor) return { requests, mark: sha256(newest + JSON.stringify(requests)) };
    after = endCursor;
  }
}

function requestOf(node: z.infer<typeof nodeSchema>): Glance['requests'][number] {
  return {
    node: node.id,
    number: node.number,
    url: node.url,
    isDraft: node.isDraft,
    title: node.title,
    branch: node.headRefName,
    head: node.headRefOid,
    base: node.baseRefName,
    baseHead: node.baseRef?.target?.oid ?? null,
    isOwn: !node.isCrossRepository,
    updatedAt: node.updatedAt,
    remarks: node.reviews.totalCount + node.reviewThreads.totalCount,
    checks: STATES[node.commits.nodes[0]?.commit.statusCheckRollup?.state ?? ''] ?? null,
  };
}
