import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createChainReader } from '../core/chain.ts';
import { AgentosError } from '../core/errors.ts';
import { WORKFLOWS } from '../core/paths.ts';
import { eventSizes, nameOf, type OutsideKind, type OutsideView } from '../git/checkout-watch.ts';
import { namesInSync } from '../process/files.ts';

/** Detects changes outside the worktree while something runs in it. */
export interface CheckoutGuard {
  /** Looks at the checkout, then runs the work. The next check finds what it changed. */
  before<T>(work: () => Promise<T>): Promise<T>;
  /** Looks again, if work ran since the last check. Rejects with `changed-outside`. */
  check(): Promise<void>;
  /** Runs a step, then checks, however the step ended: its paid answer is stored whatever the check finds. */
  checked<T>(step: () => Promise<T>): Promise<T>;
}

interface CheckoutGuardOptions {
  /** Throws if another program wrote to the item's journal. */
  verify: () => void;
  look: () => Promise<OutsideView>;
  /** The file with the events of this run. */
  events: string;
  /** Null: the item has none. */
  worktree: string | null;
  /** Called with changes that don't fail the item, once for each file. */
  onChanged: (files: string[]) => void;
}

/** For programs in a sandbox, which can't change anything outside. */
export const NO_GUARD: CheckoutGuard = {
  before: (work) => work(),
  check: () => Promise.resolve(),
  checked: (step) => step(),
};

/** A look at a large checkout takes time: a newer one is used again. */
const FRESH_MS = 5_000;

export function createCheckoutGuard(options: CheckoutGuardOptions): CheckoutGuard {
  const { verify, look, events, worktree, onChanged } = options;
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
    const { files, faults } = changesOutside(before, view, () => itemsOfRun(events));
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
      // Thrown even if the step failed as well: it is the more serious error.
      await check();
      if (ended.status === 'rejected') throw ended.reason;
      return ended.value;
    },
  };
}

export interface OutsideChanges {
  /** All of them, sorted. */
  files: string[];
  /** Changes that fail the item. */
  faults: string[];
}

/**
 * What was added, changed or deleted between two looks. Files of another item that a run worked on are no fault. The evidence for
 * that is in files that an agent could write too, so they are reported unless it was this run: `ofRun`, keys of its items.
 */
export function changesOutside(
  before: OutsideView,
  after: OutsideView,
  ofRun: () => ReadonlySet<string>,
): OutsideChanges {
  const isUnstaged = (name: string): boolean => !before.kinds.has(name) && after.kinds.get(name) === 'untracked';
  const changed = [...new Set([...before.entries.keys(), ...after.entries.keys()])].filter(
    (name) => after.entries.get(name) !== before.entries.get(name) || isUnstaged(name),
  );
  const ownersOf = (name: string): readonly string[] => after.owners.get(name) ?? before.owners.get(name) ?? [];
  const touched = once(() => itemsWorkedOn(before));
  const own = once(ofRun);
  const isWorkedOn = (key: string): boolean => before.busy.has(key) || after.busy.has(key) || touched().has(key);
  // A person may delete the state folder; the next run makes it again.
  const ignoreFile = `${nameOf(after.repository, after.base)}/.gitignore`;
  const isNoChange = (name: string): boolean =>
    (name === ignoreFile && !after.entries.has(name)) ||
    ownersOf(name).some((key) => isWorkedOn(key) && own().has(key));
  const files = changed.filter((name) => !isNoChange(name)).sort();
  const isFaulty = (name: string): boolean =>
    isFault(kindIn(before, name), kindIn(after, name)) && !ownersOf(name).some(isWorkedOn);
  return { files, faults: files.filter(isFaulty) };
}

/** Made on first use. */
function once<T extends object>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

/** Null: it does not exist. */
function kindIn({ entries, kinds }: OutsideView, name: string): OutsideKind | null {
  return entries.has(name) ? (kinds.get(name) ?? 'tracked') : null;
}

function isFault(was: OutsideKind | null, is: OutsideKind | null): boolean {
  // The user switched to another branch.
  if (was === 'moved' || is === 'moved') return false;
  switch (is ?? was) {
    case 'untracked':
      return is !== null && (was === null || was === 'tracked');
    case 'foreign':
      return true;
    case 'tracked':
    case 'minor':
    case null:
      return false;
  }
}

/** More than a run adds between two looks. */
const MOST_BYTES = 64 * 1024 * 1024;
const EVENT = /^\{"at":"[^"]+","item":"([^"]+)","workflow":"([a-z]+)"/;

/** The keys of the items in the events of a run, up to the first line that another program wrote. */
function itemsOfRun(events: string): Set<string> {
  const found = new Set<string>();
  const chain = createChainReader();
  const text = existsSync(events) ? textFrom(events, 0) : '';
  for (const line of text.split('\n').slice(0, -1)) {
    chain.push(line);
    if (chain.reading().broken !== null) break;
    for (const key of keysIn(line)) found.add(key);
  }
  return found;
}

function keysIn(events: string): string[] {
  return events.split('\n').flatMap((line) => {
    const [, item, workflow] = EVENT.exec(line) ?? [];
    return item === undefined ? [] : [`${workflow}-${item}`];
  });
}

/**
 * The keys of items that a run worked on since a look, or that a person decided on: every run appends the events of its items
 * to a file, and every decision is a file in the lineage.
 */
function itemsWorkedOn(look: Pick<OutsideView, 'base' | 'repository' | 'atMs' | 'events'>): Set<string> {
  const { base, repository, atMs } = look;
  const found = new Set<string>();
  for (const [file, size] of eventSizes(base)) {
    const before = look.events.get(file) ?? 0;
    if (size > before) for (const key of keysIn(textFrom(file, before))) found.add(key);
  }
  for (const id of namesInSync(join(repository, 'docs', 'lineage'))) {
    const folder = join(repository, 'docs', 'lineage', id);
    if (changedMs(folder) < atMs) continue;
    const isNew = (name: string): boolean => name.endsWith('-verdict.md') && changedMs(join(folder, name)) >= atMs;
    if (namesInSync(folder).some(isNew))
      for (const workflow of WORKFLOWS) found.add(`${workflow}-${id.replace(/\.brief$/, '')}`);
  }
  return found;
}

/** The ctime, which a program can't set back; -1 if the file does not exist. */
function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? -1;
}

function textFrom(file: string, start: number): string {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(Math.min(Math.max(0, fstatSync(handle).size - start), MOST_BYTES));
    return bytes.toString('utf8', 0, readSync(handle, bytes, 0, bytes.length, start));
  } finally {
    closeSync(handle);
  }
}
