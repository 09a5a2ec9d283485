import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ItemId } from '../../core/ids.ts';
import { type Item, itemOfKey, keyOf } from '../../core/item.ts';
import { STAGES } from '../../core/paths.ts';
import { deleteDatabase } from '../../journal/database-files.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import { namesIn } from '../../process/files.ts';
import { workedOnBy } from '../../process/lock.ts';
import { pipelineNamed } from '../batches/pipelines.ts';
import { discardCommand } from '../outcome.ts';
import type { Project } from '../project.ts';
import { type Candidate, candidate } from './candidate.ts';

export const RECENT_MS = 14 * 24 * 3_600_000;

/** The checkpoints of stages. `worktrees`: the names of those that are kept. */
export async function checkpointsOf(
  project: Project,
  worktrees: ReadonlySet<string>,
  isWanted: (name: string) => boolean,
): Promise<Candidate[]> {
  const { paths } = project;
  const found = (await namesIn(paths.checkpoints))
    .filter((name) => /\.db(?:\.damaged-[^-]+(?:-\d+)?)?$/.test(name) && isWanted(basename(name, '.db')))
    .map((name) => ({ name, path: join(paths.checkpoints, name), item: itemOfKey(basename(name, '.db')) }))
    .filter(({ item }) => reuseOf(item) === null);
  const items = found.flatMap(({ item }) => item ?? []);
  const done = await doneOf(project, items);
  return found.map(({ name, path, item }) => {
    if (item === null) {
      const why = name.includes('.damaged-') ? 'damaged, kept for inspection' : 'not ours';
      return candidate('checkpoint', path, why, null);
    }
    const pid = workedOnBy(paths, item);
    if (pid !== null) return candidate('checkpoint', path, `process ${pid} is working on it`, null, { item });
    if (done.has(keyOf(item)) && !isDoneAgain(path, item))
      return candidate('checkpoint', path, 'its item is done', () => deleteDatabase(path), { item });
    // A kept worktree has the same command.
    const isAlone = item.workflow === 'implement' && !worktrees.has(keyOf(item));
    const discard = isAlone ? discardCommand(project, item.id) : null;
    return candidate('checkpoint', path, 'its item is not done and resumes from it', null, { item, discard });
  });
}

/** A done item whose journal lacks the last step: `implement --again` is at it. */
function isDoneAgain(path: string, { workflow }: Item): boolean {
  const steps = workflow === 'implement' ? (inspectJournal(path)?.finished ?? []) : [];
  return steps.length > 0 && !steps.some(({ name }) => name === 'commit-report');
}

/** What a later command uses the checkpoint for, if it is not that of a stage. */
function reuseOf(item: Item | null): string | null {
  if (item?.workflow === 'eval') return 'the next evaluation reuses its answers';
  if (item?.workflow === 'react') return 'the next reaction to its pull request resumes from it';
  return item?.workflow === 'land' ? 'the next landing reuses its steps' : null;
}

/** The checkpoints of evaluations, landings and reactions. They are never done, so only old ones are removed. */
export async function reusableOf({ paths }: Project): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  for (const name of await namesIn(paths.checkpoints)) {
    const item = name.endsWith('.db') ? itemOfKey(basename(name, '.db')) : null;
    const use = reuseOf(item);
    if (item === null || use === null || workedOnBy(paths, item) !== null) continue;
    const path = join(paths.checkpoints, name);
    candidates.push(
      (await isOld(path))
        ? candidate('checkpoint', path, 'not used for 14 days', () => deleteDatabase(path), { item })
        : candidate('checkpoint', path, use, null, { item }),
    );
  }
  return candidates;
}

/** The keys of those items that are done. */
export async function doneOf(project: Project, items: readonly Item[]): Promise<Set<string>> {
  const done = new Set<string>();
  for (const workflow of STAGES) {
    const ids = items.filter((item) => item.workflow === workflow).map(({ id }) => id);
    const [stage] = pipelineNamed(workflow).stages;
    const collect = async (some: readonly ItemId[]) => (some.length === 0 ? [] : stage.collect(project, some));
    // One missing issue rejects the whole call.
    const found = await collect(ids).catch(async () =>
      (await Promise.all(ids.map((id) => collect([id]).catch(() => [])))).flat(),
    );
    for (const { id, state } of found)
      if (state === 'done' || state === 'already-done') done.add(keyOf({ workflow, id }));
  }
  return done;
}

/** Unchanged for 14 days. */
export async function isOld(path: string): Promise<boolean> {
  return Date.now() - (await modifiedMs(path)) > RECENT_MS;
}

/** 0: it does not exist. */
export async function modifiedMs(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mtimeMs ?? 0;
}
