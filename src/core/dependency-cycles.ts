/** Something that comes after others. */
export interface Dependent {
  id: string;
  /** Ids of those that come first; what is none of the items, or the item itself, means nothing here. */
  after: readonly string[];
}

export interface WithoutCycles {
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
