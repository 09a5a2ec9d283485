import { mkdir, realpath } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { Writer } from '../agent/port.ts';
import type { Config, TestSettings } from '../core/config.ts';
import { oneLine, unlinked } from '../core/lines.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import type { Git } from '../git/git.ts';
import { openWorktree } from '../git/worktree/open.ts';
import type { TreeChange } from '../git/worktree/trees.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import { pythonEnvironment } from '../process/python.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import { findTests, testFolders, undetectedIn } from '../testing/detect.ts';
import type { TestSuite } from '../testing/port.ts';
import { folderFiles, type ProjectFiles } from '../testing/project.ts';
import { runnerOfFiles } from '../testing/test-files.ts';
import type { ItemContext } from './item.ts';
import { createSetUp } from './set-up.ts';

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
  writer: Writer;
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
  setUp: ReturnType<typeof createSetUp>;
  suite: TestSuite;
  /** Folders of the packages whose tests run. */
  packages: readonly string[];
  /** See `createPortableText`. */
  portable: (text: string) => string;
}

/** An implementation of a design, or a reaction to its pull request. */
export interface DesignedContext extends WorktreeContext {
  lld: LldDocument;
}

interface Place {
  base: string;
  branch: string;
  /** The base has no commits that an agent wrote. */
  isUntouched: boolean;
  /** The files that the item changes: they tell which tests run. */
  files: readonly string[];
}

/** Creates the worktree of an item, or takes over that of an earlier attempt, and sets it up. */
export async function openInWorktree<Parts extends WorktreeParts>(
  item: ItemContext,
  parts: Parts,
  { base, branch, isUntouched, files }: Place,
): Promise<WorktreeContext & Parts> {
  const { workflow, paths, id, emit } = item;
  const { repository } = paths;
  const { config } = parts;
  const home = paths.home(workflow, id);
  await mkdir(home, { recursive: true });
  const opened = await openWorktree({
    repository: parts.git,
    directory: paths.worktree(workflow, id),
    branch,
    start: base,
    env: parts.env,
  });
  const { isAtStart, isNew } = opened;
  const { directory } = opened.worktree;
  for (const text of opened.warnings) emit({ type: 'notice', text });
  emit({ type: 'notice', text: `worktree: ${directory}` });
  const packages = await testFolders(folderFiles(directory), config.tests, files);
  const places = { worktree: directory, packages, home, repository, ownVenv: config.implement.setup === null };
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
    suite: await parts.openSuite(await testsFor(folderFiles(directory), config, files, directory), files),
    portable: await createPortableText(repository, directory),
  };
}

/**
 * How the tests of a project run, by its files; in a repository without tests, by the test files among `paths`, which will be
 * written. If it is not known: null under the policy `off`, an error otherwise. `directory`: for messages.
 */
export async function testsFor(
  files: ProjectFiles,
  { tests, implement }: WorktreeParts['config'],
  paths: readonly string[],
  directory: string,
): Promise<TestSettings | null> {
  try {
    await findTests(files, tests, directory, paths);
    return tests;
  } catch (error) {
    const problem = undetectedIn(error);
    const isBlank = problem.script === null && problem.runner === null && tests.command === null;
    const runner = isBlank ? runnerOfFiles(paths) : null;
    if (runner !== null) return { ...tests, runner };
    if (implement.policy === 'off') return null;
    throw error;
  }
}

/**
 * Caches changes, and skips a restore if the folder holds the tree: it does after a snapshot, until the next restore, because
 * nothing runs in it without one. With submodules it is always restored, because their files are not part of a tree. `fresh`:
 * the tree that was just checked out, if nothing has run since.
 */
export function cachedWorktree(worktree: Worktree, fresh: string | null = null): Worktree {
  const changes = new Map<string, Promise<TreeChange[]>>();
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

/** A commit as a durable step. */
export async function commitStep(
  { step, worktree }: WorktreeContext,
  name: string,
  made: Parameters<Worktree['commit']>[0],
): Promise<string> {
  const { value } = await step({ name, inputs: made }, async () => ({ commit: await worktree.commit(made) }));
  return value.commit;
}

/**
 * Subject, body and trailers. Titles and names of models are one line each, so they can't add trailers. A title from outside
 * notifies nobody and closes no issue. `models`: those that wrote the change; `coAuthor`: `Name <address>`; null: none.
 */
export function commitMessage(
  subject: string,
  body: string,
  { models, coAuthor }: { models: Iterable<string>; coAuthor: string | null },
): string {
  const trailers = [...models].map((model) => `Implemented-by: ${oneLine(model)}`);
  if (coAuthor !== null) trailers.push(`Co-authored-by: ${oneLine(coAuthor)}`);
  return `${unlinked(oneLine(subject))}\n\n${body}\n\n${trailers.join('\n')}\n`;
}
