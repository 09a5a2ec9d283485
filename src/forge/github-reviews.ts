import { z } from 'zod';
import { type GitHubClient, TRUSTED } from '../host/github-client.ts';
import type { Below } from './github-checks.ts';
import { ANSWER, type Posted, type Review } from './port.ts';

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

/** The REST interface does not tell which threads are settled. The newest hundred have to do. */
const THREADS = `query($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $number) {
      reviewThreads(last: 100) { nodes { isResolved comments(first: 1) { nodes { fullDatabaseId } } } }
    }
  }
}`;

type Said = z.infer<typeof said>;

export interface GitHubReviews {
  of(number: number): Promise<Review[]>;
  reply(number: number, thread: string | null, text: string): Promise<Posted>;
  find(number: number, thread: string | null, marker: string): Promise<Posted | null>;
}

/** What people say of the pull requests of one repository, and our answers. */
export function createGitHubReviews(
  client: GitHubClient,
  below: Below,
  isOwn: (by: Said['user']) => Promise<boolean>,
): GitHubReviews {
  const lines = async (number: number) =>
    client.list(await below('GET /pulls/{number}/comments', `read reviews of ${number}`, { number }), lineSchema);

  const comments = async (number: number) =>
    client.list(
      await below('GET /issues/{number}/comments', `read comments on pull request ${number}`, { number }),
      commentSchema,
    );

  /** By the comment that each begins with. */
  async function resolvedThreads(number: number): Promise<ReadonlySet<string>> {
    const { parameters } = await below('GET ', '');
    const variables = { ...parameters, number };
    const { repository } = await client.graphql(`read reviews of ${number}`, THREADS, variables, threadsSchema);
    const settled = repository.pullRequest.reviewThreads.nodes.filter(({ isResolved }) => isResolved);
    return new Set(settled.flatMap(({ comments }) => comments.nodes.map(({ fullDatabaseId }) => fullDatabaseId)));
  }

  return {
    async of(number) {
      const [reviews, atLines] = await Promise.all([
        client.list(await below('GET /pulls/{number}/reviews', `read reviews of ${number}`, { number }), reviewSchema),
        lines(number),
      ]);
      const resolved = atLines.length === 0 ? new Set<string>() : await resolvedThreads(number);
      // Answers to reviews of the whole are comments of the conversation.
      const isAsked = reviews.some(({ body }) => (body ?? '') !== '');
      const conversation = isAsked ? await comments(number) : [];
      const ours = new Set<Said>();
      for (const one of [...atLines, ...conversation])
        if (one.body?.startsWith(ANSWER) && (await isOwn(one.user))) ours.add(one);
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
    async find(number, thread, marker) {
      const all: Said[] = thread === null ? await comments(number) : await lines(number);
      for (const one of all) if (one.body?.startsWith(marker) && (await isOwn(one.user))) return postedOf(one);
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
