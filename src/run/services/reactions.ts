import { AgentosError } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import { oneLine } from '../../core/lines.ts';
import {
  type DispatchedReaction,
  describeReaction,
  type FailedCheck,
  nextReaction,
  type Reaction,
  type ReactionEnd,
  type ReactionResult,
  type ReviewRequest,
  reactBranch,
  reactionKey,
} from '../../core/reaction.ts';
import { cutMiddle, failingPart } from '../../core/reason.ts';
import type { Check, Forge, Posted, PullRequest, Review } from '../../forge/port.ts';
import { answeredIn, answerMarker, reactionAnswer, reactionSummary } from '../../forge/texts.ts';
import { deleteBranch, isAncestor, moveBranchForward } from '../../git/branches.ts';
import { fetchBranches } from '../../git/push.ts';
import { deleteDatabase } from '../../journal/database.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import { outsideText } from '../../source/remote-issue.ts';
import type { Project } from '../project.ts';
import { headerFor, type Posting, postedAs, postOnce, pushOnce, REMOTE } from './posts.ts';

const MOST_REMARK = 8_000;
const MOST_EARLIER = 5;
const MOST_EARLIER_CHARS = 1_500;
const MOST_CHECKS = 5;

/** The next reaction to a pull request; null: it needs none. Without `mayFetch`, nothing is written. */
export async function reactionTo(
  project: Project,
  forge: Forge,
  id: ItemId,
  request: PullRequest,
  mayFetch: boolean,
): Promise<Reaction | 'dropped' | null> {
  const earlier = dispatchedFor(project, id, request.number);
  if (earlier.some(({ end }) => end?.dropped)) return 'dropped';
  const steps = inspectJournal(project.paths.checkpoint('react', id))?.finished ?? [];
  const made = steps.findLast(({ name }) => name === 'commit-reaction');
  const { commit } = (parseJson(made?.result ?? '') ?? {}) as { commit?: unknown };
  const open = earlier.findLast(({ end }) => end === null);
  if (open === undefined || commit !== request.head)
    return nextReaction(await lookAt(project, forge, request, mayFetch), earlier);
  // Its commit was pushed, but its end was not recorded.
  const { end: _, ...reaction } = open;
  return reaction;
}

/** What happened to a pull request that we could react to. All texts are from outside. */
async function lookAt(
  project: Project,
  forge: Forge,
  request: PullRequest,
  mayFetch: boolean,
): Promise<Omit<Reaction, 'cycle'>> {
  const { number, url, branch, head, base } = request;
  const { git, config } = project;
  const { react } = config.remote.pr;
  // What a list says saves requests.
  const { baseHead = null, checks: state = null, remarks = null } = request.listed ?? {};
  const commit = baseHead ?? (await forge.branchHead(base)) ?? '';
  const found = { number, url, branch, head, base: { branch: base, commit } };
  const hasMoved = async (): Promise<boolean> => {
    if (mayFetch) await fetchMissing(project, forge, found);
    // A commit that is not here counts as new: a dry run can't find out more.
    return !(await git.hasCommit(commit)) || !(await isAncestor(git, commit, head));
  };
  const isBaseMoved = react.includes('base') && commit !== '' && (await hasMoved());
  const mayFail = state === null || state === 'failed';
  const checks = react.includes('checks') && mayFail ? await failedChecks(project, forge, head, base) : [];
  const mayAsk = react.includes('reviews') && remarks !== 0;
  const reviews = mayAsk ? requestsIn(project, await forge.reviews(number)) : [];
  return { ...found, isBaseMoved, checks, reviews };
}

/** Fetches branch and base, unless both commits are here. False: one is still missing. */
async function fetchMissing(
  { git, childEnv: env }: Project,
  forge: Forge,
  { branch, head, base }: Pick<Reaction, 'branch' | 'head' | 'base'>,
): Promise<boolean> {
  const areHere = async (): Promise<boolean> => (await git.hasCommit(head)) && (await git.hasCommit(base.commit));
  if (await areHere()) return true;
  const header = await headerFor(git, forge);
  await fetchBranches(git, { remote: REMOTE, branches: [branch, base.branch], header, env });
  return areHere();
}

/** The failed required checks; if the repository requires none, all failed checks. */
async function failedChecks({ mask }: Project, forge: Forge, head: string, base: string): Promise<FailedCheck[]> {
  const all = await forge.checks(head, base);
  const failed = all.filter(({ state }) => state === 'failed');
  const binding = all.some(({ isRequired }) => isRequired) ? failed.filter(({ isRequired }) => isRequired) : failed;
  return Promise.all(
    binding.slice(0, MOST_CHECKS).map(async (check: Check) => ({
      name: mask(oneLine(check.name)),
      url: check.url,
      log: mask(outsideText(failingPart(await forge.failureLog(check)))),
    })),
  );
}

