import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError, codeOf } from '../../core/errors.ts';
import { makeWritable } from '../../process/files.ts';
import { unusable } from '../branches.ts';
import type { Git, GitSetting } from '../git.ts';
import { readAt } from '../repository.ts';
import { type WorktreePlace, type WorktreeState, worktreeGit, writeWorktreeState } from './place.ts';
import {
  captureIndex,
  ignoredFiles,
  indexStamp,
  indexTimeMs,
  otherFiles,
  readable,
  rebuildIndex,
  removeIgnored,
  rereadRecentFiles,
  restoreTree,
  shareIndex,
} from './private-index.ts';
import { register, registrationOf, removeWorktree } from './registration.ts';
import { createSetUpFiles, type SetUpFiles } from './set-up-files.ts';
import { updateSubmodules } from './submodules.ts';
import {
  changesBetween,
  diffBetween,
  type LineCounts,
  linesBetween,
  type Pin,
  patchBetween,
  type TreeChange,
  treeWithFiles,
  treeWithPathsFrom,
} from './trees.ts';

export type { TreeChange } from './trees.ts';

export interface WorktreeOptions {
  /** Git in the user's repository. We never run a command there that changes its checkout, index or HEAD. */
  repository: Git;
  directory: string;
  branch: string;
  /** The commit that a new branch starts at. */
  start: string;
  env: Record<string, string>;
}

/**
 * The worktree of an item, for the engine. Agents may do anything in it: every method first repairs its registration, and none relies
 * on the contents of the folder.
 */
export interface Worktree {
  readonly directory: string;
  /** The actual branch, which may have a number appended to the wanted name. */
  readonly branch: string;
  /** The files as a tree object, without those that are ignored, made by the set-up, or left by tools. */
  snapshot(): Promise<string>;
  /** Makes the folder equal to a tree. Files that are ignored, made by the set-up, or left by tools stay. */
  restore(tree: string): Promise<void>;
  /** Whether the folder was deleted since it was last restored, even if another one has its name. */
  isReplaced(): Promise<boolean>;
  treeOf(commit: string): Promise<string>;
  changes(from: string, to: string): Promise<TreeChange[]>;
  /** `tree` with these paths taken from `source`; paths that `source` lacks are removed. */
  withPathsFrom(tree: string, source: string, paths: readonly string[]): Promise<string>;
  /** `tree` with these contents by path; null removes a file. The result is not pinned until it is committed. */
  withFiles(tree: string, files: Readonly<Record<string, string | null>>): Promise<string>;
  read(tree: string, path: string): Promise<string | null>;
  /** For reading: with a maximum size, and without the contents of binary files. */
  diff(from: string, to: string): Promise<string>;
  /** For `git apply`: complete, with binary files. */
  patch(from: string, to: string): Promise<Buffer>;
  lines(from: string, to: string): Promise<LineCounts>;
  /** Uses the git identity of the repository and the environment. No hook runs. */
  commit(options: { tree: string; parents: readonly string[]; message: string }): Promise<string>;
  /** Moves the branch, and HEAD and index of the worktree with it; files stay unchanged. `isLast`: the worktree is removed next. */
  setBranch(commit: string, isLast?: boolean): Promise<void>;
  /** Changes inside of submodules are not part of a snapshot. */
  hasSubmodules(): boolean;
  /**
   * From now on, the current untracked files are not part of a snapshot. Only the first call looks at the files, unless nothing
   * has run since the checkout; later calls return the same.
   */
  ignoreMadeBySetup(isUntouched?: boolean): Promise<string[]>;
  /** The same after the set-up ran again. To be called right after the worktree was restored. */
  ignoreMadeAgain(): Promise<void>;
  /** What the set-up made, and what git ignored then. A folder ends with a slash. */
  madeBySetUp(): string[];
  /** The recorded names, sizes and dates of these files. */
  readonly setUpFiles: SetUpFiles;
  /**
   * Removes ignored files that did not exist after the set-up: they are not part of the branch, so no test may pass because of them.
   * Returns their names.
   */
  dropIgnored(): Promise<string[]>;
  /** Removes the worktree with its contents, but not the branch. */
  remove(): Promise<void>;
}

