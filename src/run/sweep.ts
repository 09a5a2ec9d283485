import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import { type Item, itemOfKey } from '../core/item.ts';
import type { Paths, WorkflowName } from '../core/paths.ts';
import type { Plan } from '../core/plan.ts';
import { isApproved, readHeader, readReportStatus } from '../documents/header.ts';
import { createGit, type Git } from '../git/git.ts';
import { readAt } from '../git/repository.ts';
import { removeFolder, staleTemporaryFiles } from '../process/files.ts';
import { acquireLock, isHolderAlive, readHolder } from '../process/lock.ts';
import { implementationsOf } from '../workflow/implementations.ts';
import { pipelineNamed } from './batches.ts';
import { isOpen } from './pipeline.ts';
import type { Project } from './project.ts';

/**
 * Removes what killed runs left behind and no later run needs: files on their way to their place, locks,
 * checkpoints and worktrees of items that are done, and homes without a worktree. What can't be removed stays; a run doesn't fail for it.
 */
export async function sweep(project: Project, plan: Plan): Promise<void> {
  const { paths } = project;
  for (const path of await staleTemporaryFiles(paths)) await rm(path, { force: true }).catch(() => undefined);
  for (const item of await itemsIn(paths.locks, '.lock'))
    if (workedOnBy(paths, item) === null) await underLock(project, item, async () => undefined);
  const open = new Set(plan.items.filter(isOpen).map(({ workflow, id }) => `${workflow}-${id}`));
  const others = (await itemsIn(paths.checkpoints, '.db')).filter(({ workflow, id }) => !open.has(`${workflow}-${id}`));
  for (const workflow of new Set(others.map((item) => item.workflow))) {
    const ids = others.filter((item) => item.workflow === workflow).map(({ id }) => id);
    for (const id of await doneOf(project, workflow, ids))
      await underLock(project, { workflow, id }, () => removeCheckpoint(paths.checkpoint(workflow, id)));
  }
  await sweepReading(project);
  await sweepWorktrees(project, open).catch(() => undefined);
  const worktrees = new Set(await namesIn(paths.worktrees));
  for (const item of await itemsIn(paths.homes, '')) {
    const name = `${item.workflow}-${item.id}`;
    if (!open.has(name) && !worktrees.has(name))
      await underLock(project, item, () => removeFolder(paths.home(item.workflow, item.id)));
  }
}

/** The worktrees of models that are programs, but for those in use. */
export async function sweepReading({ paths, childEnv }: Project): Promise<void> {
  const states = await namesIn(join(paths.work, 'worktree-state'));
  if (!states.some((name) => name.startsWith('reading-'))) return;
  const { removeReadingWorktrees } = await import('../git/worktree/reading.ts');
  const repository = createGit(paths.repository, childEnv);
  await removeReadingWorktrees({ repository, paths }).catch(() => undefined);
}

async function sweepWorktrees(project: Project, open: ReadonlySet<string>): Promise<void> {
  const { paths, childEnv } = project;
  // Most repositories have none, and are spared the call of git.
  const isLinked = await stat(join(paths.repository, '.git')).then((found) => !found.isDirectory());
  const known = await namesIn(join(paths.repository, '.git', 'worktrees'));
  if (!isLinked && known.length === 0 && (await namesIn(join(paths.work, 'worktree-state'))).length === 0) return;
  const { judgeWorktrees, removeJudged } = await import('./clean/worktrees.ts');
  const git = createGit(paths.repository, childEnv);
  for (const verdict of await judgeWorktrees({ paths, git, env: childEnv, place: [] }, (name) => !open.has(name))) {
    const item = itemOfKey(verdict.place.name);
    if (item === null || verdict.keep) continue;
    await underLock(project, item, () => removeJudged({ paths, git, gitQueue: paths.gitQueue }, verdict));
  }
}

async function itemsIn(folder: string, suffix: string): Promise<Item[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith(suffix));
  return names.map((name) => itemOfKey(basename(name, suffix))).filter((item) => item !== null);
}

async function doneOf(project: Project, workflow: WorkflowName, ids: readonly ItemId[]): Promise<ItemId[]> {
  const [stage] = pipelineNamed(workflow).stages;
  // One whose issue is gone is an error for all of them.
  const found = await stage
    .collect(project, ids)
    .catch(async () => (await Promise.all(ids.map((id) => stage.collect(project, [id]).catch(() => [])))).flat());
  return found.filter(({ state }) => state === 'done').map(({ id }) => id);
}

/** Not at all while another run has it. */
async function underLock({ paths }: Project, { workflow, id }: Item, work: () => Promise<void>): Promise<void> {
  try {
    const lock = acquireLock(paths.lock(workflow, id), { workflow, id }, new Date().toISOString());
    await work().finally(() => lock.release());
  } catch {
    // Another run is at it, or the disk is read-only.
  }
}

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
