import { sha256 } from './hash.ts';
import { oneLine } from './lines.ts';

/** What happens to a pull request and is reacted to. */
export const REACT_KINDS = ['checks', 'reviews', 'base'] as const;
export type ReactKind = (typeof REACT_KINDS)[number];

/** Reactions that have the implementer change something before a person is asked whether there should be more. */
export const MOST_CYCLES = 5;

/** A check of CI that failed. */
export interface FailedCheck {
  name: string;
  url: string | null;
  /** What it says, cut to what failed. Text from outside. */
  log: string;
}

/** What a person with a say in the repository asks for. Its words are text from outside. */
export interface ReviewRequest {
  id: string;
  /** Where an answer goes; null: to the pull request as a whole. */
  thread: string | null;
  by: string;
  body: string;
  /** The place in the change that it is about; null: the change as a whole. */
  path: string | null;
  line: number | null;
  /** What was said before it in the same thread, oldest first. */
  earlier: readonly string[];
}

/** What is asked of a pull request at one commit. As it is noted when it is dispatched, and as the worker gets it. */
export interface Reaction {
  number: number;
  url: string;
  branch: string;
  /** The commit that the pull request is at. */
  head: string;
  base: { branch: string; commit: string };
  /** The base has commits that the branch does not have: they are merged into it. */
  isBaseMoved: boolean;
  checks: readonly FailedCheck[];
  reviews: readonly ReviewRequest[];
  /** Counted from 1 over the reactions to this pull request that had something changed. */
  cycle: number;
}

/** A reaction that was dispatched, and how it ended. */
export interface DispatchedReaction extends Reaction {
  /** Null: it has not. */
  end: ReactionEnd | null;
}

export interface ReactionEnd {
  key: string;
  /** What was pushed; null: nothing was. */
  commit: string | null;
  /** The implementer was called, so that it counts as a cycle. */
  wrote: boolean;
  /** A person decided that nothing more is to be done about this pull request. */
  dropped: boolean;
}

/** What a worker made of a reaction, for its parent to push and to answer with. */
export interface ReactionResult extends Omit<ReactionEnd, 'key'> {
  /** By the ids of the requests, as the implementer answered them. Words of a model. */
  answers: Readonly<Record<string, string>>;
  /** Files that the commit changes beside the merge of the base. */
  files: readonly string[];
  /** Of the gates, on the commit. */
  evidence: { passed: boolean; summary: string; details: string } | null;
}

type Found = Omit<Reaction, 'cycle'>;
type Asked = Pick<Reaction, 'isBaseMoved' | 'checks' | 'reviews'>;

/** The same for the same pull request, commit, kinds and things that are asked: it is dispatched once. */
export function reactionKey({ number, head, base, isBaseMoved, ...asked }: Found): string {
  return sha256(JSON.stringify([number, head, isBaseMoved ? base.commit : null, askedIn(asked)])).slice(0, 16);
}

function askedIn({ checks, reviews }: Pick<Asked, 'checks' | 'reviews'>): string {
  return JSON.stringify([checks.map(({ name }) => name).toSorted(), reviews.map(({ id }) => id).toSorted()]);
}

export function asksNothing({ isBaseMoved, checks, reviews }: Asked): boolean {
  return !isBaseMoved && checks.length === 0 && reviews.length === 0;
}

/** Without what an earlier reaction was about: a check and a moved base for the same commit, a remark for good. */
export function withoutKnown<T extends Found>(found: T, earlier: readonly Reaction[]): T {
  const { head, base, isBaseMoved, checks, reviews } = found;
  const here = earlier.filter((one) => one.head === head);
  const names = new Set(here.flatMap((one) => one.checks.map(({ name }) => name)));
  const remarks = new Set(earlier.flatMap((one) => one.reviews.map(({ id }) => id)));
  return {
    ...found,
    isBaseMoved: isBaseMoved && !here.some((one) => one.isBaseMoved && one.base.commit === base.commit),
    checks: checks.filter(({ name }) => !names.has(name)),
    reviews: reviews.filter(({ id }) => !remarks.has(id)),
  };
}

/**
 * What is to be done now about what was found. One that was dispatched and has not ended is resumed as it was, as long as
 * the pull request is at the same commit and asks for the same: what was paid for it is of use. A base that moved again
 * can wait then. Otherwise it is given up for what is asked now.
 */
export function nextReaction(found: Found, earlier: readonly DispatchedReaction[]): Reaction | null {
  const given = earlier.findLast(({ end }) => end === null);
  const now = withoutKnown(
    found,
    earlier.filter((one) => one !== given),
  );
  if (given !== undefined && given.head === now.head && askedIn(given) === askedIn(now)) {
    const isBaseAlone = given.checks.length + given.reviews.length === 0;
    if (!isBaseAlone || (now.isBaseMoved && now.base.commit === given.base.commit)) {
      const { end: _, ...same } = given;
      return same;
    }
  }
  return asksNothing(now) ? null : { ...now, cycle: nextCycle(earlier.filter((one) => one !== given)) };
}

/** The number of the next cycle: a merge of the base that changed nothing else does not count. */
export function nextCycle(earlier: readonly DispatchedReaction[]): number {
  return 1 + earlier.filter(({ end }) => end === null || end.wrote).length;
}

/** Before it a person is asked whether there should be more of them. */
export function needsConsent({ cycle }: Pick<Reaction, 'cycle'>): boolean {
  return cycle > MOST_CYCLES && (cycle - 1) % MOST_CYCLES === 0;
}

/** For people: `check build failed, 2 remarks of mia, main has moved`. */
export function describeReaction({ base, isBaseMoved, checks, reviews }: Asked & Pick<Reaction, 'base'>): string {
  const names = checks.map(({ name }) => name).join(', ');
  const people = [...new Set(reviews.map(({ by }) => by))].join(', ');
  const parts = [
    ...(checks.length === 0 ? [] : [`${checks.length === 1 ? 'check' : 'checks'} ${names} failed`]),
    ...(reviews.length === 0 ? [] : [`${reviews.length} ${reviews.length === 1 ? 'remark' : 'remarks'} of ${people}`]),
    ...(isBaseMoved ? [`${base.branch} has moved`] : []),
  ];
  return oneLine(parts.join(', '));
}

const REACTING = 'agentos/reacting-';

/** The branch of the worktree of a reaction: the pull request's own is moved when its commit is pushed. */
export function reactBranch(id: string): string {
  return `${REACTING}${id}`;
}

/** The item whose reaction may have this branch; null: none has. */
export function idReactedTo(branch: string): string | null {
  return branch.startsWith(REACTING) ? branch.slice(REACTING.length) : null;
}
