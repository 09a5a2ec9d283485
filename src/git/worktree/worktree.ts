import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError, codeOf } from '../../core/errors.ts';
import { makeWritable } from '../../process/files.ts';
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
import { repairRegistration } from './registration.ts';
import { removeWorktree } from './remove.ts';
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
  /** In the user's repository. Nothing is ever run there that touches its checkout, its index or its HEAD. */
  repository: Git;
  directory: string;
  branch: string;
  /** The commit that a new branch begins at. */
  start: string;
  /** Serialises `git worktree` over all processes. */
  lockFile: string;
  env: Record<string, string>;
}

/**
 * The folder that an item is worked on in, as seen by the engine. Agents run in it and may do anything to it: every
 * method first puts its registration right, and none depends on what is in the folder.
 */
export interface Worktree {
  readonly directory: string;
  /** The one that is used, which may have a number behind the name that was asked for. */
  readonly branch: string;
  /** Everything that is there and neither ignored, nor made by the set-up, nor litter, as a tree object. */
  snapshot(): Promise<string>;
  /** Makes the folder equal to a tree; what is ignored, litter or made by the set-up stays. */
  restore(tree: string): Promise<void>;
  /** Whether the folder was deleted since it was last restored; there may be another one of its name. */
  isReplaced(): Promise<boolean>;
  treeOf(commit: string): Promise<string>;
  changes(from: string, to: string): Promise<TreeChange[]>;
  /** `tree` with these paths as they are in `source`, and without those that are not there. */
  withPathsFrom(tree: string, source: string, paths: readonly string[]): Promise<string>;
  /** `tree` with these files, by their paths; null: without it. Nothing keeps it until it is committed. */
  withFiles(tree: string, files: Readonly<Record<string, string | null>>): Promise<string>;
  read(tree: string, path: string): Promise<string | null>;
  /** For reading, not for applying: bounded, and binary files are only named. */
  diff(from: string, to: string): Promise<string>;
  /** For applying: whole, and with binary files. */
  patch(from: string, to: string): Promise<Buffer>;
  lines(from: string, to: string): Promise<LineCounts>;
  /** With the git identity of the repository and the environment. No hook runs. */
  commit(options: { tree: string; parents: readonly string[]; message: string }): Promise<string>;
  /** Moves the branch, and HEAD and index of the worktree with it; files stay as they are. `isLast`: it is removed next. */
  setBranch(commit: string, isLast?: boolean): Promise<void>;
  /** Where there are any, what is changed in them is no part of a snapshot. */
  hasSubmodules(): Promise<boolean>;
  /**
   * What is there now, untracked and not ignored, is no part of a snapshot from now on. Only the first call looks, unless
   * nothing has run since the checkout; later ones repeat its answer.
   */
  ignoreMadeBySetup(isUntouched?: boolean): Promise<string[]>;
  /** The same for a set-up that ran again, right after the worktree was restored. */
  ignoreMadeAgain(): Promise<void>;
  /** What is no part of a snapshot because the set-up made it, and what git ignored then; a folder ends with a slash. */
  madeBySetUp(): string[];
  /** Names, sizes and dates of these files, as they were after the set-up. */
  readonly setUpFiles: SetUpFiles;
  /**
   * Removes files that git ignores and that were not there after the set-up: they are no part of the branch, so nothing may
   * pass because of them. Returns their names.
   */
  dropIgnored(): Promise<string[]>;
  /** The worktree with all that is in it, not the branch. */
  remove(): Promise<void>;
}

export interface Claim {
  gitDir: string;
  state: WorktreeState;
  /** Nothing was in the folder. */
  isEmpty: boolean;
}

/** Which folder it is: another one of its name is not the one that we set up. */
export async function folderStamp(directory: string): Promise<string | null> {
  const found = await stat(directory).catch(() => null);
  return found && `${found.ino} ${found.birthtimeMs}`;
}

/** The next attempt makes it again and resumes from the last stored step. */
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
  const { repository, lockFile, env } = options;
  const { branch } = claim.state;
  let { gitDir, state } = claim;
  /** What we last brought the private index to; another file in its place holds something else. */
  let indexed: { tree: string; stamp: string | null; sinceMs: number } | null = null;
  let stamp = firstStamp;
  const trees = new Map<string, string>();

  const holds = async (tree: string): Promise<boolean> =>
    indexed?.tree === tree && indexed.stamp !== null && indexed.stamp === (await indexStamp(place));
  /** `sinceMs`: a time before the files were read or written, by the clock of the file system. */
  const nowHolds = async (tree: string, sinceMs: number): Promise<void> => {
    indexed = { tree, stamp: await indexStamp(place), sinceMs };
  };

  const isReplaced = async (): Promise<boolean> => (await folderStamp(place.directory)) !== stamp;

  const note = async (change: Partial<WorktreeState>): Promise<void> => {
    state = { ...state, ...change };
    await writeWorktreeState(place, state);
  };

  /** Git on this worktree, after its registration was looked at. */
  const ours = async (): Promise<Git> => {
    gitDir = await repairRegistration(place, gitDir, branch);
    return worktreeGit(place, gitDir, env, settings);
  };

  const rebuild = (git: Git): Promise<void> => rebuildIndex(git, place, state.head);

  /** A program may have written to the index, or put back the date of a file, to hide a change. */
  const distrustIndex = async (git: Git): Promise<void> => {
    if (indexed === null) return;
    if (indexed.stamp === (await indexStamp(place))) await rereadRecentFiles(git, place, indexed.sinceMs);
    else await rebuild(git);
  };

  /** The index as the folder is; rebuilt where it can't be used. */
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
      // Says why there is none.
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
      // What the set-up made was in it too.
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
    hasSubmodules: () =>
      access(join(place.directory, '.gitmodules')).then(
        () => true,
        () => false,
      ),
    async ignoreMadeBySetup(isUntouched = false) {
      if (state.made === null && isUntouched && claim.isEmpty) await note({ made: [], ignored: [] });
      if (state.made === null) await ignoreMade();
      return (state.made ?? []).map(readable);
    },
    ignoreMadeAgain: ignoreMade,
    madeBySetUp: () => [...(state.made ?? []), ...state.ignored].map(readable),
    setUpFiles: createSetUpFiles(join(place.stateFolder, 'set-up-files.json')),
    dropIgnored: async () => (await removeIgnored(await ours(), place, state.ignored)).map(readable),
    remove: () => removeWorktree({ repository, place, branch, lockFile }),
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
