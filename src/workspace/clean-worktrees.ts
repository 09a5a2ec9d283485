import { basename, dirname, join } from 'node:path';
import { type CleanEntry, type CleanOptions, discardCommand } from './clean-entry.ts';
import { isImplemented, itemNamed, namesIn, tipOf, uncommittedIn, workedOnBy } from './clean-items.ts';
import type { Git } from './git.ts';
import { BEING_MADE, lockReason } from './worktree-opening.ts';
import { placeIn, realFolder, type WorktreePlace, worktreeStates } from './worktree-place.ts';
import { registrations } from './worktree-registration.ts';
import { readWorktreeState } from './worktree-state.ts';

const MOST_NAMED = 3;

/** What is to be done with a worktree, or with what is left of one. */
export interface WorktreeVerdict {
  entry: CleanEntry;
  keep: boolean;
  /** For its removal. */
  place: WorktreePlace;
  branch: string | null;
  isRegistered: boolean;
}

export async function judgeWorktrees(options: CleanOptions): Promise<WorktreeVerdict[]> {
  const { paths, git } = options;
  const commonDir = await git.text(['rev-parse', '--path-format=absolute', '--git-common-dir']);
  const folder = await realFolder(paths.worktrees);
  const known = (await registrations(commonDir)).filter(({ directory }) => dirname(directory) === folder);
  const names = new Set([
    ...(await namesIn(folder)),
    ...(await namesIn(worktreeStates(dirname(folder)))),
    ...known.map(({ directory }) => basename(directory)),
  ]);
  const verdicts: WorktreeVerdict[] = [];
  for (const name of [...names].sort()) {
    const place = placeIn(commonDir, join(folder, name));
    const gitDir = known.find(({ directory }) => directory === place.directory)?.gitDir ?? null;
    verdicts.push(await judge(options, place, gitDir));
  }
  return verdicts;
}

async function judge(
  { paths, git, env, place: flags }: CleanOptions,
  place: WorktreePlace,
  gitDir: string | null,
): Promise<WorktreeVerdict> {
  const { directory, name } = place;
  const state = await readWorktreeState(place);
  const branch = state?.branch ?? null;
  const verdict = (keep: boolean, why: string, discard: string | null = null): WorktreeVerdict => ({
    entry: { kind: 'worktree', name, path: directory, why, discard },
    keep,
    place,
    branch,
    isRegistered: gitDir !== null,
  });
  const item = itemNamed(name);
  const isThere = (await namesIn(dirname(directory))).includes(name);
  if (item === null || (isThere && state === null && gitDir === null)) return verdict(true, 'no worktree of ours');
  const pid = workedOnBy(paths, item);
  if (pid !== null) return verdict(true, `process ${pid} is working on it`);
  const discard = item.workflow === 'implement' ? discardCommand(item.id, flags) : null;
  if (!isThere) {
    const hasCheckpoint = (await namesIn(dirname(paths.checkpoint(item.workflow, item.id)))).includes(`${name}.db`);
    return hasCheckpoint
      ? verdict(true, 'the folder is gone, but its item can go on: only git’s record of it is left', discard)
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
