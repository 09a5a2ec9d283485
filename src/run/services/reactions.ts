import { AgentosError } from '../../core/errors.ts';
import { failingPart } from '../../core/failing-log.ts';
import type { ItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import {
  type DispatchedReaction,
  describeReaction,
  type FailedCheck,
  type Reaction,
  type ReactionEnd,
  type ReactionResult,
  type ReviewRequest,
  reactBranch,
  reactionKey,
} from '../../core/reaction.ts';
import { cutMiddle } from '../../core/reason.ts';
import { reactionAnswer, reactionSummary } from '../../documents/post/reaction-answer.ts';
import {
  answeredIn,
  answerMarker,
  type Check,
  type Forge,
  type OpenRequest,
  type Posted,
  type Review,
} from '../../forge/port.ts';
import { deleteBranch, isAncestor, moveBranchForward } from '../../git/branches.ts';
import type { Git } from '../../git/git.ts';
import { fetchBranches } from '../../git/push.ts';
import { deleteDatabase } from '../../journal/database-files.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import { outsideLine, outsideText } from '../../source/remote-issue.ts';
import type { Project } from '../project.ts';
import { headerFor, type Posting, postOnce, postsFile, pushOnce, REMOTE, STEPS } from './posts.ts';

/** A pull request as it is looked at; what a list says of it spares requests. */
export type LookedAt = Pick<OpenRequest, 'number' | 'url' | 'branch' | 'head' | 'base' | 'baseHead'> &
  Partial<Pick<OpenRequest, 'checks' | 'remarks'>>;

const MOST_REMARK = 8_000;
const MOST_EARLIER = 5;
const MOST_EARLIER_CHARS = 1_500;
const MOST_CHECKS = 5;

/** What happened to a pull request that could be reacted to. All its words are from outside. `mayFetch`: false writes nothing. */
export async function lookAt(
  project: Project,
  forge: Forge,
  request: LookedAt,
  mayFetch: boolean,
): Promise<Omit<Reaction, 'cycle'>> {
  const { number, url, branch, head, base } = request;
  const { react } = project.config.remote.pr;
  const commit = request.baseHead ?? (await forge.branchHead(base)) ?? '';
  const mayFail = request.checks === undefined || request.checks === null || request.checks === 'failed';
  const isBaseMoved =
    react.includes('base') &&
    commit !== '' &&
    (await hasMoved(project, forge, { branch, head, base, commit }, mayFetch));
  const checks = react.includes('checks') && mayFail ? await failedChecks(project, forge, head, base) : [];
  const mayAsk = react.includes('reviews') && request.remarks !== 0;
  const reviews = mayAsk ? requestsIn(project, await forge.reviews(number)) : [];
  return { number, url, branch, head, base: { branch: base, commit }, isBaseMoved, checks, reviews };
}

/** Commits that are not here yet are new: in a dry run that has to do. */
async function hasMoved(
  project: Project,
  forge: Forge,
  { branch, head, base, commit }: { branch: string; head: string; base: string; commit: string },
  mayFetch: boolean,
): Promise<boolean> {
  const { git } = project;
  if (mayFetch && !(await areHere(git, [commit, head]))) await fetchFrom(project, forge, [branch, base]);
  return (await areHere(git, [commit])) ? !(await isAncestor(git, commit, head)) : true;
}

async function fetchFrom(project: Project, forge: Forge, branches: readonly string[]): Promise<void> {
  const { git, childEnv: env } = project;
  await fetchBranches(git, { remote: REMOTE, branches, header: await headerFor(project, forge), env });
}

async function areHere(git: Git, commits: readonly string[]): Promise<boolean> {
  const looks = commits.map((commit) => git.run(['cat-file', '-e', `${commit}^{commit}`]));
  return (await Promise.allSettled(looks)).every(({ status }) => status === 'fulfilled');
}

/** Those that are required; where the repository requires none, all. */
async function failedChecks({ mask }: Project, forge: Forge, head: string, base: string): Promise<FailedCheck[]> {
  const all = await forge.checks(head, base);
  const failed = all.filter(({ state }) => state === 'failed');
  const binding = all.some(({ isRequired }) => isRequired) ? failed.filter(({ isRequired }) => isRequired) : failed;
  return Promise.all(
    binding.slice(0, MOST_CHECKS).map(async (check: Check) => ({
      name: mask(outsideLine(check.name)),
      url: check.url,
      log: mask(outsideText(failingPart(await forge.failureLog(check)))),
    })),
  );
}

/** What trusted people ask for and was not answered: at a line, or of the whole unless they approved it since. */
function requestsIn({ mask }: Project, reviews: readonly Review[]): ReviewRequest[] {
  const byTime = reviews.toSorted((a, b) => a.at.localeCompare(b.at));
  const shown = (text: string, most: number): string => mask(cutMiddle(outsideText(text), most));
  const answered = new Set(reviews.filter(({ isOwn }) => isOwn).flatMap(({ body }) => answeredIn(body)));
  const isSettled = ({ id, by, line, at }: Review): boolean =>
    answered.has(id) ||
    (line === null && byTime.some((one) => one.at > at && one.by === by && one.verdict === 'approved'));
  return byTime
    .filter(({ isTrusted, isOwn, isResolved, verdict }) => isTrusted && !isOwn && !isResolved && verdict !== 'approved')
    .filter((review) => outsideText(review.body) !== '' && !isSettled(review))
    .map((review) => {
      const { id, thread, by, body, line, at } = review;
      const before = byTime.filter((one) => thread !== null && one.thread === thread && one.at < at && one.isTrusted);
      return {
        id,
        thread,
        by: outsideLine(by),
        body: shown(body, MOST_REMARK),
        path: line?.path ?? null,
        line: line?.line ?? null,
        earlier: before.slice(-MOST_EARLIER).map((one) => shown(one.body, MOST_EARLIER_CHARS)),
      };
    });
}

/** The reactions to the pull request of an item, oldest first, and how they ended. Looks, and writes nothing. */
export function dispatchedFor({ paths }: Pick<Project, 'paths'>, id: ItemId, number: number): DispatchedReaction[] {
  const finished = inspectJournal(postsFile(paths, id))?.finished ?? [];
  const named = (step: string): unknown[] =>
    finished.filter(({ name }) => name === step).map(({ result }) => parseJson(result));
  const ends = new Map(named(STEPS.reactionEnd).map((end) => [(end as ReactionEnd).key, end as ReactionEnd]));
  // Our own journal: what is in it we wrote.
  const all = named(STEPS.reaction).map((one) => one as Reaction);
  return all.filter((one) => one.number === number).map((one) => ({ ...one, end: ends.get(reactionKey(one)) ?? null }));
}

/** One that was dispatched and pushed, and not answered or recorded any more: the pull request is at what it made. */
export function pushedReaction(
  { paths }: Pick<Project, 'paths'>,
  id: ItemId,
  head: string,
  given: readonly DispatchedReaction[],
): Reaction | null {
  const open = given.findLast(({ end }) => end === null);
  const steps = inspectJournal(paths.checkpoint('react', id))?.finished ?? [];
  const made = steps.findLast(({ name }) => name === 'commit-reaction');
  const { commit } = (parseJson(made?.result ?? '') ?? {}) as { commit?: unknown };
  if (open === undefined || commit !== head) return null;
  const { end: _, ...reaction } = open;
  return reaction;
}

/** Marks a reaction as dispatched, gives up those that it replaces, and brings the commits here that its worker needs. */
export async function dispatch(project: Project, id: ItemId, reaction: Reaction): Promise<void> {
  const { paths, git, hosts } = project;
  const key = reactionKey(reaction);
  for (const given of dispatchedFor(project, id, reaction.number))
    if (given.end === null && reactionKey(given) !== key) await giveUp(project, id, given);
  const { head, base, branch, number } = reaction;
  const commits = [head, base.commit];
  if (!(await areHere(git, commits))) await fetchFrom(project, await hosts.forge(), [branch, base.branch]);
  if (!(await areHere(git, commits)))
    throw new AgentosError({ code: 'pull-request-moved', number, branch }, { retry: 'transient' });
  await postOnce(paths, id, { name: STEPS.reaction, inputs: { key } }, async () => reaction);
}

/** One that was dispatched, and that something else is asked instead of now. */
async function giveUp(project: Project, id: ItemId, given: Reaction): Promise<void> {
  const steps = inspectJournal(project.paths.checkpoint('react', id))?.finished ?? [];
  const wrote = steps.some(({ name }) => /^react-\d+$/.test(name));
  await recordEnd(project, id, { key: reactionKey(given), commit: null, wrote, dropped: false });
}

async function recordEnd({ paths }: Project, id: ItemId, end: ReactionEnd): Promise<void> {
  await postOnce(paths, id, { name: STEPS.reactionEnd, inputs: { key: end.key } }, async () => end);
}

/**
 * Pushes what a reaction made, reports its evidence, answers what it was about, and records that it ended. Each is a step that
 * is carried out once; the checkpoint of the reaction stays until all of them are.
 */
export async function finishReaction(posting: Posting, reaction: Reaction, result: ReactionResult): Promise<void> {
  const { project, id, say } = posting;
  const { paths, git, hosts } = project;
  const { commit, evidence, wrote, dropped } = result;
  const { branch, head, url } = reaction;
  const forge = await hosts.forge();
  if (commit !== null) {
    // On top of what the pull request was at, and of nothing else.
    await pushOnce(posting, id, forge, { branch, commit });
    await moveBranchForward(git, branch, { from: head, to: commit });
    say(`pushed ${commit.slice(0, 12)} to ${url}`);
    if (evidence !== null)
      await postOnce(paths, id, { name: STEPS.evidence, inputs: { commit } }, () =>
        forge.setEvidence(commit, { ...evidence, url }),
      );
  }
  if (!dropped) await answer(posting, forge, reaction, result);
  await recordEnd(project, id, { key: reactionKey(reaction), commit, wrote, dropped });
  deleteDatabase(paths.checkpoint('react', id));
  await deleteBranch(git, reactBranch(id)).catch(() => undefined);
}

/** One answer in each thread, and one on the pull request for all that has no thread. */
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
      { name: STEPS.answer, inputs: { key, thread } },
      () => forge.reply(number, thread, mask(text(marker))),
      () => forge.findReply(number, thread, marker),
    );
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
