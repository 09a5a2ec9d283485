import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { LastRun } from '../core/errors.ts';
import { EXIT } from '../core/exit-code.ts';
import type { ItemId } from '../core/ids.ts';
import { type Paths, PIPELINES, type PipelineName, WORKFLOWS, type WorkflowName } from '../core/paths.ts';
import { isProcessAlive, processStat } from '../process/process-state.ts';

const recordSchema = z.object({
  runId: z.string(),
  workflow: z.enum(PIPELINES),
  startedAt: z.string(),
  pid: z.int(),
  processStart: z.string().nullable().optional(),
  items: z.array(z.object({ id: z.string(), title: z.string(), workflow: z.enum(WORKFLOWS).optional() })),
});

const eventSchema = z.looseObject({
  type: z.string(),
  item: z.string().optional(),
  workflow: z.enum(WORKFLOWS).optional().catch(undefined),
  step: z.string().optional(),
  status: z.string().optional(),
  reason: z.string().nullish().catch(null),
  costUsd: z.number().nullish().catch(null),
  goesOnWith: z.enum(WORKFLOWS).optional().catch(undefined),
});

/** What is read back of `summary.json`. */
export const summarySchema = z.looseObject({
  workflow: z.enum(PIPELINES).optional(),
  exitCode: z.number().optional(),
  finishedAt: z.string(),
  items: z.array(
    z.looseObject({
      id: z.string(),
      status: z.string(),
      reason: z.string().nullable().optional(),
      error: z.looseObject({ message: z.string() }).nullable().optional(),
      costUsd: z.number().nullable().optional(),
      steps: z.array(z.looseObject({ name: z.string() })).optional(),
      attempts: z.number().optional(),
    }),
  ),
});

/**
 * finished: every item ended well; failed: one did not; waiting: one waits for a person; paused: for quota;
 * interrupted: by a signal, or the program was killed.
 */
type RunState = 'running' | 'finished' | 'failed' | 'waiting' | 'paused' | 'interrupted';