export interface Claim {
  gitDir: string;
  state: WorktreeState;
  /** The folder was empty. */
  isEmpty: boolean;
}

/** Identifies the folder: another folder of the same name has another stamp. */
export async function folderStamp(directory: string): Promise<string | null> {
  const found = await stat(directory).catch(() => null);
  return found && `${found.ino} ${found.birthtimeMs}`;
}

/** Transient: the next attempt makes the worktree again and resumes after the last stored step. */
function lost(path: string): AgentosError {
  const reason = 'It was deleted while the item was under way.';
  return new AgentosError({ code: 'worktree-unusable', path, reason }, { retry: 'transient' });
}

export function createWorktree(
  options: WorktreeOptions,
  place: WorktreePlace,
  claim: Claim,
  settings: readonly GitSetting[],
  pin: Pin,
  firstStamp: string | null,
): Worktree {
  const { repository, env } = options;
  const { branch } = claim.state;
  let { gitDir, state } = claim;
  /** The tree in the private index, with the stamp of that file. */
  let indexed: { tree: string; stamp: string | null; sinceMs: number } | null = null;
  let stamp = firstStamp;
  const trees = new Map<string, string>();

  const holds = async (tree: string): Promise<boolean> =>
    indexed?.tree === tree && indexed.stamp !== null && indexed.stamp === (await indexStamp(place));
  /** `sinceMs`: a time of the file system's clock before the files were read or written. */
  const nowHolds = async (tree: string, sinceMs: number): Promise<void> => {
    indexed = { tree, stamp: await indexStamp(place), sinceMs };
  };

  const isReplaced = async (): Promise<boolean> => (await folderStamp(place.directory)) !== stamp;

  const note = async (change: Partial<WorktreeState>): Promise<void> => {
    state = { ...state, ...change };
    await writeWorktreeState(place, state);
  };

  /** Git for this worktree, after its registration was repaired. */
  const ours = async (): Promise<Git> => {
    gitDir = await register(repository, place, gitDir, `ref: refs/heads/${branch}`);
    return worktreeGit(place, gitDir, env, settings);
  };

  const rebuild = (git: Git): Promise<void> => rebuildIndex(git, place, state.head);

  /** A program may have changed the index, or restored the date of a file, to hide a change. */
  const distrustIndex = async (git: Git): Promise<void> => {
    if (indexed === null) return;
    if (indexed.stamp === (await indexStamp(place))) await rereadRecentFiles(git, place, indexed.sinceMs);
    else await rebuild(git);
  };

  /** Updates the index to the folder, and rebuilds it if it is damaged. */
  const capture = async (git: Git): Promise<void> => {
    await distrustIndex(git);
    await captureIndex(git, place, state.made ?? []).catch(async (error: unknown) => {
      if (codeOf(error) !== 'git-failed') throw error;
      await rebuild(git);
      await captureIndex(git, place, state.made ?? []);
    });
  };

  const treeOf = async (commit: string): Promise<string> => {
    const named = `${commit}^{tree}`;
    const tree =
      trees.get(commit) ??
      (await repository.object(named))?.id ??
      // Throws the reason if there is none.
      (await repository.text(['rev-parse', '--verify', named]));
    trees.set(commit, tree);
    return tree;
  };

  const pinned = async (git: Git, object: string): Promise<string> => {
    await pin(git, object);
    return object;
  };

  const ignoreMade = async (): Promise<void> => {
    const git = await ours();
    const before = state.made ?? [];
    const made = await otherFiles(git, place, before, '', ['--directory', '--no-empty-directory']);
    await note({ made: [...before, ...made], ignored: await ignoredFiles(git) });
  };

  return {
    directory: place.directory,
    branch,
    async snapshot() {
      const git = await ours();
      const sinceMs = await indexTimeMs(place);
      await capture(git);
      const tree = await git.text(['write-tree']);
      await nowHolds(tree, sinceMs);
      return pinned(git, tree);
    },
    isReplaced,
    async restore(tree) {
      // The files that the set-up made are lost too.
      const isLost = (await isReplaced()) && (state.made ?? []).length + state.ignored.length > 0;
      if (isLost) throw lost(place.directory);
      const git = await ours();
      const restore = (isIndexed: boolean): Promise<void> =>
        restoreTree(git, place, { tree, isIndexed }, state.made ?? []);
      const sinceMs = await indexTimeMs(place);
      const isIndexed = await holds(tree);
      await distrustIndex(git);
      await restore(isIndexed).catch(async (error: unknown) => {
        if (codeOf(error) !== 'git-failed') throw error;
        await makeWritable(place.directory);
        await rebuild(git);
        await restore(false);
      });
      stamp = await folderStamp(place.directory);
      await submodules(options, { gitDir }, place, settings, true);
      await nowHolds(tree, sinceMs);
    },
    treeOf,
    changes: async (from, to) => changesBetween(await ours(), from, to),
    async withPathsFrom(tree, source, paths) {
      const git = await ours();
      return pinned(git, await treeWithPathsFrom(git, place.stateFolder, tree, source, paths));
    },
    async withFiles(tree, files) {
      return treeWithFiles(await ours(), place.stateFolder, tree, files);
    },
    read: async (tree, path) => (await readAt(repository, [{ ref: tree, path }]))[0] ?? null,
    diff: async (from, to) => diffBetween(await ours(), from, to),
    patch: async (from, to) => patchBetween(await ours(), from, to),
    lines: async (from, to) => linesBetween(await ours(), from, to),
    async commit({ tree, parents, message }) {
      const git = await ours();
      const args = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', tree, ...parents.flatMap((one) => ['-p', one])];
      const commit = await git.text([...args, '-F', '-'], { input: message });
      trees.set(commit, tree);
      return pinned(git, commit);
    },
    async setBranch(commit, isLast = false) {
      const git = await ours();
      await git.run(['update-ref', '-m', 'agentos', `refs/heads/${branch}`, commit]);
      await note({ head: commit });
      if (isLast) return;
      const tree = await treeOf(commit);
      if (!(await holds(tree))) await git.run(['read-tree', '--reset', tree]);
      await nowHolds(tree, indexed?.sinceMs ?? 0);
      await shareIndex(place, gitDir);
    },
    hasSubmodules: () => existsSync(join(place.directory, '.gitmodules')),
    async ignoreMadeBySetup(isUntouched = false) {
      if (state.made === null && isUntouched && claim.isEmpty) await note({ made: [], ignored: [] });
      if (state.made === null) await ignoreMade();
      return (state.made ?? []).map(readable);
    },
    ignoreMadeAgain: ignoreMade,
    madeBySetUp: () => [...(state.made ?? []), ...state.ignored].map(readable),
    setUpFiles: createSetUpFiles(join(place.stateFolder, 'set-up-files.json')),
    dropIgnored: async () => (await removeIgnored(await ours(), place, state.ignored)).map(readable),
    async remove() {
      if ((await registrationOf(place)) === null)
        throw unusable(place.directory, 'It is not registered as a worktree of this repository.');
      await removeWorktree(repository, place);
    },
  };
}

export async function submodules(
  { repository, env }: WorktreeOptions,
  { gitDir }: Pick<Claim, 'gitDir'>,
  place: WorktreePlace,
  settings: readonly GitSetting[],
  force: boolean,
): Promise<void> {
  await updateSubmodules({
    gitWith: (more) => worktreeGit(place, gitDir, env, [...settings, ...more], place.directory),
    top: place.directory,
    modules: async () => {
      const own = await repository.text(['rev-parse', '--path-format=absolute', '--git-dir']);
      return [join(own, 'modules'), join(place.commonDir, 'modules')];
    },
    home: repository,
    env,
    force,
  });
}
