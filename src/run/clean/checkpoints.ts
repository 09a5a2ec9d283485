import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ItemId } from '../../core/ids.ts';
import { type Item, itemOfKey, keyOf } from '../../core/item.ts';
import { STAGES } from '../../core/paths.ts';
import { deleteDatabase } from '../../journal/database-files.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import { namesIn } from '../../process/files.ts';
import { workedOnBy } from '../../process/lock.ts';
import { pipelineNamed } from '../batches.ts';
import type { Project } from '../project.ts';
import { discardCommand } from '../run-record.ts';
import type { Candidate, CleanEntry } from './clean.ts';

export const RECENT_MS = 14 * 24 * 3_600_000;

export async function checkpointsOf(
  project: Project,
  place: readonly string[],
  worktrees: ReadonlySet<string>,
  isWanted: (name: string) => boolean,
): Promise<Candidate[]> {
  const { paths } = project;
  const found = (await namesIn(paths.checkpoints))
    .filter((name) => /\.db(?:\.damaged-[^-]+(?:-\d+)?)?$/.test(name) && isWanted(basename(name, '.db')))
    .filter((name) => keptForNext(itemOfKey(basename(name, '.db'))) === null)
    .map((name) => ({ name, path: join(paths.checkpoints, name), item: itemOfKey(basename(name, '.db')) }));
  const done = await doneOf(
    project,
    found.flatMap(({ item }) => item ?? []),
  );
  return found.map(({ name, path, item }): Candidate => {
    const entry: CleanEntry = { kind: 'checkpoint', name, path, why: 'its item is done', discard: null };
    const kept = (why: string, discard: string | null = null): Candidate => ({
      entry: { ...entry, why, discard },
      item,
      remove: null,
    });
    if (item === null) return kept(name.includes('.damaged-') ? 'damaged, kept for inspection' : 'not ours');
    const pid = workedOnBy(paths, item);
    if (pid !== null) return kept(`process ${pid} is working on it`);
    if (done.has(keyOf(item)) && !isDoneOver(path, item)) return { entry, item, remove: () => deleteDatabase(path) };
    // Told once: with the worktree, where there is one.
    const isAlone = item.workflow === 'implement' && !worktrees.has(keyOf(item));
    return kept('its item is not done and resumes from it', isAlone ? discardCommand(item.id, place) : null);
  });
}

/** Of an item that is implemented, a journal without the last step is of a run that does it over. */
function isDoneOver(path: string, { workflow }: Item): boolean {
  const steps = workflow === 'implement' ? (inspectJournal(path)?.finished ?? []) : [];
  return steps.length > 0 && !steps.some(({ name }) => name === 'commit-report');
}

/** What for, where a checkpoint is kept though nothing resumes from it. */
function keptForNext(item: Item | null): string | null {
  if (item?.workflow === 'eval') return 'the next evaluation takes its answers from it';
  return item?.workflow === 'land' ? 'the next landing takes what it can use from it' : null;
}

/** An evaluation and a landing are never done: what they found is there for the next one. */
export async function reusableOf({ paths }: Project): Promise<Candidate[]> {
  const found = (await namesIn(paths.checkpoints)).flatMap((name) => {
    const item = name.endsWith('.db') ? itemOfKey(basename(name, '.db')) : null;
    const use = keptForNext(item);
    const isFree = item !== null && workedOnBy(paths, item) === null;
    return use !== null && isFree ? [{ name, item, use, path: join(paths.checkpoints, name) }] : [];
  });
  const candidates: Candidate[] = [];
  for (const { name, item, use, path } of found) {
    const isOld = Date.now() - (await modifiedMs(path)) > RECENT_MS;
    const why = isOld ? 'not used for 14 days' : use;
    const entry: CleanEntry = { kind: 'checkpoint', name, path, why, discard: null };
    candidates.push({ entry, item, remove: isOld ? () => deleteDatabase(path) : null });
  }
  return candidates;
}

/** The keys of those items for which what they are for is there already. */
export async function doneOf(project: Project, items: readonly Item[]): Promise<Set<string>> {
  const done = new Set<string>();
  for (const workflow of STAGES) {
    const ids = items.filter((item) => item.workflow === workflow).map(({ id }) => id);
    const [stage] = pipelineNamed(workflow).stages;
    const collect = async (some: readonly ItemId[]) => (some.length === 0 ? [] : stage.collect(project, some));
    // One whose issue is gone is an error for all of them.
    const found = await collect(ids).catch(async () =>
      (await Promise.all(ids.map((id) => collect([id]).catch(() => [])))).flat(),
    );
    for (const { id, state } of found)
      if (state === 'done' || state === 'already-done') done.add(keyOf({ workflow, id }));
  }
  return done;
}

/** 0: it is not there. */
export async function modifiedMs(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mtimeMs ?? 0;
}
