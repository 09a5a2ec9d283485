import { posix } from 'node:path';
import type { PlannedGroup } from './plan.ts';

/** A design as far as its place among the others goes. */
export interface Scheduled {
  id: string;
  /** The files and folders that it changes. */
  files: readonly string[];
  /** Ids that it depends on; ids of other items are ignored. */
  after: readonly string[];
}

export interface Schedule {
  /** Dependencies first, otherwise as given. */
  order: string[];
  /** Items that touch each other, by a file or by a dependency; an item that touches no other is in none. */
  groups: PlannedGroup[];
  /** Items that depend on each other, in the given order; the first one goes first. */
  cycles: string[][];
  /** For each item the paths that it shares with another; two that have one in common can't be worked on at once. */
  shared: Map<string, string[]>;
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
): PlannedGroup[] {
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

/** Something that comes after others. */
export interface Dependent {
  id: string;
  /** Ids of those that come first; ids of other items, and the item's own, are ignored. */
  after: readonly string[];
}

interface WithoutCycles {
  /** For each item what it comes after, without what would close a cycle and without itself. */
  after: Map<string, string[]>;
  /** Items that come after each other, in the given order. */
  cycles: string[][];
}

/** Breaks each cycle at its first item in the given order: that one does not wait for the others. */
export function withoutCycles(items: readonly Dependent[]): WithoutCycles {
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
    // The rest may hold a smaller cycle that does not pass through the first.
    knots.push(...knotsIn(rest, after).map(inOrder));
  }
  return { after, cycles: cycles.toSorted((a, b) => (place.get(a[0] ?? '') ?? 0) - (place.get(b[0] ?? '') ?? 0)) };
}

interface Visit {
  id: string;
  number: number;
  /** The lowest number that can be reached from it among those whose knot is still open. */
  lowest: number;
  /** How many of its edges were followed. */
  followed: number;
}

/** Sets of two or more of these ids that all lead to each other (Tarjan, with a stack of its own: chains may be long). */
function knotsIn(ids: readonly string[], after: ReadonlyMap<string, readonly string[]>): string[][] {
  const among = new Set(ids);
  const seen = new Map<string, Visit>();
  const isOpen = new Set<string>();
  const open: string[] = [];
  const knots: string[][] = [];

  const enter = (id: string): Visit => {
    const visit = { id, number: seen.size, lowest: seen.size, followed: 0 };
    seen.set(id, visit);
    open.push(id);
    isOpen.add(id);
    return visit;
  };
  const close = ({ id }: Visit): void => {
    const knot = open.splice(open.lastIndexOf(id));
    for (const member of knot) isOpen.delete(member);
    if (knot.length > 1) knots.push(knot);
  };

  for (const start of ids) {
    const path = seen.has(start) ? [] : [enter(start)];
    for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
      const next = after.get(visit.id)?.[visit.followed];
      visit.followed += 1;
      if (next === undefined) {
        path.pop();
        const parent = path.at(-1);
        if (parent) parent.lowest = Math.min(parent.lowest, visit.lowest);
        if (visit.lowest === visit.number) close(visit);
      } else if (among.has(next)) {
        const known = seen.get(next);
        if (known === undefined) path.push(enter(next));
        else if (isOpen.has(next)) visit.lowest = Math.min(visit.lowest, known.number);
      }
    }
  }
  return knots;
}