/** Unanswered requests of trusted people. A request about the whole change is settled if its author approved it later. */
function requestsIn({ mask }: Project, reviews: readonly Review[]): ReviewRequest[] {
  const byTime = reviews.toSorted((a, b) => a.at.localeCompare(b.at));
  const shown = (text: string, most: number): string => mask(cutMiddle(outsideText(text), most));
  const answered = new Set(reviews.filter(({ isOwn }) => isOwn).flatMap(({ body }) => answeredIn(body)));
  const isSettled = ({ id, by, line, at }: Review): boolean =>
    answered.has(id) || (line === null && byTime.some((one) => one.at > at && one.by === by && one.isApproval));
  return byTime
    .filter(({ isTrusted, isOwn, isResolved, isApproval }) => isTrusted && !isOwn && !isResolved && !isApproval)
    .filter((review) => outsideText(review.body) !== '' && !isSettled(review))
    .map((review) => {
      const { id, thread, by, body, line, at } = review;
      const before = byTime.filter((one) => thread !== null && one.thread === thread && one.at < at && one.isTrusted);
      return {
        id,
        thread,
        by: oneLine(by),
        body: shown(body, MOST_REMARK),
        path: line?.path ?? null,
        line: line?.line ?? null,
        earlier: before.slice(-MOST_EARLIER).map((one) => shown(one.body, MOST_EARLIER_CHARS)),
      };
    });
}

/** The reactions to the pull request of an item, oldest first, and how they ended. */
function dispatchedFor({ paths }: Project, id: ItemId, number: number): DispatchedReaction[] {
  const ends = new Map(postedAs<ReactionEnd>(paths, id, 'reaction-end').map((end) => [end.key, end]));
  const all = postedAs<Reaction>(paths, id, 'reaction');
  return all.filter((one) => one.number === number).map((one) => ({ ...one, end: ends.get(reactionKey(one)) ?? null }));
}

/** Records a reaction as dispatched, gives up those that it replaces, and fetches the commits that its worker needs. */
export async function dispatch(project: Project, id: ItemId, reaction: Reaction): Promise<void> {
  const { paths, hosts } = project;
  const key = reactionKey(reaction);
  for (const given of dispatchedFor(project, id, reaction.number)) {
    if (given.end !== null || reactionKey(given) === key) continue;
    const steps = inspectJournal(paths.checkpoint('react', id))?.finished ?? [];
    const wrote = steps.some(({ name }) => /^react-\d+$/.test(name));
    await recordEnd(project, id, { key: reactionKey(given), commit: null, wrote, dropped: false });
  }
  const { branch, number } = reaction;
  if (!(await fetchMissing(project, await hosts.forge(), reaction)))
    throw new AgentosError({ code: 'pull-request-moved', number, branch }, { retry: 'transient' });
  await postOnce(paths, id, { name: 'reaction', inputs: { key } }, async () => reaction);
}

async function recordEnd({ paths }: Project, id: ItemId, end: ReactionEnd): Promise<void> {
  await postOnce(paths, id, { name: 'reaction-end', inputs: { key: end.key } }, async () => end);
}

/**
 * Pushes the commit of a reaction, reports its evidence, answers the requests, and records its end. Each of these is done once;
 * the checkpoint of the reaction is kept until all are done.
 */
export async function finishReaction(posting: Posting, reaction: Reaction, result: ReactionResult): Promise<void> {
  const { project, id, say } = posting;
  const { paths, git, hosts } = project;
  const { commit, evidence, wrote, dropped } = result;
  const { branch, head, url } = reaction;
  const forge = await hosts.forge();
  if (commit !== null) {
    // Only on top of the commit that the reaction is for.
    await pushOnce(posting, id, forge, { branch, commit });
    await moveBranchForward(git, branch, { from: head, to: commit });
    say(`pushed ${commit.slice(0, 12)} to ${url}`);
    if (evidence !== null)
      await postOnce(paths, id, { name: 'evidence', inputs: { commit } }, () =>
        forge.setEvidence(commit, { ...evidence, url }),
      );
  }
  if (!dropped) await answer(posting, forge, reaction, result);
  await recordEnd(project, id, { key: reactionKey(reaction), commit, wrote, dropped });
  deleteDatabase(paths.checkpoint('react', id));
  await deleteBranch(git, reactBranch(id)).catch(() => undefined);
}

/** Posts one answer per thread, and one on the pull request for everything else. */
async function answer(
  { project, id }: Posting,
  forge: Forge,
  reaction: Reaction,
  result: ReactionResult,
): Promise<void> {
  const { paths, mask } = project;
  const { number, reviews } = reaction;
  const key = reactionKey(reaction);
  const post = async (thread: string | null, to: readonly ReviewRequest[], text: (marker: string) => string) => {
    const remarks = to.map((one) => one.id);
    const marker = answerMarker(key, thread, remarks);
    await postOnce<Posted>(
      paths,
      id,
      { name: 'answer', inputs: { key, thread } },
      () => forge.reply(number, thread, mask(text(marker))),
      () => forge.findReply(number, thread, marker),
    );
  };
  const facts = { commit: result.commit, files: result.files };
  const threads = Map.groupBy(reviews, (one) => one.thread);
  for (const [thread, remarks] of threads) {
    const said = remarks.flatMap((one) => result.answers[one.id] ?? []);
    if (thread !== null) await post(thread, remarks, (marker) => reactionAnswer(marker, said, facts));
  }
  const others = threads.get(null) ?? [];
  if (reaction.checks.length === 0 && !reaction.isBaseMoved && others.length === 0) return;
  const remarks = others.map(({ id: one, by }) => ({ by, said: result.answers[one] ?? null }));
  const details = result.evidence?.details ?? null;
  const about = { what: describeReaction(reaction), cycle: reaction.cycle, remarks, evidence: details };
  await post(null, others, (marker) => reactionSummary(marker, { ...facts, ...about }));
}
