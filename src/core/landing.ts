import type { ErrorRecord } from './errors.ts';
import type { ItemStatus } from './item.ts';
import { scheduleOf, withoutCycles } from './schedule.ts';

/** A finished branch of a landing. */
export interface LandingBranch {
  /** The item that it implements. */
  id: string;
  title: string;
  branch: string;
  commit: string;
  /** The files that it changes since it left the base. */
  files: readonly string[];
  /** Ids of other branches that it builds on: it can't be in without them. */
  after: readonly string[];
}

/** Several finished branches that become one, on top of a base. The worker looks nothing up again. */
export interface Landing {
  /** The target branch, and the commit to start from. */
  onto: string;
  base: string;
  /** In the order in which they are merged. */
  branches: LandingBranch[];
  /** Ids that were asked for, but are already in the base. */
  merged: string[];
  /** The implementer resolves conflicts. */
  resolve: boolean;
}

/** The result for one branch. */
export interface LandedBranch {
  id: string;
  /** succeeded: it is in; discuss: a person has to decide; cancelled: it builds on one that is out. */
  status: Extract<ItemStatus, 'succeeded' | 'discuss' | 'failed' | 'cancelled'>;
  reason: string | null;
  error: ErrorRecord | null;
  /** The branch that contains it now, if it is in. */
  outputs: string[];
}

/** The parents of each commit that is not part of the base. */
export type CommitGraph = ReadonlyMap<string, readonly string[]>;

/** For each branch the others that it contains: it was started from them. */
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
    // Two branches at the same commit don't contain each other.
    found.set(
      id,
      branches.filter((other) => other.id !== id && below.has(other.commit)).map((other) => other.id),
    );
  }
  return found;
}

/** Dependencies first, otherwise in the given order. `after` then names only branches that come before. */
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

/** The first branch that this one builds on and that is out; null: none. */
export function missingBelow({ after }: Pick<LandingBranch, 'after'>, isIn: (id: string) => boolean): string | null {
  return after.find((id) => !isIn(id)) ?? null;
}

/**
 * Bisects: the first number of steps after which something is broken. It is known to be broken after `count` steps and good after 0.
 * Whatever the answers are, it was seen broken after the returned number of steps, and not one step earlier.
 */
export async function firstBroken(count: number, isGood: (steps: number) => Promise<boolean>): Promise<number> {
  let good = 0;
  let broken = count;
  while (broken - good > 1) {
    const middle = (good + broken) >> 1;
    if (await isGood(middle)) good = middle;
    else broken = middle;
  }
  return broken;
}
