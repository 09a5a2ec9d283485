import type { ErrorRecord } from './errors.ts';
import type { ItemStatus } from './item.ts';
import { scheduleOf, withoutCycles } from './schedule.ts';

/** A finished branch that is to become part of a landing. */
export interface LandingBranch {
  /** Of the item that it implements. */
  id: string;
  title: string;
  branch: string;
  commit: string;
  /** What it changes, relative to where it left the base. */
  files: readonly string[];
  /** Ids of others of the landing that it builds on: it can't be in without them. */
  after: readonly string[];
}

/** Several finished branches that become one, on top of a base. As the worker gets it: nothing is looked up again. */
export interface Landing {
  /** The branch that it is meant for, and the commit to begin at. */
  onto: string;
  base: string;
  /** In the order in which they are merged. */
  branches: LandingBranch[];
  /** Ids of those that were asked for, and that the base contains already. */
  merged: string[];
  /** Conflicts go to the implementer. */
  resolve: boolean;
}

/** What became of one of them. */
export interface LandedBranch {
  id: string;
  /** succeeded: it is in; discuss: a person has to settle something; cancelled: it builds on one that is out. */
  status: Extract<ItemStatus, 'succeeded' | 'discuss' | 'failed' | 'cancelled'>;
  /** Why it is out, or how it came in. */
  reason: string | null;
  error: ErrorRecord | null;
  /** The branch that it is part of now, if it is. */
  outputs: string[];
}

/** Commits by their parents, as far as they are not part of the base. */
export type CommitGraph = ReadonlyMap<string, readonly string[]>;

/** For each branch the others whose end it contains: it was begun at them. */
export function stackedOn(
  branches: readonly Pick<LandingBranch, 'id' | 'commit'>[],
  graph: CommitGraph,
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { id, commit } of branches) {
    const below = new Set<string>();
    const open = [...(graph.get(commit) ?? [])];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (below.has(at)) continue;
      below.add(at);
      open.push(...(graph.get(at) ?? []));
    }
    // Two branches with the same end are one below the other, and not both ways.
    found.set(
      id,
      branches.filter((other) => other.id !== id && below.has(other.commit)).map((other) => other.id),
    );
  }
  return found;
}

/** What is built on comes first, otherwise they stay as given; `after` then names only what comes before it. */
export function landingOrder(branches: readonly LandingBranch[]): LandingBranch[] {
  const known = new Set(branches.map(({ id }) => id));
  const { after } = withoutCycles(branches);
  const byId = new Map(branches.map((branch) => [branch.id, branch]));
  return scheduleOf(branches).order.flatMap((id) => {
    const branch = byId.get(id);
    const others = [...new Set(after.get(id))].filter((other) => known.has(other));
    return branch === undefined ? [] : [{ ...branch, after: others }];
  });
}

/** The first of these that is out, and that a branch builds on. */
export function missingBelow({ after }: Pick<LandingBranch, 'after'>, isIn: (id: string) => boolean): string | null {
  return after.find((id) => !isIn(id)) ?? null;
}

/**
 * The number of steps after which something is broken for the first time. After `count` steps it is known to be broken,
 * after 0 it is well. Halves the range with every question. Whatever the answers are: after the number that is returned it
 * was seen to be broken, and one step earlier it was not.
 */
export async function firstBroken(count: number, isWell: (steps: number) => Promise<boolean>): Promise<number> {
  let well = 0;
  let broken = count;
  while (broken - well > 1) {
    const middle = (well + broken) >> 1;
    if (await isWell(middle)) well = middle;
    else broken = middle;
  }
  return broken;
}
