import { z } from 'zod';
import { codeOf } from '../core/errors.ts';
import { orElse } from '../host/failure.ts';
import { githubPost, type Repository, TRUSTED } from '../host/repository.ts';
import { ANSWER, type Check, EVIDENCE, type Forge, type Posted, type Review } from './port.ts';

export const branchSchema = z.looseObject({
  commit: z.looseObject({ sha: z.string() }),
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
export function createGitHubChecks(repository: Repository): Pick<Forge, 'checks' | 'failureLog'> {
  async function requiredFor(base: string): Promise<string[]> {
    const rules = repository.list(ruleSchema, 'GET rules/branches/{base}', `read the rules of ${base}`, { base });
    const [{ protection }, byRule] = await Promise.all([
      repository.request(branchSchema, 'GET branches/{base}', `read branch ${base}`, { base }),
      orElse(rules, [], ['host-not-found', 'host-scope-missing']),
    ]);
    const named = byRule.flatMap(({ parameters }) => parameters?.required_status_checks ?? []);
    return [...(protection?.required_status_checks?.contexts ?? []), ...named.map(({ context }) => context)];
  }

  /** No fine-grained token may read check runs. It may read jobs, and each check run of GitHub Actions is one. */
  async function runsOf(commit: string, what: string): Promise<z.infer<typeof runSchema>[]> {
    try {
      return await repository.list(runSchema, 'GET commits/{commit}/check-runs', what, { commit });
    } catch (error) {
      if (codeOf(error) !== 'host-scope-missing') throw error;
      const runs = await repository.list(workflowSchema, 'GET actions/runs', what, { head_sha: commit });
      const jobs = runs.map(({ id }) => repository.list(runSchema, 'GET actions/runs/{id}/jobs', what, { id }));
      return (await Promise.all(jobs)).flat();
    }
  }

  return {
    async checks(commit, base) {
      const what = `read the checks of ${commit}`;
      const [names, runs, statuses] = await Promise.all([
        requiredFor(base),
        runsOf(commit, what),
        repository.list(statusSchema, 'GET commits/{commit}/statuses', what, { commit }),
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
      for (const { name, status, conclusion, html_url, output: words } of runs.toReversed())
        add({
          name,
          state: stateOf(status, conclusion ?? ''),
          url: html_url ?? null,
          output: [words?.title, words?.summary, words?.text].filter(Boolean).join('\n\n'),
        });
      for (const name of names) if (!found.has(name)) add({ name, state: 'pending', url: null, output: '' });
      return [...found.values()];
    },
    async failureLog({ name, url, output: summary }) {
      const [, job] = JOB.exec(url ?? '') ?? [];
      if (job === undefined) return summary;
      return (await repository.log(`GET actions/jobs/${job}/logs`, `read the log of ${name}`)) ?? summary;
    },
  };
}

function stateOf(status: string, conclusion: string): Check['state'] {
  if (status !== 'completed' || UNDECIDED.has(conclusion)) return 'pending';
  return PASSED.has(conclusion) ? 'passed' : 'failed';
}

const id = z.union([z.int(), z.bigint()]);
export const commentSchema = githubPost.extend({ id, created_at: z.string().default('') });
type Comment = z.infer<typeof commentSchema>;
const reviewSchema = commentSchema.extend({ state: z.string(), submitted_at: z.string().nullish() });
const lineSchema = commentSchema.extend({ path: z.string(), line: z.int().nullish(), in_reply_to_id: id.nullish() });
const thread = z.looseObject({
  isResolved: z.boolean(),
  comments: z.looseObject({ nodes: z.array(z.looseObject({ fullDatabaseId: z.coerce.string() })) }),
});
const threadsSchema = z.looseObject({
  repository: z.looseObject({
    pullRequest: z.looseObject({ reviewThreads: z.looseObject({ nodes: z.array(thread) }) }),
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

/** Reviews and comments on one repository's pull requests, and our answers. */
export function createGitHubReviews(repository: Repository): Pick<Forge, 'reviews' | 'reply' | 'findReply'> {
  const reviewsOf = (number: number) =>
    repository.list(reviewSchema, 'GET pulls/{number}/reviews', `read reviews of ${number}`, { number });
  const linesOf = (number: number) =>
    repository.list(lineSchema, 'GET pulls/{number}/comments', `read reviews of ${number}`, { number });
  const conversationOf = (number: number) =>
    repository.list(commentSchema, 'GET issues/{number}/comments', `read comments on pull request ${number}`, {
      number,
    });

  /** By the id of the first comment of each. */
  async function resolvedThreads(number: number): Promise<ReadonlySet<string>> {
    const found = await repository.graphql(threadsSchema, THREADS, `read reviews of ${number}`, { number });
    const settled = found.repository.pullRequest.reviewThreads.nodes.filter(({ isResolved }) => isResolved);
    return new Set(settled.flatMap(({ comments }) => comments.nodes.map(({ fullDatabaseId }) => fullDatabaseId)));
  }

  return {
    async reviews(number) {
      const [reviews, lines] = await Promise.all([reviewsOf(number), linesOf(number)]);
      const resolved = lines.length === 0 ? new Set<string>() : await resolvedThreads(number);
      // Our answers to reviews without a line are comments on the conversation.
      const hasText = reviews.some(({ body }) => (body ?? '') !== '');
      const conversation = hasText ? await conversationOf(number) : [];
      const ours = new Set<Comment>();
      for (const one of [...lines, ...conversation])
        if (one.body?.startsWith(ANSWER) && (await repository.isOwn(one.user))) ours.add(one);
      const plain = (one: Comment): Review => ({
        id: String(one.id),
        by: one.user?.login ?? 'ghost',
        isTrusted: TRUSTED.has(one.author_association),
        isOwn: ours.has(one),
        isApproval: false,
        body: one.body ?? '',
        at: one.created_at,
        line: null,
        thread: null,
        isResolved: false,
      });
      return [
        ...reviews
          .filter(({ state }) => state !== 'DISMISSED' && state !== 'PENDING')
          .map((one) => ({ ...plain(one), isApproval: one.state === 'APPROVED', at: one.submitted_at ?? '' })),
        ...conversation.filter((one) => ours.has(one)).map(plain),
        ...lines.map((one) => {
          const first = String(one.in_reply_to_id ?? one.id);
          const line = { path: one.path, line: one.line ?? null };
          return { ...plain(one), line, thread: first, isResolved: resolved.has(first) };
        }),
      ];
    },
    async reply(number, to, body) {
      const route = to === null ? 'POST issues/{number}/comments' : 'POST pulls/{number}/comments/{to}/replies';
      const reply = { number, body, ...(to === null ? {} : { to }) };
      const { id: own } = await repository.request(commentSchema, route, `answer on pull request ${number}`, reply);
      return { id: String(own) };
    },
    async findReply(number, to, marker) {
      return findOwn(repository, await (to === null ? conversationOf(number) : linesOf(number)), marker);
    },
  };
}

/** The first comment of our own that begins with the marker. */
export async function findOwn(repository: Repository, all: readonly Comment[], marker: string): Promise<Posted | null> {
  for (const one of all)
    if (one.body?.startsWith(marker) && (await repository.isOwn(one.user))) return { id: String(one.id) };
  return null;
}
