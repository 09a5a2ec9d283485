import { readdirSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { toErrorRecord } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { boundedLines, listed } from '../core/lines.ts';
import { shownPath } from '../core/paths.ts';
import { wordingOf } from '../core/wording.ts';
import { copyIgnored } from '../git/copy-ignored.ts';
import type { Git } from '../git/git.ts';
import { openWorktree } from '../git/worktree/open.ts';
import { removeAll, type SetUpRoot } from '../git/worktree/set-up-files.ts';
import type { TreeChange, Worktree } from '../git/worktree/worktree.ts';
import { makeFolder, writeFileAtomic } from '../process/files.ts';
import { importedFromElsewhere, pythonEnvironment } from '../process/python.ts';
import type { Sandbox, SandboxWish } from '../process/sandbox/sandbox.ts';
import { detectSetup, isSetupFile, runSetup } from '../process/setup.ts';
import { traced } from '../telemetry/tracer.ts';
import type { ImplementContext, ImplementParts } from './implement-item.ts';
import type { ItemContext } from './item.ts';

type WorktreeParts = Pick<ImplementParts, 'config' | 'git' | 'env' | 'itemEnv' | 'sandbox' | 'onGroup'>;

/**
 * Creates the worktree of an item, or takes over what an earlier attempt left, and sets it up. `isPersons`: no branch of ours, which an
 * agent wrote, is in what it begins at.
 */
export async function prepareWorktree(
  item: ItemContext,
  parts: WorktreeParts,
  { start, branch, isPersons }: { start: string; branch: string; isPersons: boolean },
): Promise<Pick<ImplementContext, 'worktree' | 'setUp' | 'isNewWorktree'>> {
  const { workflow, paths, id, emit } = item;
  const { git, env } = parts;
  await mkdir(paths.home(workflow, id), { recursive: true });
  const opened = await openWorktree({
    repository: git,
    directory: paths.worktree(workflow, id),
    branch,
    start,
    lockFile: paths.gitQueue,
    env,
  });
  for (const text of opened.warnings) emit({ type: 'notice', text });
  emit({ type: 'notice', text: `worktree: ${opened.worktree.directory}` });
  const places = {
    worktree: opened.worktree.directory,
    home: paths.home(workflow, id),
    repository: paths.repository,
    ownVenv: parts.config.implement.setup === null,
  };
  // All that runs in the worktree has this object: the writer, the set-up and the tests.
  Object.assign(parts.itemEnv, await pythonEnvironment(parts.itemEnv, places));
  const isUntouched = opened.isAtStart && isPersons;
  const hasRun = await createSetUp(item, parts, opened.worktree, start, isUntouched).first(opened.isNew);
  const fresh = opened.isAtStart && !hasRun ? await opened.worktree.treeOf(start) : null;
  const worktree = cachedWorktree(opened.worktree, fresh);
  return { worktree, setUp: createSetUp(item, parts, worktree, start), isNewWorktree: opened.isNew };
}

/**
 * Caches changes and the last diff, and skips a restore when the folder already holds the tree: after a snapshot it does
 * until something runs in it, which never happens without a restore. Files of submodules are not part of a tree, so that
 * with submodules it is always restored. `fresh`: the tree that was just checked out, if nothing has run since.
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
      if (!(await worktree.hasSubmodules())) held = tree;
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
 * Installs what the tests need: when the worktree is made, and again when the writer changes a file that the set-up goes
 * by (a manifest, a lock file). A file in the item's home says what is installed.
 */
export interface SetUp {
  /** For the base commit, unless that is installed. Returns whether a command ran. */
  first(isNew: boolean): Promise<boolean>;
  /** For a state that the worktree was just restored to, unless that is installed. */
  ensure(tree: string): Promise<void>;
  /** What it made is as it was: for a state that the worktree was just restored to, before tests run there. */
  same(tree: string): Promise<SameSetUp>;
  /** After the tests of the base ran, before anything was written: what they changed of it by themselves is no change. */
  afterBaseline(): Promise<void>;
  /** After a call of the writer that led from `start` to `tree`, as a durable step. */
  afterWriting(start: string, tree: string, step: string): Promise<Installed>;
}

export interface SameSetUp {
  /** What was added to it and is removed again, without what tools keep for themselves. */
  removed: string[];
}

interface Installed {
  /** With the lock files as the set-up left them: the branch needs them. */
  tree: string;
  /** Why the set-up failed; for the writer. */
  problem: string | null;
}

function createSetUp(
  item: ItemContext,
  parts: WorktreeParts,
  worktree: Worktree,
  base: string,
  isUntouched = false,
): SetUp {
  const { workflow, paths, id, emit } = item;
  const { setup, copy } = parts.config.implement;
  const { directory } = worktree;
  const home = paths.home(workflow, id);
  const marker = join(home, 'set-up.json');
  const markerFor = (changed: string | null): string => `${JSON.stringify({ start: base, setup, copy, changed })}\n`;
  const isInstalled = async (changed: string | null): Promise<boolean> =>
    (await readFile(marker, 'utf8').catch(() => null)) === markerFor(changed);
  const setupFiles = async (from: string, to: string): Promise<string[]> =>
    (await worktree.changes(from, to)).map(({ path }) => path).filter(isSetupFile);
  /** What the state's set-up files say, where that is not what they say in the base. */
  const changedIn = async (tree: string): Promise<string | null> => {
    const files = await setupFiles(await worktree.treeOf(base), tree);
    if (files.length === 0) return null;
    const contents = await Promise.all(files.map((path) => worktree.read(tree, path)));
    return sha256(JSON.stringify(files.map((path, at) => [path, contents[at]])));
  };
  const commandFor = async (locks: 'frozen' | 'updated'): Promise<string | null> =>
    setup === false ? null : (setup ?? (await detectSetup(directory, parts.itemEnv['PATH'], locks)));
  const run = async (command: string): Promise<void> => {
    emit({ type: 'notice', text: `set-up: ${command}` });
    // One that fails in the middle leaves nothing that could be relied on.
    await rm(marker, { force: true });
    const before = await hooksPath(parts.git);
    await runCommand(command, directory, item, parts, isUntouched);
    // Some set-ups lead the user's repository to hooks of the worktree.
    if ((await hooksPath(parts.git)) !== before) await setHooksPath(parts.git, before);
  };
  /** The home too: a virtual environment is there, and programs look there for packages and settings. */
  const roots = (): SetUpRoot[] => [
    { folder: directory, made: worktree.madeBySetUp() },
    { folder: home, made: null, except: OWN_FILES },
  ];
  const copyFiles = async (): Promise<void> => {
    const { missing, refused } = await copyIgnored(paths.repository, directory, copy);
    for (const { path, reason } of refused) emit({ type: 'notice', text: `${path} is not copied: ${reason}` });
    if (missing.length > 0)
      emit({ type: 'notice', text: `implement.copy names what is not there: ${missing.join(', ')}` });
  };
  /** From nothing, as in a new worktree: a tool that finds its files there leaves them as they are. */
  const setUpAgain = async (tree: string): Promise<void> => {
    await removeAll(pathsOf(roots()), roots());
    await makeFolder(parts.itemEnv['TMPDIR'] ?? home);
    await worktree.restore(tree);
    await copyFiles();
    const command = await commandFor('frozen');
    if (command !== null) await runAsStep(command);
    await worktree.ignoreMadeAgain();
    await worktree.setUpFiles.record(roots());
    await writeFileAtomic(marker, markerFor(await changedIn(tree)));
    // It may have changed files of the tree.
    await worktree.restore(tree);
  };
  const runAsStep = async (command: string): Promise<void> => {
    const startedAt = performance.now();
    emit({ type: 'step-started', step: 'set-up', model: null });
    await run(command);
    const durationMs = performance.now() - startedAt;
    emit({ type: 'step-finished', step: 'set-up', replayed: false, costUsd: 0, durationMs });
  };

  return {
    async first(isNew) {
      // A later set-up of this worktree installed what the base needs too.
      const known = (await readFile(marker, 'utf8').catch(() => null))?.replace(/"changed":"\w+"/, '"changed":null');
      if (!isNew && known === markerFor(null)) return false;
      const command = await commandFor('frozen');
      await copyFiles();
      if (command !== null) await runAsStep(command);
      const how = { env: parts.itemEnv, signal: item.signal, sandbox: await openIn(directory, parts) };
      for (const { name, origin } of await importedFromElsewhere(directory, how))
        emit({
          type: 'notice',
          text: `Python imports ${name} from ${origin}, not from the worktree: that copy would be tested. Name a command that installs this one as implement.setup in agentos.yaml.`,
        });
      await worktree.ignoreMadeBySetup(isNew && command === null && copy.length === 0);
      await worktree.setUpFiles.record(roots());
      await writeFileAtomic(marker, markerFor(null));
      return command !== null;
    },

    async ensure(tree) {
      const changed = await changedIn(tree);
      if (await isInstalled(changed)) return;
      const command = await commandFor('frozen');
      if (command !== null) await runAsStep(command);
      await worktree.ignoreMadeAgain();
      await worktree.setUpFiles.record(roots());
      await writeFileAtomic(marker, markerFor(changed));
    },

    async same(tree) {
      const found = await worktree.setUpFiles.changes(roots());
      const { added, changed } = found ?? { added: [], changed: [] };
      if (found === null || changed.length > 0) {
        const names = changed.map((path) => shownPath(directory, path));
        if (found !== null)
          emit({ type: 'notice', text: `what the set-up made was changed, so that it runs again: ${listed(names)}` });
        await setUpAgain(tree);
      } else await removeAll(added, roots());
      const names = added.map((path) => shownPath(directory, path));
      return {
        removed: names.filter((name) => !isAbsolute(name) && !/(?:^|\/)\.[^/]*(?:$|\/)|__pycache__/.test(name)),
      };
    },

    afterBaseline: () => worktree.setUpFiles.recordUnsteady(roots()),

    async afterWriting(start, tree, step) {
      const unchanged = { tree, problem: null };
      if (setup === false || (await setupFiles(start, tree)).length === 0) return unchanged;
      const { value } = await item.step<Installed>({ name: `${step}-set-up`, inputs: { tree } }, async () => {
        await worktree.restore(tree);
        const command = await commandFor('updated');
        if (command === null) return unchanged;
        try {
          await run(command);
        } catch (error) {
          const { problem, retry } = toErrorRecord(error);
          if (problem.code !== 'setup-failed' || retry !== 'permanent') throw error;
          return { tree, problem: wordingOf(problem).message };
        }
        await worktree.ignoreMadeAgain();
        await worktree.setUpFiles.record(roots());
        const after = await worktree.snapshot();
        const installed = await worktree.withPathsFrom(tree, after, await setupFiles(tree, after));
        await writeFileAtomic(marker, markerFor(await changedIn(installed)));
        return { tree: installed, problem: null };
      });
      return value;
    },
  };
}

/** In an item's home, and not of the set-up. */
const OWN_FILES: ReadonlySet<string> = new Set(['set-up.json', 'reviews', 'test-reports', '.gitconfig']);

function pathsOf(roots: readonly SetUpRoot[]): string[] {
  return roots.flatMap(({ folder, made, except }) => {
    const names = made ?? readdirSync(folder).filter((name) => !except?.has(name));
    return names.map((name) => join(folder, name.replace(/\/$/, '')));
  });
}

/** As the user's repository itself says; null: it doesn't. */
async function hooksPath(git: Git): Promise<string | null> {
  return git.text(['config', '--local', '--get', 'core.hooksPath']).catch(() => null);
}

async function setHooksPath(git: Git, path: string | null): Promise<void> {
  const change =
    path === null ? ['--unset-all', 'core.hooksPath'] : ['--replace-all', 'core.hooksPath', path.trimEnd()];
  await git.run(['config', '--local', ...change]);
}

async function runCommand(
  command: string,
  directory: string,
  { signal, emit, mask, onProgress }: ItemContext,
  parts: WorktreeParts,
  isUntouched: boolean,
): Promise<void> {
  const { itemEnv: env, onGroup, config } = parts;
  // What a person wrote may name files; what was detected names those of the worktree.
  const named = config.implement.setup === command ? { command } : {};
  const sandbox = await openIn(directory, parts, { network: ['registries'], isUntouched, ...named });
  const onLine = boundedLines((line) =>
    emit({ type: 'output-line', stream: 'stdout', line: mask(line), of: 'set-up' }),
  );
  const timeoutMs = config.implement.setupTimeoutMs;
  await traced('set-up', {}, () =>
    runSetup({ command, directory, env, sandbox, timeoutMs, signal, onLine, mask, onProgress, onGroup }),
  );
}

async function openIn(
  worktree: string,
  { sandbox, itemEnv: env }: WorktreeParts,
  more: Pick<SandboxWish, 'network' | 'isUntouched' | 'command'> = {},
): Promise<Sandbox | undefined> {
  return sandbox?.({ worktree, may: 'write', env, ...more });
}
