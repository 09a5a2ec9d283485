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
  indexStamp,
  indexTimeMs,
  readable,
  rebuildIndex,
  removeIgnored,
  rereadRecentFiles,
  restoreTree,
  shareIndex,
  untrackedFiles,
} from './private-index.ts';
import { register, registrationOf, removeWorktree } from './registration.ts';
import { createSetUpFiles } from './set-up-files.ts';
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

export type Worktree = ReturnType<typeof createWorktree>;

/**
 * The worktree of an item, for the engine. Agents may do anything in it: what reads or writes its files first repairs its
 * registration, and nothing relies on the contents of the folder.
 */
export function createWorktree(
  options: WorktreeOptions,
  place: WorktreePlace,
  claim: Claim,
  settings: readonly GitSetting[],
  pin: Pin,
  firstStamp: string | null,
) {
  const { repository, env } = options;
  const { directory } = place;
  const { branch } = claim.state;
  let { gitDir, state } = claim;
  /** The tree in the private index, with the stamp of that file. */
  let indexed: { tree: string; stamp: string | null; sinceMs: number } | null = null;
  let stamp = firstStamp;

  const holds = async (tree: string): Promise<boolean> =>
    indexed?.tree === tree && indexed.stamp !== null && indexed.stamp === (await indexStamp(place));
  /** `sinceMs`: a time of the file system's clock before the files were read or written. */
  const nowHolds = async (tree: string, sinceMs: number): Promise<void> => {
    indexed = { tree, stamp: await indexStamp(place), sinceMs };
  };

  /** Whether the folder was deleted since it was last restored, even if another one has its name. */
  const isReplaced = async (): Promise<boolean> => (await folderStamp(directory)) !== stamp;

  const note = async (change: Partial<WorktreeState>): Promise<void> => {
    state = { ...state, ...change };
    await writeWorktreeState(place, state);
  };

  /** Git for this worktree, after its registration was repaired. */
  const ours = async (): Promise<Git> => {
    gitDir = await register(repository, place, gitDir, `ref: refs/heads/${branch}`);
    return worktreeGit(place, gitDir, env, settings);
  };

  /** A program may have changed the index, or restored the date of a file, to hide a change. */
  const distrustIndex = async (git: Git): Promise<void> => {
    if (indexed === null) return;
    if (indexed.stamp === (await indexStamp(place))) await rereadRecentFiles(git, place, indexed.sinceMs);
    else await rebuildIndex(git, place, state.head);
  };

  const pinned = async (object: string): Promise<string> => {
    await pin(repository, object);
    return object;
  };

  const treeOf = async (commit: string): Promise<string> =>
    (await repository.object(`${commit}^{tree}`))?.id ??
    // Throws the reason if there is none.
    repository.text(['rev-parse', '--verify', `${commit}^{tree}`]);

  /**
   * From now on, the current untracked files, ignored or not, are not part of a snapshot. To be called again after the set-up ran
   * again, right after the worktree was restored.
   */
  const ignoreMadeAgain = async (): Promise<void> => note({ made: await untrackedFiles(await ours()) });

  return {
    directory,
    /** The actual branch, which may have a number appended to the wanted name. */
    branch,
    /** The files as a tree object, without those that are ignored, made by the set-up, or left by tools. */
    async snapshot(): Promise<string> {
      const git = await ours();
      const sinceMs = await indexTimeMs(place);
      await distrustIndex(git);
      const capture = (): Promise<void> => captureIndex(git, place, state.made ?? []);
      await capture().catch(async (error: unknown) => {
        if (codeOf(error) !== 'git-failed') throw error;
        await rebuildIndex(git, place, state.head);
        await capture();
      });
      const tree = await git.text(['write-tree']);
      await nowHolds(tree, sinceMs);
      return pinned(tree);
    },
    isReplaced,
    /** Makes the folder equal to a tree. Files that are ignored, made by the set-up, or left by tools stay. */
    async restore(tree: string): Promise<void> {
      // The files that the set-up made are lost too.
      if ((state.made ?? []).length > 0 && (await isReplaced())) throw lost(directory);
      const git = await ours();
      const restore = (isIndexed: boolean): Promise<void> =>
        restoreTree(git, place, { tree, isIndexed }, state.made ?? []);
      const sinceMs = await indexTimeMs(place);
      const isIndexed = await holds(tree);
      await distrustIndex(git);
      await restore(isIndexed).catch(async (error: unknown) => {
        if (codeOf(error) !== 'git-failed') throw error;
        await makeWritable(directory);
        await rebuildIndex(git, place, state.head);
        await restore(false);
      });
      stamp = await folderStamp(directory);
      await submodules(options, gitDir, { place, settings, force: true });
      await nowHolds(tree, sinceMs);
    },
    treeOf,
    changes: (from: string, to: string): Promise<TreeChange[]> => changesBetween(repository, from, to),
    /** `tree` with these paths taken from `source`; paths that `source` lacks are removed. */
    withPathsFrom: async (tree: string, source: string, paths: readonly string[]): Promise<string> =>
      pinned(await treeWithPathsFrom(await ours(), place.stateFolder, tree, source, paths)),
    /** `tree` with these contents by path; null removes a file. The result is not pinned until it is committed. */
    withFiles: async (tree: string, files: Readonly<Record<string, string | null>>): Promise<string> =>
      treeWithFiles(await ours(), place.stateFolder, tree, files),
    read: async (tree: string, path: string): Promise<string | null> =>
      (await readAt(repository, [{ ref: tree, path }]))[0] ?? null,
    /** For reading: with a maximum size, and without the contents of binary files. */
    diff: (from: string, to: string): Promise<string> => diffBetween(repository, from, to),
    /** For `git apply`: complete, with binary files. */
    patch: (from: string, to: string): Promise<Buffer> => patchBetween(repository, from, to),
    lines: (from: string, to: string): Promise<LineCounts> => linesBetween(repository, from, to),
    /** Uses the git identity of the repository and the environment. No hook runs. */
    async commit({ tree, parents, message }: Commit): Promise<string> {
      const args = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', tree, ...parents.flatMap((one) => ['-p', one])];
      return pinned(await repository.text([...args, '-F', '-'], { input: message }));
    },
    /** Moves the branch, and HEAD and index of the worktree with it; files stay unchanged. `isLast`: the worktree is removed next. */
    async setBranch(commit: string, isLast = false): Promise<void> {
      const git = await ours();
      await git.run(['update-ref', '-m', 'agentos', `refs/heads/${branch}`, commit]);
      await note({ head: commit });
      if (isLast) return;
      const tree = await treeOf(commit);
      if (!(await holds(tree))) await git.run(['read-tree', '--reset', tree]);
      await nowHolds(tree, indexed?.sinceMs ?? 0);
      await shareIndex(place, gitDir);
    },
    /** Changes inside of submodules are not part of a snapshot. */
    hasSubmodules: (): boolean => existsSync(join(directory, '.gitmodules')),
    /** Only the first call looks at the files, unless nothing has run since the checkout; later calls return the same. */
    async ignoreMadeBySetup(isUntouched = false): Promise<string[]> {
      if (state.made === null && isUntouched && claim.isEmpty) await note({ made: [] });
      if (state.made === null) await ignoreMadeAgain();
      return (state.made ?? []).map(readable);
    },
    ignoreMadeAgain,
    /** What was untracked after the set-up. A folder ends with a slash. */
    madeBySetUp: (): string[] => (state.made ?? []).map(readable),
    /** The recorded names, sizes and dates of these files. */
    setUpFiles: createSetUpFiles(join(place.stateFolder, 'set-up-files.json')),
    /**
     * Removes ignored files that did not exist after the set-up: they are not part of the branch, so no test may pass because of them.
     * Returns their names.
     */
    dropIgnored: async (): Promise<string[]> =>
      (await removeIgnored(await ours(), place, state.made ?? [])).map(readable),
    /** Removes the worktree with its contents, but not the branch. */
    async remove(): Promise<void> {
      if ((await registrationOf(place)) === null)
        throw unusable(directory, 'It is not registered as a worktree of this repository.');
      await removeWorktree(repository, place);
    },
  };
}

interface Commit {
  tree: string;
  parents: readonly string[];
  message: string;
}

export async function submodules(
  { repository, env }: WorktreeOptions,
  gitDir: string,
  { place, settings, force }: { place: WorktreePlace; settings: readonly GitSetting[]; force: boolean },
): Promise<void> {
  const { directory } = place;
  if (!existsSync(join(directory, '.gitmodules'))) return;
  const own = await repository.text(['rev-parse', '--path-format=absolute', '--git-dir']);
  await updateSubmodules({
    gitWith: (more) => worktreeGit(place, gitDir, env, [...settings, ...more], directory),
    top: directory,
    modules: [join(own, 'modules'), join(place.commonDir, 'modules')],
    home: repository,
    env,
    force,
  });
}
