import { readdir, readFile, rm } from 'node:fs/promises';
import { codeOf } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import type { Item } from '../../core/item.ts';
import type { Paths, WorkflowName } from '../../core/paths.ts';
import { isApproved, readHeader, readReportStatus } from '../../documents/header.ts';
import type { Git } from '../../git/git.ts';
import { readAt } from '../../git/repository.ts';
import { isHolderAlive, readHolder } from '../../process/lock.ts';
import { implementationsOf } from '../../workflow/implementations.ts';

export interface CleanEntry {
  kind: 'worktree' | 'branch' | 'checkpoint' | 'home' | 'undone' | 'run' | 'lock' | 'cache' | 'pins' | 'unfinished';
  name: string;
  path: string;
  why: string;
  /** How a person throws it away, where we don't. */
  discard: string | null;
}

export interface Cleaned {
  removed: CleanEntry[];
  kept: CleanEntry[];
}

/** The line to copy that throws an unfinished implementation away; `place`: the flags that say where. */
export function discardCommand(id: ItemId, place: readonly string[]): string {
  return ['agentos', 'clean', '--discard', id, ...place].join(' ');
}

export interface CleanOptions {
  paths: Paths;
  /** In the user's repository. */
  git: Git;
  env: Record<string, string>;
  nowMs: number;
  /** Caches are removed too. */
  caches: boolean;
  dryRun: boolean;
  /** Flags that a line to copy has to repeat to mean the same repository. */
  place: readonly string[];
  /** Whether a stored hash is of what an issue says now. */
  isIssueHash: (id: ItemId, stored: unknown) => Promise<boolean>;
  /** Whether an issue was written from what the brief says now. */
  isBriefDone: (id: ItemId) => Promise<boolean>;
  /** Takes the lock of an item; null: it is held. */
  claim: (workflow: WorkflowName, id: ItemId) => { release(): void } | null;
  /** Serialises `git worktree` over all processes. */
  gitQueue: string;
}

export async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [] as string[])).sort();
}

/** The process that works on it, or null. */
export function workedOnBy(paths: Paths, { workflow, id }: Item): number | null {
  const holder = readHolder(paths.lock(workflow, id));
  return holder !== null && isHolderAlive(holder) ? holder.pid : null;
}

/** Whether what the item is for is there already, so that its checkpoint is of no more use. */
export async function isDone(options: CleanOptions, { workflow, id }: Item): Promise<boolean> {
  const { paths, git, isIssueHash } = options;
  if (workflow === 'issue') return options.isBriefDone(id);
  const text = await readFile(paths.lld(id), 'utf8').catch(() => null);
  const lld = text === null ? null : readHeader(text);
  if (lld === null || !isApproved(lld)) return false;
  if (workflow === 'lld') return isIssueHash(id, lld.header.issueHash);
  const reports = (await implementationsOf(git, paths, [id])).get(id) ?? [];
  return reports.some(({ lldHash }) => lldHash === lld.header.bodyHash);
}

/** Whether this very branch ends in an implementation: the last commit of one brings the report. */
export async function isImplemented(
  paths: Paths,
  git: Git,
  id: ItemId,
  { start, tip }: { start: string; tip: string },
): Promise<boolean> {
  const path = paths.report(id);
  const [now, before] = await readAt(git, [
    { ref: tip, path },
    { ref: start, path },
  ]);
  return typeof now === 'string' && now !== before && readReportStatus(now) !== null;
}

/** The commit that a branch is at, or null. */
export async function tipOf(git: Git, branch: string): Promise<string | null> {
  try {
    return await git.text(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`]);
  } catch (error) {
    if (codeOf(error) !== 'git-failed') throw error;
    return null;
  }
}

/** What SQLite keeps beside a database. */
const COMPANIONS = ['', '-wal', '-shm', '-journal'];

export async function removeCheckpoint(path: string): Promise<void> {
  for (const suffix of COMPANIONS) await rm(`${path}${suffix}`, { force: true });
}