const STATE_BY_EXIT_CODE: ReadonlyMap<number, RunState> = new Map([
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
  state: RunState;
  items: PastItem[];
}

interface PastItem {
  id: string;
  title: string;
  /** Where it is, or ended; null in the record of an older version. */
  workflow: WorkflowName | null;
  status: string;
  step: string | null;
  costUsd: number | null;
  /** Why it ended as it did, where there is more to say. */
  reason: string | null;
  /** Its call waits for a key with quota. */
  needsQuota: boolean;
}

/** Run folders, newest first. */
export async function runIds(paths: Paths): Promise<string[]> {
  const entries = await readdir(paths.runs, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .reverse();
}

/** What a run did, from its files alone, so that it works while the run goes on and after it was killed. */
export async function readRun(paths: Paths, runId: string): Promise<RunHistory | null> {
  const run = paths.run(runId);
  const record = recordSchema.safeParse(await readJson(run.record));
  if (!record.success) return null;
  const { workflow, startedAt, pid, processStart, items } = record.data;
  const summary = summarySchema.safeParse(await readJson(run.summary));
  const seen = await readProgress(run.events);
  const ends = new Map(summary.success ? summary.data.items.map((item) => [item.id, item] as const) : []);
  const ended = summary.success ? (STATE_BY_EXIT_CODE.get(summary.data.exitCode ?? EXIT.ok) ?? 'failed') : null;
  const state = ended ?? ((await isRunning(pid, startedAt, processStart ?? null)) ? 'running' : 'interrupted');
  return {
    runId,
    workflow,
    startedAt,
    state,
    items: items.map(({ id, title, workflow: first }) => {
      const done = ends.get(id);
      const progress = seen.get(id);
      const unfinished = progress === undefined ? 'waiting' : state === 'running' ? 'running' : 'interrupted';
      return {
        id,
        title,
        workflow: progress?.workflow ?? first ?? null,
        status: done?.status ?? progress?.status ?? unfinished,
        step: progress?.step ?? null,
        costUsd: done === undefined ? (progress?.costUsd ?? null) : (done.costUsd ?? null),
        reason: done?.reason ?? progress?.reason ?? null,
        needsQuota: done === undefined && (progress?.needsQuota ?? false),
      };
    }),
  };
}

/** The run that works on an item now, or is going to; null when none does. */
export async function runUnderWay(paths: Paths, id: ItemId): Promise<string | null> {
  for (const runId of await runIds(paths)) {
    // Most runs have ended; their summary tells without reading their events.
    if (existsSync(paths.run(runId).summary)) continue;
    const run = await readRun(paths, runId);
    const item = run?.state === 'running' ? run.items.find((candidate) => candidate.id === id) : undefined;
    if (item?.status === 'waiting' || item?.status === 'running') return runId;
  }
  return null;
}

const MOST_LOOKED_AT = 50;

/** What the newest run with this item says of it; null where none of the latest runs has it. */
export async function lastRunOf(paths: Paths, id: ItemId): Promise<LastRun | null> {
  for (const runId of (await runIds(paths)).slice(0, MOST_LOOKED_AT)) {
    const run = await readRun(paths, runId);
    const item = run?.items.find((candidate) => candidate.id === id);
    if (run && item)
      return { runId, workflow: run.workflow, status: item.status, reason: item.reason, step: item.step };
  }
  return null;
}

/** The logs of an item in one run, or in the newest that has any: one for each stage of a pipeline, in their order. */
export async function newestLogs(
  paths: Paths,
  id: ItemId,
  inRun: string | null,
): Promise<{ runId: string; files: string[] } | null> {
  for (const runId of inRun === null ? await runIds(paths) : [inRun]) {
    const files = WORKFLOWS.map((workflow) => paths.run(runId).log(workflow, id)).filter((log) => existsSync(log));
    if (files.length > 0) return { runId, files };
  }
  return null;
}

interface ItemProgress {
  workflow: WorkflowName | undefined;
  step: string | null;
  status: string | null;
  reason: string | null;
  needsQuota: boolean;
  costUsd: number | null;
}

const NOT_STARTED: ItemProgress = {
  workflow: undefined,
  step: null,
  status: null,
  reason: null,
  needsQuota: false,
  costUsd: null,
};

async function readProgress(file: string): Promise<Map<string, ItemProgress>> {
  const progress = new Map<string, ItemProgress>();
  const text = await readFile(file, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    // Most lines are what programs printed.
    if (line.includes('"type":"output-line"')) continue;
    const event = eventSchema.safeParse(parseJson(line));
    if (!event.success || event.data.item === undefined) continue;
    const { type, item, step, status, reason, costUsd, goesOnWith } = event.data;
    const known = progress.get(item) ?? NOT_STARTED;
    const isEnd = type === 'item-finished' && goesOnWith === undefined;
    progress.set(item, {
      workflow: goesOnWith ?? event.data.workflow ?? known.workflow,
      // What comes next has not begun a step yet.
      step: goesOnWith === undefined ? (step ?? known.step) : null,
      status: isEnd ? (status ?? null) : known.status,
      reason: isEnd ? (reason ?? null) : known.reason,
      needsQuota: type === 'quota-waiting' ? reason === 'quota' : type !== 'quota-resumed' && known.needsQuota,
      costUsd: type === 'model-answered' ? (known.costUsd ?? 0) + (costUsd ?? 0) : known.costUsd,
    });
  }
  return progress;
}

/** Null: it is not there, or not whole. */
export async function readJson(file: string): Promise<unknown> {
  return parseJson(await readFile(file, 'utf8').catch(() => ''));
}

/** A line that a killed process left half-written is passed over. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** How far the clock may have been set since the run began. */
const CLOCK_SLACK_MS = 60_000;

/** A process that began at another time than the run's is another one, to which the number was given since. */
async function isRunning(pid: number, startedAt: string, processStart: string | null): Promise<boolean> {
  if (processStart !== null) return isProcessAlive(pid, Number(processStart));
  if (!isProcessAlive(pid)) return false;
  const begunMs = await processBegunMs(pid);
  return begunMs === null || begunMs <= Date.parse(startedAt) + CLOCK_SLACK_MS;
}

const TICKS_PER_SECOND = 100;

/** The tick counts from the start of the machine; null where there is no /proc. */
async function processBegunMs(pid: number): Promise<number | null> {
  const ticks = processStat(pid)?.start;
  const uptime = Number((await readFile('/proc/uptime', 'utf8').catch(() => '')).split(' ')[0]);
  if (ticks === undefined || !(uptime > 0)) return null;
  return Date.now() - (uptime - ticks / TICKS_PER_SECOND) * 1_000;
}
