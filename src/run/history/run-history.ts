import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { LastRun } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import type { ItemId } from '../../core/ids.ts';
import { DEPENDS_ON } from '../../core/item.ts';
import { type Paths, type PipelineName, type RunPaths, WORKFLOWS, type WorkflowName } from '../../core/paths.ts';
import { newRunState } from '../../core/run-state.ts';
import { isHolderAlive } from '../../process/lock.ts';
import { foldLines, type RunRecord, type RunSummary, readRecord, readSummary, runIds } from './run-files.ts';

/**
 * finished: every item ended well; failed: at least one failed; waiting: at least one waits for a person; paused: for quota;
 * interrupted: by a signal, or the program was killed.
 */
export type RunStanding = 'running' | 'finished' | 'failed' | 'waiting' | 'paused' | 'interrupted';

const STANDING_BY_EXIT_CODE: ReadonlyMap<number, RunStanding> = new Map([
  [EXIT.ok, 'finished'],
  [EXIT.failed, 'failed'],
  [EXIT.discuss, 'waiting'],
  [EXIT.paused, 'paused'],
  [EXIT.interrupted, 'interrupted'],
  [EXIT.terminated, 'interrupted'],
]);

export interface RunHistory {
  runId: string;
  workflow: PipelineName;
  startedAt: string;
  state: RunStanding;
  items: PastItem[];
}

interface PastItem {
  id: string;
  title: string;
  /** Its current or last workflow; null in records of older versions. */
  workflow: WorkflowName | null;
  status: string;
  step: string | null;
  costUsd: number | null;
  /** Why it ended with that status, if known. */
  reason: string | null;
  attempts: number;
  /** It waits for a key with quota. */
  needsQuota: boolean;
}

/** Reads only the files of a run, so it also works for running and killed runs. */
export async function readRun(paths: Paths, runId: string): Promise<RunHistory | null> {
  const record = await readRecord(paths, runId);
  if (record === null) return null;
  const { workflow, startedAt } = record;
  const summary = await readSummary(paths, runId);
  const ends = new Map(summary?.items.map((item) => [item.id, item] as const));
  const state = standingOf(record, summary);
  // The summary of a landing has an entry for each of its branches.
  const items = workflow === 'land' ? (summary?.items ?? record.items) : record.items;
  const folded = newRunState(items);
  foldLines(folded, await readFile(paths.run(runId).events, 'utf8').catch(() => ''));
  const pastItem = ({ id, title }: Pick<PastItem, 'id' | 'title'>): PastItem => {
    const done = ends.get(id);
    const seen = folded.items.get(id);
    const { workflow: at = null, step = null } = seen ?? {};
    if (done !== undefined) {
      const ended = endedItem(done);
      return { ...ended, title, workflow: at ?? ended.workflow, step: step ?? ended.step };
    }
    const last = seen?.status ? seen.ends.at(-1) : undefined;
    const isBegun = seen !== undefined && (seen.startedAtMs !== null || seen.ends.length > 0);
    const unfinished = !isBegun ? 'waiting' : state === 'running' ? 'running' : 'interrupted';
    return {
      id,
      title,
      workflow: at,
      status: seen?.status ?? unfinished,
      step,
      costUsd: seen?.costUsd ?? null,
      reason: last?.reason ?? null,
      attempts: last?.attempts ?? 0,
      needsQuota: seen?.wait?.reason === 'quota',
    };
  };
  return { runId, workflow, startedAt, state, items: items.map(pastItem) };
}

/** From a summary alone, which names only steps that were finished. */
function endedItem(item: RunSummary['items'][number]): PastItem {
  const { id, title, workflow = null, status, steps = [], attempts = 0, costUsd = null, reason, error } = item;
  const why = reason ?? error?.message ?? null;
  return {
    id,
    title,
    workflow,
    status,
    step: steps.at(-1)?.name ?? null,
    costUsd,
    reason: why,
    attempts,
    needsQuota: false,
  };
}

/** The recorded runs of an item. */
export interface ItemHistory {
  last: LastRun;
  /** A run is working on it, or will. */
  isUnderWay: boolean;
  needsQuota: boolean;
  costUsd: number;
  runs: number;
}

/** By id. Of runs that have ended, only the summary is read. */
export async function itemHistories(paths: Paths): Promise<Map<string, ItemHistory>> {
  const histories = new Map<string, ItemHistory>();
  for (const runId of await runIds(paths)) {
    const summary = await readSummary(paths, runId);
    const run = summary?.workflow === undefined ? await readRun(paths, runId) : null;
    const workflow = run?.workflow ?? summary?.workflow ?? 'run';
    for (const item of run?.items ?? summary?.items.map(endedItem) ?? []) {
      const { id, status, reason, step, costUsd, attempts, needsQuota } = item;
      const isUnderWay = run?.state === 'running' && (status === 'running' || status === 'waiting');
      const wasCancelled = status === 'cancelled' && attempts === 0 && !reason?.startsWith(DEPENDS_ON);
      // A run that never started the item says nothing about it.
      if (wasCancelled || (status === 'waiting' && !isUnderWay)) continue;
      const later = histories.get(id);
      const paidUsd = costUsd ?? 0;
      const last = { runId, workflow, status, reason, step };
      if (later === undefined) histories.set(id, { last, isUnderWay, needsQuota, costUsd: paidUsd, runs: 1 });
      else Object.assign(later, { costUsd: later.costUsd + paidUsd, runs: later.runs + 1 });
    }
  }
  return histories;
}

/** The state of a run, from its record and its summary. */
export function standingOf(
  record: Pick<RunRecord, 'pid' | 'processStart' | 'startedAt' | 'hub'>,
  summary: Pick<RunSummary, 'exitCode'> | null,
): RunStanding {
  if (summary !== null) return STANDING_BY_EXIT_CODE.get(summary.exitCode ?? EXIT.ok) ?? 'failed';
  // A hub works on its items even if no process follows them.
  const isRunning = record.hub?.isSubmitted === true || isHolderAlive({ ...record, since: record.startedAt });
  return isRunning ? 'running' : 'interrupted';
}

/** The running run that has this item, unless the item has ended there; null: none. */
export async function runUnderWay(paths: Paths, id: ItemId): Promise<string | null> {
  for (const runId of await runIds(paths)) {
    // Runs with a summary have ended.
    if (existsSync(paths.run(runId).summary)) continue;
    const run = await readRun(paths, runId);
    const item = run?.state === 'running' ? run.items.find((candidate) => candidate.id === id) : undefined;
    if (item?.status === 'waiting' || item?.status === 'running') return runId;
  }
  return null;
}

/** The logs of an item in one run, or in the newest run that has any: one per stage, in order. */
export function newestLogs(paths: Paths, id: ItemId, inRun: string | null): Promise<NewestFiles> {
  const logsOf = (run: RunPaths): string[] => WORKFLOWS.map((workflow) => run.log(workflow, id)).filter(existsSync);
  return newestInRuns(paths, logsOf, inRun);
}

type NewestFiles = { runId: string; files: string[] } | null;

/** The files of the named run, or of the newest run that has any. */
export async function newestInRuns(
  paths: Paths,
  filesOf: (run: RunPaths) => string[],
  inRun: string | null = null,
): Promise<NewestFiles> {
  for (const runId of inRun === null ? await runIds(paths) : [inRun]) {
    const files = filesOf(paths.run(runId));
    if (files.length > 0) return { runId, files };
  }
  return null;
}
