import { z } from 'zod';
import { codeOf } from '../core/errors.ts';
import { type GitHubClient, type repositoryAsk, TRUSTED } from '../host/github-client.ts';
import { orElse } from '../host/port.ts';
import { ANSWER, type Check, EVIDENCE, type Forge, type Posted, type Review } from './port.ts';

export type Below = ReturnType<typeof repositoryAsk>;

const branchSchema = z.looseObject({
  protection: z
    .looseObject({ required_status_checks: z.looseObject({ contexts: z.array(z.string()).default([]) }).nullish() })
    .nullish(),
});
const ruleSchema = z.looseObject({
  parameters: z
    .looseObject({ required_status_checks: z.array(z.looseObject({ context: z.string() })).optional() })
    .nullish(),
});
const output = z.looseObject({
  title: z.string().nullish(),
  summary: z.string().nullish(),
  text: z.string().nullish(),
});
const runSchema = z.looseObject({
  name: z.string(),
  status: z.string(),
  conclusion: z.string().nullish(),
  html_url: z.string().nullish(),
  output: output.nullish(),
});
const workflowSchema = z.looseObject({ id: z.int() });
const statusSchema = z.looseObject({
  context: z.string(),
  state: z.string(),
  target_url: z.string().nullish(),
  description: z.string().nullish(),
});

const PASSED = new Set(['success', 'neutral', 'skipped']);
/** These say nothing about the code: a person cancelled the check, or has to start it. */
const UNDECIDED = new Set(['cancelled', 'action_required', 'stale']);
const JOB = /\/actions\/runs\/\d+\/jobs?\/(\d+)/;

/** The CI checks of one repository's commits. */
export function createGitHubChecks(client: GitHubClient, below: Below): Pick<Forge, 'checks' | 'failureLog'> {
  const required = new Map<string, Promise<string[]>>();

  async function requiredFor(base: string): Promise<string[]> {
    const [branch, rules] = await Promise.all([
      below('GET /branches/{base}', `read branch ${base}`, { base }).then((ask) => client.get(ask, branchSchema)),
      orElse(
        below('GET /rules/branches/{base}', `read the rules of ${base}`, { base }).then((ask) =>
          client.list(ask, ruleSchema),
        ),
        [],
        ['host-not-found', 'host-scope-missing'],
      ),
    ]);
    const byRule = rules.flatMap(
      ({ parameters }) => parameters?.required_status_checks?.map(({ context }) => context) ?? [],
    );
    return [...new Set([...(branch.protection?.required_status_checks?.contexts ?? []), ...byRule])];
  }

  /** No fine-grained token may read check runs. It may read jobs, and each check run of GitHub Actions is one. */
  async function runsOf(commit: string): Promise<z.infer<typeof runSchema>[]> {
    const what = `read the checks of ${commit}`;
    try {
      return await client.list(await below('GET /commits/{commit}/check-runs', what, { commit }), runSchema);
    } catch (error) {
      if (codeOf(error) !== 'host-scope-missing') throw error;
      const runs = await below('GET /actions/runs', what, { head_sha: commit }).then((ask) =>
        client.list(ask, workflowSchema),
      );
      const jobs = runs.map(({ id }) =>
        below('GET /actions/runs/{run}/jobs', what, { run: id }).then((ask) => client.list(ask, runSchema)),
      );
      return (await Promise.all(jobs)).flat();
    }
  }

  return {
    async checks(commit, base) {
      const known = required.get(base) ?? requiredFor(base);
      required.set(base, known);
      const statusesAsk = await below('GET /commits/{commit}/statuses', `read the checks of ${commit}`, { commit });
      const [names, runs, statuses] = await Promise.all([
        known,
        runsOf(commit),
        client.list(statusesAsk, statusSchema),
      ]);
      const found = new Map<string, Check>();
      const add = (check: Omit<Check, 'isRequired'>): void => {
        if (check.name !== EVIDENCE) found.set(check.name, { ...check, isRequired: names.includes(check.name) });
      };
      // The newest status of a context comes first.
      for (const { context, state, target_url, description } of statuses.toReversed())
        add({
          name: context,
          state: state === 'success' ? 'passed' : state === 'pending' ? 'pending' : 'failed',
          url: target_url ?? null,
          output: description ?? '',
        });
      for (const { name, status, conclusion, html_url, output: said } of runs.toReversed())
        add({
          name,
          state: stateOf(status, conclusion ?? ''),
          url: html_url ?? null,
          output: [said?.title, said?.summary, said?.text].filter(Boolean).join('\n\n'),
        });
      const missing = names.filter((name) => name !== EVIDENCE && !found.has(name));
      return [
        ...found.values(),
        ...missing.map((name): Check => ({ name, state: 'pending', isRequired: true, url: null, output: '' })),
      ];
    },
    async failureLog({ name, url, output: said }) {
      const [, job] = JOB.exec(url ?? '') ?? [];
      if (job === undefined) return said;
      const ask = await below('GET /actions/jobs/{job}/logs', `read the log of ${name}`, { job });
      return (await client.log(ask)) ?? said;
    },
  };
}

function stateOf(status: string, conclusion: string): Check['state'] {
  if (status !== 'completed' || UNDECIDED.has(conclusion)) return 'pending';
  return PASSED.has(conclusion) ? 'passed' : 'failed';
}

