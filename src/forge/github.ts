import { z } from 'zod';
import { AgentosError, codeOf } from '../core/errors.ts';
import type { Ask, GitHubClient } from '../host/github-client.ts';
import { webHostOf } from '../host/remote-url.ts';
import { createGitHubChecks } from './github-checks.ts';
import { glanceAt } from './github-open.ts';
import { createGitHubReviews } from './github-reviews.ts';
import { createGitHubViewer } from './github-viewer.ts';
import { EVIDENCE, type Forge, type PullRequest } from './port.ts';

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

/** The branches and pull requests of one repository of GitHub. */
export function createGitHubForge(client: GitHubClient, path: string): Forge {
  const location = `github:${path}`;
  const facts = () => client.repository(path);
  const nodes = new Map<number, string>();
  let webUrl = `https://${webHostOf(client.options.apiUrl)}/${path}`;

  const below = async (route: string, what: string, parameters: Record<string, unknown> = {}): Promise<Ask> => {
    const [owner, repo] = (await facts()).path.split('/');
    const [method = '', rest = ''] = route.split(' ');
    return { what, route: `${method} /repos/{owner}/{repo}${rest}`, parameters: { owner, repo, ...parameters } };
  };
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
  const pulls = async (what: string, parameters: Record<string, unknown>): Promise<PullRequest[]> => {
    const found = await client.list(await below('GET /pulls', what, parameters), pullSchema);
    return Promise.all(found.map(pullOf));
  };

  const checks = createGitHubChecks(client, below);
  const reviews = createGitHubReviews(client, below, createGitHubViewer(client).isOwn);

  return {
    location,
    async requireWrite() {
      const { isArchived, canPush, path: now, webUrl: url } = await facts();
      webUrl = url;
      if (isArchived) throw new AgentosError({ code: 'host-archived', host: 'github', repository: now });
      if (canPush !== false) return;
      const detail = 'it may only read this repository';
      throw new AgentosError({ code: 'host-scope-missing', host: 'github', what: `push to ${now}`, needs: [], detail });
    },
    defaultBranch: async () => (await facts()).defaultBranch,
    async branchHead(branch) {
      const ask = await below('GET /branches/{branch}', `read branch ${branch}`, { branch });
      return client.get(ask, branchSchema).then(
        ({ commit }) => commit.sha,
        (error: unknown) => {
          if (codeOf(error) !== 'host-not-found') throw error;
          return null;
        },
      );
    },
    fileUrl: (branch, file) =>
      `${webUrl}/blob/${branch.split('/').map(encodeURIComponent).join('/')}/${encodeURI(file)}`,
    closing(place, issue) {
      if (!place.startsWith('github:')) return null;
      const of = place.slice('github:'.length);
      return of.toLowerCase() === path.toLowerCase() ? `Closes #${issue}` : `Closes ${of}#${issue}`;
    },
    async gitHeader() {
      const { options } = client;
      const { protocol } = new URL(options.apiUrl);
      const login = Buffer.from(`x-access-token:${(await options.token()).reveal()}`).toString('base64');
      return { url: `${protocol}//${webHostOf(options.apiUrl)}/`, header: `Authorization: Basic ${login}` };
    },
    async pullRequestsOf(branch) {
      const [owner] = (await facts()).path.split('/');
      return pulls(`read pull requests of ${branch}`, { state: 'all', head: `${owner}:${branch}` });
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
    checks: (commit, base) => checks.of(commit, base),
    failureLog: (check) => checks.log(check),
    reviews: (number) => reviews.of(number),
    reply: (number, thread, text) => reviews.reply(number, thread, text),
    findReply: (number, thread, marker) => reviews.find(number, thread, marker),
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
