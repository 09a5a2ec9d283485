import { z } from 'zod';
import { AgentosError, codeOf } from '../core/errors.ts';
import type { Ask, GitHubClient } from '../host/github-client.ts';
import { webHostOf } from '../host/remote-url.ts';
import type { Check, Forge, PullRequest, Review } from './port.ts';

const pullSchema = z.looseObject({
  number: z.int(),
  node_id: z.string().default(''),
  html_url: z.string(),
  state: z.string(),
  draft: z.boolean().default(false),
  merged_at: z.string().nullish(),
  title: z.string(),
  head: z.looseObject({ ref: z.string(), sha: z.string(), repo: z.looseObject({ full_name: z.string() }).nullish() }),
  base: z.looseObject({ ref: z.string() }),
  updated_at: z.string(),
});

const branchSchema = z.looseObject({
  commit: z.looseObject({ sha: z.string() }),
  protection: z
    .looseObject({ required_status_checks: z.looseObject({ contexts: z.array(z.string()).default([]) }).nullish() })
    .nullish(),
});
const ruleSchema = z.looseObject({
  type: z.string(),
  parameters: z
    .looseObject({ required_status_checks: z.array(z.looseObject({ context: z.string() })).optional() })
    .nullish(),
});
const runSchema = z.looseObject({
  name: z.string(),
  status: z.string(),
  conclusion: z.string().nullish(),
  html_url: z.string().nullish(),
});
const statusSchema = z.looseObject({ context: z.string(), state: z.string(), target_url: z.string().nullish() });

const said = z.looseObject({
  id: z.union([z.int(), z.bigint()]),
  user: z.looseObject({ login: z.string() }).nullish(),
  author_association: z.string().default('NONE'),
  body: z.string().nullish(),
});
const reviewSchema = said.extend({ state: z.string(), submitted_at: z.string().nullish() });
const lineSchema = said.extend({
  created_at: z.string(),
  path: z.string(),
  line: z.int().nullish(),
  in_reply_to_id: z.union([z.int(), z.bigint()]).nullish(),
});

const TRUSTED = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);
/** Conclusions that hold nothing up. */
const FINE = new Set(['success', 'neutral', 'skipped']);
const EVIDENCE = 'agentos / evidence';
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

  async function requiredFor(base: string): Promise<string[]> {
    const [branch, rules] = await Promise.all([
      below('GET /branches/{base}', `read branch ${base}`, { base }).then((ask) => client.get(ask, branchSchema)),
      below('GET /rules/branches/{base}', `read the rules of ${base}`, { base })
        .then((ask) => client.list(ask, ruleSchema))
        .catch(orNothing),
    ]);
    const byRule = rules.flatMap(
      ({ parameters }) => parameters?.required_status_checks?.map(({ context }) => context) ?? [],
    );
    return [...new Set([...(branch.protection?.required_status_checks?.contexts ?? []), ...byRule])];
  }

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
    openPullRequests: () =>
      pulls(`read pull requests of ${path}`, { state: 'open', sort: 'updated', direction: 'desc' }),
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
      const ask = await below('PATCH /pulls/{number}', `edit pull request ${number}`, { number, title, body });
      await client.send(ask, z.unknown());
    },
    async makeReady({ number }) {
      const id = nodes.get(number) ?? '';
      await client.graphql(`make pull request ${number} ready`, MAKE_READY, { id }, z.unknown());
    },
    async checks(commit, base) {
      const ask = async (what: string) =>
        below(`GET /commits/{commit}/${what}`, `read the checks of ${commit}`, { commit });
      const [required, runs, statuses] = await Promise.all([
        requiredFor(base),
        client.list(await ask('check-runs'), runSchema),
        client.list(await ask('statuses'), statusSchema),
      ]);
      const found = new Map<string, Check>();
      const add = (name: string, state: Check['state'], url: string | null): void => {
        if (name !== EVIDENCE) found.set(name, { name, state, isRequired: required.includes(name), url });
      };
      // The newest status of a context comes first.
      for (const { context, state, target_url } of statuses.toReversed())
        add(context, state === 'success' ? 'passed' : state === 'pending' ? 'pending' : 'failed', target_url ?? null);
      for (const { name, status, conclusion, html_url } of runs.toReversed())
        add(
          name,
          status !== 'completed' ? 'pending' : FINE.has(conclusion ?? '') ? 'passed' : 'failed',
          html_url ?? null,
        );
      const missing = required.filter((name) => name !== EVIDENCE && !found.has(name));
      return [
        ...found.values(),
        ...missing.map((name): Check => ({ name, state: 'pending', isRequired: true, url: null })),
      ];
    },
    async reviews(number) {
      const [reviews, lines] = await Promise.all([
        client.list(await below('GET /pulls/{number}/reviews', `read reviews of ${number}`, { number }), reviewSchema),
        client.list(await below('GET /pulls/{number}/comments', `read reviews of ${number}`, { number }), lineSchema),
      ]);
      const plain = ({ id, user, author_association, body }: z.infer<typeof said>) => ({
        id: String(id),
        by: user?.login ?? 'ghost',
        isTrusted: TRUSTED.has(author_association),
        body: body ?? '',
      });
      return [
        ...reviews.map(
          (review): Review => ({
            ...plain(review),
            verdict: verdictOf(review.state),
            at: review.submitted_at ?? '',
            line: null,
          }),
        ),
        ...lines.map((line): Review => {
          const thread = String(line.in_reply_to_id ?? line.id);
          const at = { path: line.path, line: line.line ?? null, thread };
          return { ...plain(line), verdict: 'commented', at: line.created_at, line: at };
        }),
      ];
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

function verdictOf(state: string): Review['verdict'] {
  if (state === 'APPROVED') return 'approved';
  return state === 'CHANGES_REQUESTED' ? 'changes-requested' : 'commented';
}

/** A repository without such rules, or a token that may not see them. */
function orNothing(error: unknown): [] {
  if (codeOf(error) !== 'host-not-found' && codeOf(error) !== 'host-scope-missing') throw error;
  return [];
}
