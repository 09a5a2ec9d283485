import { z } from 'zod';
import { sha256 } from '../core/hash.ts';
import type { GitHubClient } from '../host/github-client.ts';
import type { Below } from './github-checks.ts';
import type { OpenRequest } from './port.ts';

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
 * One request for a hundred: the REST interface would need several for each, and a finished check changes no date there. Of checks only
 * their state together is asked for: single ones no fine-grained token may read.
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
  /** Another one when any of them, or an issue, has changed. */
  mark: string;
}

/** All open pull requests of a repository, and the newest date among its issues. */
export async function glanceAt(client: GitHubClient, below: Below): Promise<Glance> {
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
