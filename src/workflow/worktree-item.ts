import { mkdir, realpath } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { Writer } from '../agent/port.ts';
import type { Config, TestSettings } from '../core/config.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import type { Git } from '../git/git.ts';
import { openWorktree } from '../git/worktree/open.ts';
import type { TreeChange, Worktree } from '../git/worktree/worktree.ts';
import { pythonEnvironment } from '../process/python.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import { testFolders } from '../testing/detect.ts';
import type { TestSuite } from '../testing/port.ts';
import { folderFiles } from '../testing/project.ts';
import { testsFor } from './implement-base.ts';
import type { ItemContext } from './item.ts';
import { createSetUp, type SetUp } from './set-up.ts';

/** What the worker provides for an item with a worktree, in addition to `ItemParts`. */
export interface WorktreeParts {
  config: Pick<Config, 'implement' | 'tests' | 'lineage'>;
  git: Git;
  /** For git itself. */
  env: Record<string, string>;
  /** For programs in the worktree. */
  itemEnv: Record<string, string>;
  /** Undefined: they run without one. */
  sandbox: OpenSandbox | undefined;
  onGroup: (leader: number, ended: boolean) => void;
  createWriter: () => Writer;
  /** Opens the test suite of these files; null: it is not known how its tests run. */
  openSuite: (settings: TestSettings | null, paths: readonly string[]) => Promise<TestSuite>;
}

/** An item in its worktree. */
export interface WorktreeContext extends ItemContext, WorktreeParts {
  /** The commit that it starts from, and its tree. */
  base: string;
  baseTree: string;
  worktree: Worktree;
  /** Its folder was made just now: files of an earlier attempt are not in it. */
  isNewWorktree: boolean;
  setUp: SetUp;
  /** Folders of the packages whose tests run. */
  packages: readonly string[];
  /** See `createPortableText`. */
  portable: (text: string) => string;
}

/** An implementation of a design, or a reaction to its pull request. */
export interface ImplementContext extends WorktreeContext {
  lldText: string;
  lld: LldDocument;
  writer: Writer;
  suite: TestSuite;
  /** Other designs that touch this one, for the reviewer; may be empty. */
  forecast: string;
  /** Branches in the base that were not merged when it started. */
  on: readonly string[];
}

/**
 * Creates the worktree of an item, or takes over that of an earlier attempt, and sets it up. `isUntouched`: the base has no
 * commits that an agent wrote. `files`: the files that the item changes.
 */
export async function openInWorktree<Parts extends WorktreeParts>(
  item: ItemContext,
  parts: Parts,
  {
    base,
    branch,
    isUntouched,
    files,
  }: { base: string; branch: string; isUntouched: boolean; files: readonly string[] },
): Promise<WorktreeContext & Parts> {
  const { workflow, paths, id, emit } = item;
  const { repository } = paths;
  const home = paths.home(workflow, id);
  await mkdir(home, { recursive: true });
  const opened = await openWorktree({
    repository: parts.git,
    directory: paths.worktree(workflow, id),
    branch,
    start: base,
    lockFile: paths.gitQueue,
    env: parts.env,
  });
  const { isAtStart, isNew } = opened;
  const { directory } = opened.worktree;
  for (const text of opened.warnings) emit({ type: 'notice', text });
  emit({ type: 'notice', text: `worktree: ${directory}` });
  const packages = await testFolders(folderFiles(directory), parts.config.tests, files);
  const places = { worktree: directory, packages, home, repository, ownVenv: parts.config.implement.setup === null };
  // The writer, the set-up and the tests share this object.
  Object.assign(parts.itemEnv, await pythonEnvironment(parts.itemEnv, places));
  const context = { ...item, ...parts, base, packages };
  const hasRun = await createSetUp({ ...context, worktree: opened.worktree }, isAtStart && isUntouched).first(isNew);
  const baseTree = await opened.worktree.treeOf(base);
  const worktree = cachedWorktree(opened.worktree, isAtStart && !hasRun ? baseTree : null);
  return {
    ...context,
    baseTree,
    worktree,
    isNewWorktree: isNew,
    setUp: createSetUp({ ...context, worktree }),
    portable: await createPortableText(repository, directory),
  };
}

export async function suiteFor(
  { worktree, config, openSuite }: Pick<WorktreeContext, 'worktree' | 'config' | 'openSuite'>,
  files: readonly string[],
): Promise<TestSuite> {
  const { directory } = worktree;
  return openSuite(await testsFor(folderFiles(directory), config, files, directory), files);
}

/**
 * Caches changes and the last diff, and skips a restore if the folder holds the tree: it does after a snapshot, until the
 * next restore, because nothing runs in it without one. With submodules it is always restored, because their files are not
 * part of a tree. `fresh`: the tree that was just checked out, if nothing has run since.
 */
export function cachedWorktree(worktree: Worktree, fresh: string | null = null): Worktree {
  const changes = new Map<string, Promise<TreeChange[]>>();
  let lastDiff: { key: string; diff: Promise<string> } | null = null;
  let held = fresh;
  return {
    ...worktree,
    async snapshot() {
      held = null;
      const tree = await worktree.snapshot();
      if (!worktree.hasSubmodules()) held = tree;
      return tree;
    },
    async restore(tree) {
      const isHeld = held === tree;
      held = null;
      if (!isHeld || (await worktree.isReplaced())) await worktree.restore(tree);
    },
    changes(from, to) {
      const key = `${from} ${to}`;
      const found = changes.get(key) ?? worktree.changes(from, to);
      changes.set(key, found);
      return found;
    },
    // Diffs are long, so only the last one is kept.
    diff(from, to) {
      const key = `${from} ${to}`;
      if (lastDiff?.key !== key) lastDiff = { key, diff: worktree.diff(from, to) };
      return lastDiff.diff;
    },
  };
}

/**
 * For text on a branch, which is read on other machines: absolute paths in the worktree and the checkout become relative to
 * the repository. Test runners print them in many spellings.
 */
export async function createPortableText(repository: string, worktree: string): Promise<(text: string) => string> {
  const folders: string[] = [];
  // The worktree first: it may be a folder of the checkout.
  for (const folder of [worktree, repository]) {
    const real = await realpath(folder).catch(() => folder);
    for (const path of new Set([folder, real])) folders.push(pathToFileURL(path).href, `file://${path}`, path);
  }
  const patterns = folders.map((folder) => new RegExp(`${escaped(folder)}(?:(/)|(?![\\w.-]))`, 'g'));
  return (text) =>
    patterns.reduce((left, pattern) => left.replace(pattern, (_, slash?: string) => (slash ? '' : '.')), text);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
