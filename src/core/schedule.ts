import { posix } from 'node:path';
import type { PlannedGroup } from './plan.ts';

/** What the schedule needs to know about a design. */
export interface Scheduled {
  id: string;
  /** Files and folders that it changes. */
  files: readonly string[];
  /** Ids that it depends on; unknown ids and its own id are ignored. */
  after: readonly string[];
}

export interface Schedule {
  /** Dependencies first, otherwise in the given order. */
  order: string[];
  /** Items that are connected by a file or a dependency; an item without connections is in no group. */
  groups: PlannedGroup[];
  /** Items that depend on each other, in the given order; the first one runs first. */
  cycles: string[][];
  /** For each item the paths that it shares with others; two items that share a path can't run at the same time. */
  shared: Map<string, string[]>;
}

/**
 * Two items share a path if both name it, or if one names a folder above a path of the other. Then two files in such a folder also
 * count as shared: items that change a whole folder are rare, so being careful costs little.
 */
export function scheduleOf(items: readonly Scheduled[]): Schedule {
  const { after, cycles } = withoutCycles(items);
  const order = orderOf(
    items.map(({ id }) => id),
    after,
  );
  const users = usersOf(items);
  return { order, groups: groupsOf(items, order, users), cycles, shared: sharedBy(users) };
}

function sharedBy(users: ReadonlyMap<string, ReadonlySet<string>>): Map<string, string[]> {
  const shared = new Map<string, string[]>();
  for (const [path, ids] of users) {
    for (const id of ids) {
      const paths = shared.get(id);
      if (paths) paths.push(path);
      else shared.set(id, [path]);
    }
  }
  for (const paths of shared.values()) paths.sort();
  return shared;
}

/** Dependencies first, otherwise in the given order. Ids in a cycle, and those that depend on one, are left out. */
function orderOf(ids: readonly string[], after: ReadonlyMap<string, readonly string[]>): string[] {
  const place = new Map(ids.map((id, index) => [id, index]));
  const missing = ids.map(() => 0);
  const followers: number[][] = ids.map(() => []);
  ids.forEach((id, index) => {
    for (const other of new Set(after.get(id))) {
      const first = place.get(other);
      if (first === undefined) continue;
      followers[first]?.push(index);
      missing[index] = (missing[index] ?? 0) + 1;
    }
  });
  // The first in the given order comes last, where it is cheap to remove.
  const ready = [...ids.keys()].filter((index) => missing[index] === 0).toReversed();
  const order: string[] = [];
  for (let index = ready.pop(); index !== undefined; index = ready.pop()) {
    order.push(ids[index] ?? '');
    for (const follower of followers[index] ?? []) {
      missing[follower] = (missing[follower] ?? 0) - 1;
      if (missing[follower] === 0) ready.splice(placeIn(ready, follower), 0, follower);
    }
  }
  return order;
}

function placeIn(descending: readonly number[], value: number): number {
  let low = 0;
  let high = descending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((descending[middle] ?? 0) > value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Each path that two or more items change, with their ids. */
function usersOf(items: readonly Scheduled[]): Map<string, Set<string>> {
  const users = new Map<string, Set<string>>();
  const paths = items.map(({ id, files }) => {
    const own = [...new Set(files.map(normalised))].filter((path) => path !== '.');
    for (const path of own) users.set(path, (users.get(path) ?? new Set()).add(id));
    return { id, own };
  });
  for (const { id, own } of paths) {
    for (const path of own) for (const folder of foldersAbove(path)) users.get(folder)?.add(id);
  }
  return new Map([...users].filter(([, ids]) => ids.size > 1));
}

/** `src/**` is the folder `src`. */
function normalised(path: string): string {
  return posix.normalize(path.trim().replace(/(?:^|\/)\*{1,2}$/, '')).replace(/(?<=.)\/+$/, '');
}

function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) folders.push(path.slice(0, end));
  return folders;
}

