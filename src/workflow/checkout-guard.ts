import { AgentosError } from '../core/errors.ts';
import { nameOf, type OutsideKind, type OutsideView } from '../git/checkout-watch.ts';
import { itemsWorkedOn } from './worked-on.ts';

/** Detects changes outside the worktree while something runs in it. */
export interface CheckoutGuard {
  /** Looks first, then runs the work. The next check finds what it changed: a look at a large checkout is not free. */
  before<T>(work: () => Promise<T>): Promise<T>;
  /** Looks now, if something ran that was not checked. Rejects with `changed-outside`. */
  check(): Promise<void>;
  /**
   * Runs a step with such work in it, then checks, however the step ended. After the step and not in it: what was paid
   * for is stored, whatever else is found.
   */
  checked<T>(step: () => Promise<T>): Promise<T>;
}

export interface CheckoutGuardOptions {
  /** Throws where something else wrote to what is ours alone: the item's journal. */
  verify: () => void;
  look: () => Promise<OutsideView>;
  /** Where its work is kept; null: it has none. */
  worktree: string | null;
  /** Called with changes that are not a fault, each file once. */
  onChanged: (files: string[]) => void;
}

/** For programs that run in a sandbox: they can't change anything outside. */
export const NO_GUARD: CheckoutGuard = {
  before: (work) => work(),
  check: () => Promise.resolve(),
  checked: (step) => step(),
};

/** A look that is not older than this still holds. */
const FRESH_MS = 5_000;

export function createCheckoutGuard({ verify, look, worktree, onChanged }: CheckoutGuardOptions): CheckoutGuard {
  let last: { view: OutsideView; atMs: number } | null = null;
  let isUnchecked = false;
  const reported = new Set<string>();

  const report = (files: readonly string[]): void => {
    const fresh = files.filter((file) => !reported.has(file));
    for (const file of fresh) reported.add(file);
    if (fresh.length > 0) onChanged(fresh);
  };
  const check = async (): Promise<void> => {
    if (!isUnchecked || last === null) return;
    verify();
    const before = last.view;
    const view = await look();
    last = { view, atMs: performance.now() };
    isUnchecked = false;
    const { files, faults } = changesOutside(before, view);
    if (faults.length > 0) throw new AgentosError({ code: 'changed-outside', files, worktree });
    report(files);
  };

  return {
    check,
    async before(work) {
      verify();
      if (last === null || (!isUnchecked && performance.now() - last.atMs > FRESH_MS)) {
        last = { view: await look(), atMs: performance.now() };
      }
      isUnchecked = true;
      return work();
    },
    async checked(step) {
      const [ended] = await Promise.allSettled([step()]);
      // Reported even if the work failed as well: it is the worse of the two.
      await check();
      if (ended.status === 'rejected') throw ended.reason;
      return ended.value;
    },
  };
}

export interface OutsideChanges {
  /** All of them, sorted. */
  files: string[];
  /** Those that fail the item. */
  faults: string[];
}

/**
 * What was added, changed or deleted between two looks. `workedOn`: asked only where something of another item is different and
 * no run had it at either look.
 */
export function changesOutside(
  before: OutsideView,
  after: OutsideView,
  workedOn: (before: OutsideView) => ReadonlySet<string> = itemsWorkedOn,
): OutsideChanges {
  const changed: string[] = [];
  const isUnstaged = (name: string): boolean => !before.kinds.has(name) && after.kinds.get(name) === 'untracked';
  for (const [name, signature] of before.entries)
    if (after.entries.get(name) !== signature || isUnstaged(name)) changed.push(name);
  for (const name of after.entries.keys()) if (!before.entries.has(name)) changed.push(name);
  let touched: ReadonlySet<string> | null = null;
  const isOfRun = (name: string): boolean => {
    const owners = after.owners.get(name) ?? before.owners.get(name) ?? [];
    if (owners.some((key) => before.busy.has(key) || after.busy.has(key))) return true;
    if (owners.length === 0) return false;
    touched ??= workedOn(before);
    return owners.some((key) => touched?.has(key));
  };
  // It goes when a person deletes the state folder, and the next run makes it again.
  const ignoreFile = `${nameOf(after.repository, after.base)}/.gitignore`;
  const isNoFault = (name: string): boolean => isOfRun(name) || (name === ignoreFile && !after.entries.has(name));
  const files = changed.filter((name) => !isNoFault(name)).sort();
  return { files, faults: files.filter((name) => isFault(kindIn(before, name), kindIn(after, name))) };
}

/** Null: it is not there. */
function kindIn({ entries, kinds }: OutsideView, name: string): OutsideKind | null {
  return entries.has(name) ? (kinds.get(name) ?? 'tracked') : null;
}

function isFault(was: OutsideKind | null, is: OutsideKind | null): boolean {
  // The user checked out another branch.
  if (was === 'moved' || is === 'moved') return false;
  switch (is ?? was) {
    case 'untracked':
      return is !== null && (was === null || was === 'tracked');
    case 'git':
    case 'item':
    case 'ours':
      return true;
    case 'tracked':
    case 'ignored':
    case 'input':
    case null:
      return false;
  }
}