const id = z.union([z.int(), z.bigint()]);
const said = z.looseObject({
  id,
  html_url: z.string().default(''),
  user: z.looseObject({ login: z.string(), type: z.string().optional() }).nullish(),
  author_association: z.string().default('NONE'),
  body: z.string().nullish(),
});
const reviewSchema = said.extend({ state: z.string(), submitted_at: z.string().nullish() });
const lineSchema = said.extend({
  created_at: z.string(),
  path: z.string(),
  line: z.int().nullish(),
  in_reply_to_id: id.nullish(),
});
const commentSchema = said.extend({ created_at: z.string() });
const threadsSchema = z.looseObject({
  repository: z.looseObject({
    pullRequest: z.looseObject({
      reviewThreads: z.looseObject({
        nodes: z.array(
          z.looseObject({
            isResolved: z.boolean(),
            comments: z.looseObject({ nodes: z.array(z.looseObject({ fullDatabaseId: z.coerce.string() })) }),
          }),
        ),
      }),
    }),
  }),
});

/** The REST API does not say which threads are resolved. Reads the newest hundred only. */
const THREADS = `query($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $number) {
      reviewThreads(last: 100) { nodes { isResolved comments(first: 1) { nodes { fullDatabaseId } } } }
    }
  }
}`;

type Said = z.infer<typeof said>;

/** Reviews and comments on one repository's pull requests, and our answers. */
export function createGitHubReviews(
  client: GitHubClient,
  below: Below,
): Pick<Forge, 'reviews' | 'reply' | 'findReply'> {
  const lines = async (number: number) =>
    client.list(await below('GET /pulls/{number}/comments', `read reviews of ${number}`, { number }), lineSchema);

  const comments = async (number: number) =>
    client.list(
      await below('GET /issues/{number}/comments', `read comments on pull request ${number}`, { number }),
      commentSchema,
    );

  /** By the id of the first comment of each. */
  async function resolvedThreads(number: number): Promise<ReadonlySet<string>> {
    const { parameters } = await below('GET ', '');
    const variables = { ...parameters, number };
    const { repository } = await client.graphql(`read reviews of ${number}`, THREADS, variables, threadsSchema);
    const settled = repository.pullRequest.reviewThreads.nodes.filter(({ isResolved }) => isResolved);
    return new Set(settled.flatMap(({ comments }) => comments.nodes.map(({ fullDatabaseId }) => fullDatabaseId)));
  }

  return {
    async reviews(number) {
      const [reviews, atLines] = await Promise.all([
        client.list(await below('GET /pulls/{number}/reviews', `read reviews of ${number}`, { number }), reviewSchema),
        lines(number),
      ]);
      const resolved = atLines.length === 0 ? new Set<string>() : await resolvedThreads(number);
      // Our answers to reviews without a line are comments on the conversation.
      const hasText = reviews.some(({ body }) => (body ?? '') !== '');
      const conversation = hasText ? await comments(number) : [];
      const ours = new Set<Said>();
      for (const one of [...atLines, ...conversation])
        if (one.body?.startsWith(ANSWER) && (await client.isOwn(one.user))) ours.add(one);
      const plain = (one: Said) => ({
        id: String(one.id),
        by: one.user?.login ?? 'ghost',
        isTrusted: TRUSTED.has(one.author_association),
        isOwn: ours.has(one),
        body: one.body ?? '',
      });
      return [
        ...reviews
          .filter(({ state }) => state !== 'DISMISSED' && state !== 'PENDING')
          .map(
            (review): Review => ({
              ...plain(review),
              verdict: verdictOf(review.state),
              at: review.submitted_at ?? '',
              line: null,
              thread: null,
              isResolved: false,
            }),
          ),
        ...conversation
          .filter((one) => ours.has(one))
          .map((one): Review => {
            const whole = { line: null, thread: null, isResolved: false };
            return { ...plain(one), verdict: 'commented', at: one.created_at, ...whole };
          }),
        ...atLines.map((line): Review => {
          const thread = String(line.in_reply_to_id ?? line.id);
          const place = { path: line.path, line: line.line ?? null };
          const at = line.created_at;
          return { ...plain(line), verdict: 'commented', at, line: place, thread, isResolved: resolved.has(thread) };
        }),
      ];
    },
    async reply(number, thread, body) {
      const [route, more] =
        thread === null
          ? ['POST /issues/{number}/comments', {}]
          : ['POST /pulls/{number}/comments/{thread}/replies', { thread }];
      const ask = await below(route, `answer on pull request ${number}`, { number, body, ...more });
      return postedOf(await client.send(ask, said));
    },
    async findReply(number, thread, marker) {
      const all: Said[] = thread === null ? await comments(number) : await lines(number);
      for (const one of all) if (one.body?.startsWith(marker) && (await client.isOwn(one.user))) return postedOf(one);
      return null;
    },
  };
}

function postedOf({ id: own, html_url }: Said): Posted {
  return { id: String(own), url: html_url };
}

function verdictOf(state: string): Review['verdict'] {
  if (state === 'APPROVED') return 'approved';
  return state === 'CHANGES_REQUESTED' ? 'changes-requested' : 'commented';
}
