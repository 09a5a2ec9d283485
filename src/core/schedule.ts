import { posix } from 'node:path';
import { withoutCycles } from './dependency-cycles.ts';

/** A design as far as its place among the others goes. */
export interface Scheduled {
  id: string;
  /** The files and folders that it changes. */
  files: readonly string[];
  /** Ids that it depends on; what is none of the items is ignored. */
  after: readonly string[];
}

export interface Schedule {
  /** Dependencies first, otherwise as given. */
  order: string[];
  /** Items that touch each other, by a file or by a dependency; an item that touches no other is in none. */
  groups: ScheduledGroup[];
  /** Items that depend on each other, in the given order; the first one goes first. */
  cycles: string[][];
  /** For each item the paths that it shares with another; two that have one in common can't be worked on at once. */
  shared: Map<string, string[]>;
}

export interface ScheduledGroup {
  /** In the schedule's order. */
  ids: string[];
  /** What at least two of them change, sorted. */
  files: string[];
}

/**
 * Paths are the same when they are equal, and one inside a folder that another item names shares that folder. So two
 * files of such a folder keep apart too: who changes a folder as a whole is rare, and being careful then costs little.
 */
export function scheduleOf(items: readonly Scheduled[]): Schedule {
  const { after, cycles } = withoutCycles(items);
  const order = orderOf(items, after);
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

/** Of those whose dependencies are all placed, always the first in the given order. */
function orderOf(items: readonly Scheduled[], after: ReadonlyMap<string, readonly string[]>): string[] {
  const place = new Map(items.map(({ id }, index) => [id, index]));
  const missing = items.map(() => 0);
  const followers: number[][] = items.map(() => []);
  items.forEach(({ id }, index) => {
    for (const other of new Set(after.get(id))) {
      const first = place.get(other);
      if (first === undefined) continue;
      followers[first]?.push(index);
      missing[index] = (missing[index] ?? 0) + 1;
    }
  });
  // The first in the given order is at the end, where it is cheap to take.
  const ready = [...items.keys()].filter((index) => missing[index] === 0).toReversed();
  const order: string[] = [];
  for (let index = ready.pop(); index !== undefined; index = ready.pop()) {
    order.push(items[index]?.id ?? '');
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

/** Each path that two or more items change, with these items. */
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
): ScheduledGroup[] {
  const parents = new Map(items.map(({ id }) => [id, id]));
  const rootOf = (id: string): string => {
    let root = id;
    for (let above = parents.get(root); above !== undefined && above !== root; above = parents.get(root)) {
      // Halves the way for the next look-up.
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

  const groups = new Map<string, ScheduledGroup>();
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
