import { stat } from 'node:fs/promises';
import type { Paths } from '../../core/paths.ts';
import { runIds } from '../record.ts';
import { readRun } from '../run-history.ts';

const NEWEST = 20;
const RECENT_MS = 14 * 24 * 3_600_000;
/** Ends that need no further run. */
const DONE = new Set(['succeeded', 'skipped']);

export interface RunVerdict {
  runId: string;
  /** Null: it can go. */
  keptBecause: string | null;
}

/** Old runs that nobody can go on with. One whose unfinished items were all finished by a later run is over too. */
export async function judgeRuns(paths: Paths, nowMs: number): Promise<RunVerdict[]> {
  const finishedLater = new Set<string>();
  const verdicts: RunVerdict[] = [];
  for (const [index, runId] of (await runIds(paths)).entries()) {
    const run = await readRun(paths, runId);
    const keyOf = (id: string): string => `${run?.workflow} ${id}`;
    const open = (run?.items ?? []).filter((item) => !DONE.has(item.status) && !finishedLater.has(keyOf(item.id)));
    for (const item of run?.items ?? []) if (DONE.has(item.status)) finishedLater.add(keyOf(item.id));
    const { directory, record } = paths.run(runId);
    const startedMs = run === null ? await modifiedMs(directory) : Date.parse(run.startedAt);
    let keptBecause: string | null = null;
    if (run?.state === 'running') keptBecause = 'it is running';
    else if (run === null && (await modifiedMs(record)) > 0) keptBecause = 'its record can’t be read';
    else if (open.length > 0) keptBecause = `it can be resumed: ${open.map((item) => item.id).join(', ')} not done`;
    else if (index < NEWEST) keptBecause = `one of the newest ${NEWEST}`;
    else if (!(nowMs - startedMs > RECENT_MS)) keptBecause = 'not older than 14 days';
    verdicts.push({ runId, keptBecause });
  }
  return verdicts;
}

/** 0: it is not there. */
async function modifiedMs(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mtimeMs ?? 0;
}
