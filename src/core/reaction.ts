import { sha256 } from './hash.ts';

/** What happens to a pull request and is reacted to. */
export const REACT_KINDS = ['checks', 'reviews', 'base'] as const;
export type ReactKind = (typeof REACT_KINDS)[number];

/** Reactions that have the implementer change something before a person is asked whether there should be more. */
const MOST_CYCLES = 5;

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

type Asked = Pick<Reaction, 'isBaseMoved' | 'checks' | 'reviews'>;

/** The same for the same pull request, commit, kinds and things that are asked: it is dispatched once. */
export function reactionKey({ number, head, base, isBaseMoved, checks, reviews }: Omit<Reaction, 'cycle'>): string {
  const asked = [checks.map(({ name }) => name).toSorted(), reviews.map(({ id }) => id).toSorted()];
  return sha256(JSON.stringify([number, head, isBaseMoved ? base.commit : null, ...asked])).slice(0, 16);
}

export function asksNothing({ isBaseMoved, checks, reviews }: Asked): boolean {
  return !isBaseMoved && checks.length === 0 && reviews.length === 0;
}

/** Without what an earlier reaction was about: a check and a moved base for the same commit, a remark for good. */
export function withoutKnown<T extends Omit<Reaction, 'cycle'>>(found: T, earlier: readonly Reaction[]): T {
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

/** One that was given up, with what is asked besides since then. */
export function joinedReaction(given: Reaction, found: Omit<Reaction, 'cycle'>): Omit<Reaction, 'cycle'> {
  return {
    ...found,
    isBaseMoved: found.isBaseMoved || given.isBaseMoved,
    checks: [...given.checks, ...found.checks],
    reviews: [...given.reviews, ...found.reviews],
  };
}

/** The number of the next cycle: a base that was merged without a change to anything else is none. */
export function nextCycle(earlier: readonly DispatchedReaction[]): number {
  return 1 + earlier.filter(({ end }) => end === null || end.wrote).length;
}

/** Before it a person is asked whether there should be more of them. */
export function needsConsent({ cycle }: Pick<Reaction, 'cycle'>): boolean {
  return cycle > MOST_CYCLES && (cycle - 1) % MOST_CYCLES === 0;
}

/** For people: `check build failed, mia asks for changes, main has moved`. */
export function describeReaction({ base, isBaseMoved, checks, reviews }: Asked & Pick<Reaction, 'base'>): string {
  const names = checks.map(({ name }) => name).join(', ');
  const people = [...new Set(reviews.map(({ by }) => by))].join(', ');
  const parts = [
    ...(checks.length === 0 ? [] : [`${checks.length === 1 ? 'check' : 'checks'} ${names} failed`]),
    ...(reviews.length === 0 ? [] : [`${reviews.length} remark(s) of ${people}`]),
    ...(isBaseMoved ? [`${base.branch} has moved`] : []),
  ];
  return parts.join(', ');
}
