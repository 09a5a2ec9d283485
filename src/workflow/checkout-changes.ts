import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bodyHash, readFrontMatter } from '../documents/lld/front-matter.ts';
import { DESIGN, nameOf, type OutsideKind, type OutsideView } from '../git/checkout-watch.ts';
import { isHolderAlive, readHolder } from '../process/lock-holder.ts';

export interface OutsideChanges {
  /** All of them, sorted. */
  files: string[];
  /** Those that fail the item. */
  faults: string[];
}

/** What was added, changed or deleted between two looks. */
export function changesOutside(before: OutsideView, after: OutsideView): OutsideChanges {
  const changed: string[] = [];
  const isUnstaged = (name: string): boolean => !before.kinds.has(name) && after.kinds.get(name) === 'untracked';
  for (const [name, signature] of before.entries)
    if (after.entries.get(name) !== signature || isUnstaged(name)) changed.push(name);
  for (const name of after.entries.keys()) if (!before.entries.has(name)) changed.push(name);
  const isBusy = createIsOfBusyItem(before, after);
  const files = changed.filter((name) => !isBusy(name) && !isOurDesign(name, after)).sort();
  return { files, faults: files.filter((name) => isFault(kindIn(before, name), kindIn(after, name))) };
}

/** Null: it is not there. */
function kindIn({ entries, kinds }: OutsideView, name: string): OutsideKind | null {
  return entries.has(name) ? (kinds.get(name) ?? 'tracked') : null;
}

function isFault(was: OutsideKind | null, is: OutsideKind | null): boolean {
  // A branch that is checked out now, or was.
  if (was === 'moved' || is === 'moved') return false;
  switch (is ?? was) {
    case 'untracked':
      return is !== null && (was === null || was === 'tracked');
    case 'git':
    case 'design':
    case 'ours':
      return true;
    case 'tracked':
    case 'ignored':
    case 'input':
    case null:
      return false;
  }
}

/** Somebody of ours was at the item at one of the looks, or in between. */
function createIsOfBusyItem(before: OutsideView, after: OutsideView): (name: string) => boolean {
  const items = new Set([...before.idle.keys(), ...after.idle.keys()]);
  const busy = [...items].filter((item) => before.idle.get(item) !== after.idle.get(item));
  const work = nameOf(after.repository, after.work);
  const starts = busy.flatMap((item) => [`${work}/worktrees/${item}/`, `${work}/homes/${item}/`]);
  return (name) => starts.some((start) => name.startsWith(start));
}

/** Written by a run for another item: it is being written now, or is whole and approved. */
function isOurDesign(name: string, { repository, base }: OutsideView): boolean {
  const id = DESIGN.exec(name)?.[1];
  if (id === undefined) return false;
  const holder = readHolder(join(base, 'locks', `lld-${id}.lock`));
  if (holder !== null && isHolderAlive(holder)) return true;
  try {
    const { fields, body } = readFrontMatter(readFileSync(join(repository, name), 'utf8'));
    return fields['bodyHash'] === bodyHash(body) && fields['status'] === 'approved';
  } catch {
    return false;
  }
}
