import { basename, dirname, join } from 'node:path';
import { itemOfKey } from '../../core/item.ts';
import type { Git } from '../../git/git.ts';
import { toolFilePatterns } from '../../git/ignore-patterns.ts';
import {
  placeIn,
  readWorktreeState,
  realFolder,
  type WorktreePlace,
  type WorktreeState,
  worktreeGit,
  worktreeStates,
} from '../../git/worktree/place.ts';
import { splitNames } from '../../git/worktree/private-index.ts';
import { isReadingWorktree, removeReadingWorktrees } from '../../git/worktree/reading.ts';
import { BEING_MADE, lockReason, registrations } from '../../git/worktree/registration.ts';
import { removeWorktree } from '../../git/worktree/remove.ts';
import { removePins } from '../../git/worktree/trees.ts';
import { removeFolder } from '../../process/files.ts';
import { isHolderAlive, readHolder } from '../../process/lock.ts';
import {
  type CleanEntry,
  type CleanOptions,
  discardCommand,
  isImplemented,
  namesIn,
  tipOf,
  workedOnBy,
} from '../sweep.ts';

const MOST_NAMED = 3;

/** What is to be done with a worktree, or with what is left of one. */
export interface WorktreeVerdict {
  entry: CleanEntry;
  keep: boolean;
  /** For its removal. */
  place: WorktreePlace;
  branch: string | null;
  gitDir: string | null;
}

type JudgeOptions = Pick<CleanOptions, 'paths' | 'git' | 'env' | 'place'>;

/** `isWanted`: by the name of the worktree. */
export async function judgeWorktrees(
  options: JudgeOptions,
  isWanted: (name: string) => boolean = () => true,
): Promise<WorktreeVerdict[]> {
  const verdicts: WorktreeVerdict[] = [];
  for (const one of await worktreesIn(options)) if (isWanted(one.place.name)) verdicts.push(await judge(options, one));
  return verdicts;
}

/** The worktree or what is left of it, with its pins and our notes. */
export async function removeJudged(
  { paths, git, gitQueue }: Pick<CleanOptions, 'paths' | 'git' | 'gitQueue'>,
  { place, branch, gitDir }: WorktreeVerdict,
): Promise<void> {
  if (isReadingWorktree(place.name)) return removeReadingWorktrees({ repository: git, paths });
  if (gitDir !== null) await removeWorktree({ repository: git, place, branch, lockFile: gitQueue });
  await removePins(git, place.name);
  await removeFolder(place.stateFolder);
}

interface FoundWorktree {
  place: WorktreePlace;
  /** Git's own folder for it. */
  gitDir: string | null;
  isThere: boolean;
}

async function worktreesIn({ paths, git }: JudgeOptions): Promise<FoundWorktree[]> {
  const commonDir = await git.text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
  const folder = await realFolder(paths.worktrees);
  const known = (await registrations(commonDir)).filter(({ directory }) => dirname(directory) === folder);
  const there = new Set(await namesIn(folder));
  const names = new Set([
    ...there,
    ...(await namesIn(worktreeStates(dirname(folder)))),
    ...known.map(({ directory }) => basename(directory)),
  ]);
  return [...names].sort().map((name) => {
    const place = placeIn(commonDir, join(folder, name));
    const gitDir = known.find(({ directory }) => directory === place.directory)?.gitDir ?? null;
    return { place, gitDir, isThere: there.has(name) };
  });
}

async function judge(
  { paths, git, env, place: flags }: JudgeOptions,
  { place, gitDir, isThere }: FoundWorktree,
): Promise<WorktreeVerdict> {
  const { directory, name } = place;
  const state = await readWorktreeState(place);
  const branch = state?.branch ?? null;
  const verdict = (keep: boolean, why: string, discard: string | null = null): WorktreeVerdict => ({
    entry: { kind: 'worktree', name, path: directory, why, discard },
    keep,
    place,
    branch,
    gitDir,
  });
  if (isReadingWorktree(name)) {
    const holder = readHolder(join(paths.locks, `${name}.lock`));
    const isUsed = holder !== null && isHolderAlive(holder);
    return verdict(isUsed, isUsed ? `process ${holder.pid} is working in it` : 'nothing in it is needed');
  }
  const item = itemOfKey(name);
  if (item === null || (isThere && state === null && gitDir === null)) return verdict(true, 'no worktree of ours');
  const pid = workedOnBy(paths, item);
  if (pid !== null) return verdict(true, `process ${pid} is working on it`);
  const discard = item.workflow === 'implement' ? discardCommand(item.id, flags) : null;
  if (!isThere) {
    const hasCheckpoint = (await namesIn(dirname(paths.checkpoint(item.workflow, item.id)))).includes(`${name}.db`);
    return hasCheckpoint
      ? verdict(true, 'the folder is gone, but its item can be resumed: only git’s record of it is left', discard)
      : verdict(false, 'the folder is gone, and nothing refers to it');
  }
  if (gitDir === null || state === null) return verdict(true, 'git has no complete record of it', discard);
  const reason = await lockReason(gitDir);
  if (reason !== null && reason !== BEING_MADE) return verdict(true, `locked${reason ? `: ${reason}` : ''}`);
  const tip = (await tipOf(git, state.branch)) ?? state.head;
  if (!(await isImplemented(paths, git, item.id, { start: state.start, tip })))
    return verdict(true, `${state.branch} is not implemented yet`, discard);
  const changed = await uncommittedIn(place, gitDir, env, state, tip);
  if (changed.length > 0) return verdict(true, `not committed: ${listed(changed)}`, discard);
  return verdict(false, `implemented on ${state.branch}, and everything in it is committed`);
}

function listed(paths: readonly string[]): string {
  const more = paths.length - MOST_NAMED;
  return `${paths.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Pins that no worktree and no checkpoint need, by the name of the worktree they were for. */
export async function orphanedPins(git: Git, needed: ReadonlySet<string>): Promise<string[]> {
  const refs = (await git.text(['for-each-ref', '--format=%(refname)', 'refs/agentos/'])).split('\n').filter(Boolean);
  const names = new Set(refs.map((ref) => ref.split('/')[2] ?? ''));
  return [...names].filter((name) => !needed.has(name)).sort();
}

const MOST_COMMITS = 10;

/**
 * Files in a worktree that are in none of the last commits of its branch as they are there. Only reads: nothing is
 * written, neither objects nor an index.
 */
async function uncommittedIn(
  place: WorktreePlace,
  gitDir: string,
  env: Record<string, string>,
  { start, made }: WorktreeState,
  tip: string,
): Promise<string[]> {
  const hasOwnIndex = (await namesIn(place.stateFolder)).includes('index');
  const indexFile = hasOwnIndex ? place.indexFile : join(gitDir, 'index');
  const git = worktreeGit({ ...place, indexFile }, gitDir, env, []);
  const litter = (await toolFilePatterns(place.directory)).map((pattern) => `--exclude=${pattern}`);
  const known = made ?? [];
  const others = splitNames(await git.run(['ls-files', '-z', '--others', '--exclude-standard', ...litter])).filter(
    (path) => !known.some((one) => path === one || (one.endsWith('/') && path.startsWith(one))),
  );
  if (others.length > 0) return others;
  const commits = (await git.text(['rev-list', `--max-count=${MOST_COMMITS}`, tip, `^${start}`])).split('\n');
  let changed: string[] = [];
  for (const commit of commits.filter(Boolean)) {
    changed = splitNames(await git.run(['diff', '--no-ext-diff', '--name-only', '-z', commit]));
    if (changed.length === 0) return [];
  }
  return changed;
}
