import { sha256 } from './hash.ts';
import { oneLine } from './lines.ts';

/** What we react to. */
export const REACT_KINDS = ['checks', 'reviews', 'base'] as const;
export type ReactKind = (typeof REACT_KINDS)[number];

/** After this many reactions by the implementer, a person is asked whether to continue. */
export const MOST_CYCLES = 5;

/** A failed CI check. */
export interface FailedCheck {
  name: string;
  url: string | null;
  /** The failing part. Text from outside. */
  log: string;
}

/** A request of a trusted person. Its texts come from outside. */
export interface ReviewRequest {
  id: string;
  /** The thread for the answer; null: the pull request as a whole. */
  thread: string | null;
  by: string;
  body: string;
  /** The place that it is about; null: the whole change. */
  path: string | null;
  line: number | null;
  /** Earlier comments of the same thread, oldest first. */
  earlier: readonly string[];
}

/** What is to be done about a pull request at one commit. It is stored when it is dispatched, and sent to the worker. */
export interface Reaction {
  number: number;
  url: string;
  branch: string;
  /** The current commit of the pull request. */
  head: string;
  base: { branch: string; commit: string };
  /** The base has commits that are not in the branch; they are merged. */
  isBaseMoved: boolean;
  checks: readonly FailedCheck[];
  reviews: readonly ReviewRequest[];
  /** Counts the reactions to this pull request by the implementer, from 1. */
  cycle: number;
}

/** A reaction that was dispatched, and how it ended. */
export interface DispatchedReaction extends Reaction {
  /** Null: not ended. */
  end: ReactionEnd | null;
}

export interface ReactionEnd {
  key: string;
  /** The pushed commit; null: nothing was pushed. */
  commit: string | null;
  /** The implementer was called, so it counts as a cycle. */
  wrote: boolean;
  /** A person decided to do nothing more about this pull request. */
  dropped: boolean;
}

/** The result of a worker, for its parent to push and to answer with. */
export interface ReactionResult extends Omit<ReactionEnd, 'key'> {
  /** The implementer's answers, by the ids of the requests. Text of a model. */
  answers: Readonly<Record<string, string>>;
  /** Files that the commit changes, without the merge of the base. */
  files: readonly string[];
  /** Of the gates, on the commit. */
  evidence: { passed: boolean; summary: string; details: string } | null;
}

type Found = Omit<Reaction, 'cycle'>;
type Asked = Pick<Reaction, 'isBaseMoved' | 'checks' | 'reviews'>;

/** The same for the same pull request, commit and requests: each is dispatched once. */
export function reactionKey({ number, head, base, isBaseMoved, ...asked }: Found): string {
  return sha256(JSON.stringify([number, head, isBaseMoved ? base.commit : null, askedIn(asked)])).slice(0, 16);
}

function askedIn({ checks, reviews }: Pick<Asked, 'checks' | 'reviews'>): string {
  return JSON.stringify([checks.map(({ name }) => name).toSorted(), reviews.map(({ id }) => id).toSorted()]);
}

function asksNothing({ isBaseMoved, checks, reviews }: Asked): boolean {
  return !isBaseMoved && checks.length === 0 && reviews.length === 0;
}

/** Removes what an earlier reaction covered: checks and a moved base for the same commit, remarks forever. */
function withoutKnown<T extends Found>(found: T, earlier: readonly Reaction[]): T {
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
 * The next reaction; null: nothing to do. A dispatched reaction that has not ended is resumed unchanged if the pull request is at the
 * same commit with the same requests, so that nothing is paid again; a base that moved again can wait. Otherwise it is given up.
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

/** A merge of the base without other changes does not count. */
function nextCycle(earlier: readonly DispatchedReaction[]): number {
  return 1 + earlier.filter(({ end }) => end === null || end.wrote).length;
}

/** Whether a person is asked before this cycle. */
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

/** The branch of a reaction's worktree. The pull request's own branch moves when the commit is pushed. */
export function reactBranch(id: string): string {
  return `${REACTING}${id}`;
}

/** The item whose reaction uses this branch; null: none. */
export function idReactedTo(branch: string): string | null {
  return branch.startsWith(REACTING) ? branch.slice(REACTING.length) : null;
}
