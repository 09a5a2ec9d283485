import type { ItemId } from '../core/ids.ts';
import { describeReaction, type Reaction, type ReactionResult, reactBranch, reactionKey } from '../core/reaction.ts';
import { reactionAnswer, reactionSummary } from '../documents/post/reaction-answer.ts';
import { answerMarker, type Forge, type Posted } from '../forge/port.ts';
import { deleteBranch, moveBranchForward } from '../git/branches.ts';
import { createGit, type Git } from '../git/git.ts';
import { pushBranch } from '../git/push.ts';
import { deleteDatabase } from '../journal/database-files.ts';
import { postOnce } from './post-once.ts';
import { type Pushed, STEPS } from './posts.ts';
import type { Project } from './project.ts';
import { headerFor, REMOTE } from './pull-request.ts';
import { recordEnd } from './reactions.ts';

interface FinishOptions {
  project: Project;
  id: ItemId;
  reaction: Reaction;
  result: ReactionResult;
  onNotice: (text: string) => void;
  signal: AbortSignal;
}

/**
 * Pushes what a reaction made, reports its evidence, answers what it was about, and records that it ended. Each is a step that
 * is carried out once; the checkpoint of the reaction stays until all of them are.
 */
export async function finishReaction(options: FinishOptions): Promise<void> {
  const { project, id, reaction, result, onNotice } = options;
  const { paths, childEnv, hosts } = project;
  const { commit } = result;
  const key = reactionKey(reaction);
  const git = createGit(paths.repository, childEnv);
  const forge = await hosts.forge();
  if (commit !== null) {
    await push(options, git, forge, commit);
    onNotice(`pushed ${commit.slice(0, 12)} to ${reaction.url}`);
    const { evidence } = result;
    if (evidence !== null)
      await postOnce(
        paths,
        id,
        { name: STEPS.evidence, inputs: { commit } },
        {
          lookUp: async () => null,
          post: async () => (await forge.setEvidence(commit, { ...evidence, url: reaction.url }), { commit }),
        },
      );
  }
  if (!result.dropped) await answer(options, forge, key);
  await recordEnd(project, id, { key, commit, wrote: result.wrote, dropped: result.dropped });
  deleteDatabase(paths.checkpoint('react', id));
  await deleteBranch(git, reactBranch(id)).catch(() => undefined);
}

/** On top of what the pull request was at, and of nothing else: a person who pushed meanwhile is not overwritten. */
async function push(
  { project, id, reaction, signal }: FinishOptions,
  git: Git,
  forge: Forge,
  commit: string,
): Promise<void> {
  const { paths, childEnv: env } = project;
  const { branch, head } = reaction;
  const key = { name: STEPS.pushed, inputs: { branch, commit } };
  await postOnce<Pushed>(paths, id, key, {
    lookUp: async () => null,
    async post() {
      const header = await headerFor(forge, git);
      await pushBranch(git, { remote: REMOTE, branch, commit, before: null, header, env, signal });
      return { branch, commit };
    },
  });
  await moveBranchForward(git, branch, { from: head, to: commit });
}

/** One answer in each thread, and one on the pull request for all that has no thread. */
async function answer({ project, id, reaction, result }: FinishOptions, forge: Forge, key: string): Promise<void> {
  const { paths, mask } = project;
  const { number, reviews } = reaction;
  type Remarks = readonly Reaction['reviews'][number][];
  const post = async (thread: string | null, to: Remarks, text: (marker: string) => string): Promise<void> => {
    const marker = answerMarker(
      key,
      thread,
      to.map((one) => one.id),
    );
    const step = { name: STEPS.answer, inputs: { key, thread } };
    await postOnce<Posted>(paths, id, step, {
      lookUp: () => forge.findReply(number, thread, marker),
      post: () => forge.reply(number, thread, mask(text(marker))),
    });
  };
  const facts = { commit: result.commit, files: result.files };
  for (const [thread, remarks] of Map.groupBy(reviews, (one) => one.thread)) {
    const said = remarks.flatMap((one) => result.answers[one.id] ?? []);
    if (thread !== null) await post(thread, remarks, (marker) => reactionAnswer(marker, said, facts));
  }
  const others = reviews.filter(({ thread }) => thread === null);
  const hasThreadsAlone = reaction.checks.length === 0 && !reaction.isBaseMoved && others.length === 0;
  if (hasThreadsAlone) return;
  const remarks = others.map(({ id: one, by }) => ({ by, said: result.answers[one] ?? null }));
  const details = result.evidence?.details ?? null;
  const about = { what: describeReaction(reaction), cycle: reaction.cycle, remarks, evidence: details };
  await post(null, others, (marker) => reactionSummary(marker, { ...facts, ...about }));
}