function groupsOf(
  items: readonly Scheduled[],
  order: readonly string[],
  users: ReadonlyMap<string, ReadonlySet<string>>,
): PlannedGroup[] {
  const parents = new Map(items.map(({ id }) => [id, id]));
  const rootOf = (id: string): string => {
    let root = id;
    for (let above = parents.get(root); above !== undefined && above !== root; above = parents.get(root)) {
      // Shortens the path for the next look-up.
      parents.set(root, parents.get(above) ?? above);
      root = above;
    }
    return root;
  };
  const join = (ids: Iterable<string>): void => {
    let root: string | null = null;
    for (const id of ids) {
      if (root === null) root = rootOf(id);
      else parents.set(rootOf(id), root);
    }
  };
  for (const { id, after } of items) join([id, ...after.filter((other) => parents.has(other))]);
  for (const ids of users.values()) join(ids);

  const groups = new Map<string, PlannedGroup>();
  for (const id of order) {
    const root = rootOf(id);
    const group = groups.get(root) ?? { ids: [], files: [] };
    groups.set(root, group);
    group.ids.push(id);
  }
  for (const [path, [user = '']] of users) groups.get(rootOf(user))?.files.push(path);
  return [...groups.values()]
    .filter(({ ids }) => ids.length > 1)
    .map(({ ids, files }) => ({ ids, files: files.toSorted() }));
}

interface WithoutCycles {
  /** For each item the ids that it comes after, without its own id and without those that close a cycle. */
  after: Map<string, string[]>;
  /** Items that depend on each other, in the given order. */
  cycles: string[][];
}

/** Breaks each cycle at its first item in the given order: it does not wait for the others. */
export function withoutCycles(items: readonly Pick<Scheduled, 'id' | 'after'>[]): WithoutCycles {
  const after = new Map(items.map(({ id, after: others }) => [id, others.filter((other) => other !== id)]));
  const all = items.map(({ id }) => id);
  const place = new Map(all.map((id, index) => [id, index]));
  const inOrder = (ids: string[]): string[] => ids.toSorted((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0));

  const cycles = knotsIn(all, after).map(inOrder);
  const knots = [...cycles];
  for (let knot = knots.pop(); knot !== undefined; knot = knots.pop()) {
    const [first = '', ...rest] = knot;
    const others = new Set(rest);
    after.set(
      first,
      (after.get(first) ?? []).filter((id) => !others.has(id)),
    );
    // The rest may contain a smaller cycle without the first item.
    knots.push(...knotsIn(rest, after).map(inOrder));
  }
  return { after, cycles: cycles.toSorted((a, b) => (place.get(a[0] ?? '') ?? 0) - (place.get(b[0] ?? '') ?? 0)) };
}

/** Sets of two or more of these ids that all depend on each other. */
function knotsIn(ids: readonly string[], after: ReadonlyMap<string, readonly string[]>): string[][] {
  const free = new Set(orderOf(ids, after));
  const tangled = new Set(ids.filter((id) => !free.has(id)));
  const followers = new Map<string, string[]>([...tangled].map((id) => [id, []]));
  for (const id of tangled) for (const other of after.get(id) ?? []) followers.get(other)?.push(id);
  const reachable = (start: string, edges: ReadonlyMap<string, readonly string[]>): Set<string> => {
    const found = new Set([start]);
    // Grows while we iterate over it.
    for (const id of found) for (const next of edges.get(id) ?? []) if (tangled.has(next)) found.add(next);
    return found;
  };

  const knots: string[][] = [];
  const seen = new Set<string>();
  for (const id of tangled) {
    if (seen.has(id)) continue;
    const dependents = reachable(id, followers);
    const knot = [...reachable(id, after)].filter((other) => dependents.has(other));
    for (const member of knot) seen.add(member);
    if (knot.length > 1) knots.push(knot);
  }
  return knots;
}
