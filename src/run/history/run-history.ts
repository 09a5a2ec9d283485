import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { z } from 'zod';
import { DESIGN_SIZES, SANDBOX_MODES } from '../../core/config.ts';
import { AgentosError, type LastRun } from '../../core/errors.ts';
import type { AgentosEvent } from '../../core/events.ts';
import { EXIT } from '../../core/exit-code.ts';
import { type ItemId, isItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import {
  type Paths,
  PIPELINES,
  type PipelineName,
  type RunPaths,
  WORKFLOWS,
  type WorkflowName,
} from '../../core/paths.ts';
import type { Plan } from '../../core/plan.ts';
import { foldEvent, newRunState, type RunState } from '../../core/run-state.ts';
import { isHolderAlive } from '../../process/lock.ts';

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
  /** It waits for a key with quota. */
  needsQuota: boolean;
}

/** Reads only the files of a run, so it also works for running and killed runs. */
export async function readRun(paths: Paths, runId: string): Promise<RunHistory | null> {
  const record = await readRecord(paths, runId);
  if (record === null) return null;
  const { workflow, startedAt, items } = record;
  const summary = await readSummary(paths, runId);
  const ends = new Map(summary?.items.map((item) => [item.id, item] as const));
  const state = standingOf(record, summary);
  const folded = await foldedRun(paths, runId, record);
  const pastItem = ({ id, title }: RunRecord['items'][number]): PastItem => {
    const done = ends.get(id);
    const seen = folded.items.get(id);
    const last = seen?.ends.at(-1);
    const isBegun = seen !== undefined && (seen.startedAtMs !== null || seen.ends.length > 0);
    const unfinished = !isBegun ? 'waiting' : state === 'running' ? 'running' : 'interrupted';
    return {
      id,
      title,
      workflow: seen?.workflow ?? null,
      status: done?.status ?? seen?.status ?? unfinished,
      step: seen?.step ?? null,
      costUsd: done === undefined ? (seen?.costUsd ?? null) : (done.costUsd ?? null),
      reason: done?.reason ?? (seen?.status ? (last?.reason ?? null) : null),
      needsQuota: done === undefined && seen?.wait?.reason === 'quota',
    };
  };
  return { runId, workflow, startedAt, state, items: items.map(pastItem) };
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

/** Most lines are the output of programs, which the fold ignores. */
export const isFolded = (line: string): boolean => !line.includes('"type":"output-line"');

/** Skips lines of other versions, and half a line that a killed process left. */
export function foldLines(state: RunState, lines: string): void {
  for (const line of lines.split('\n')) {
    if (line === '' || !isFolded(line)) continue;
    try {
      foldEvent(state, parseJson(line) as AgentosEvent);
    } catch {
      // The other lines still count.
    }
  }
}

async function foldedRun(paths: Paths, runId: string, { items }: RunRecord): Promise<RunState> {
  const run = newRunState(items);
  foldLines(run, await readFile(paths.run(runId).events, 'utf8').catch(() => ''));
  return run;
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

const MOST_LOOKED_AT = 50;

/** The item in the newest run that has it; null: none of the latest runs does. */
export async function lastRunOf(paths: Paths, id: ItemId): Promise<LastRun | null> {
  for (const runId of (await runIds(paths)).slice(0, MOST_LOOKED_AT)) {
    const run = await readRun(paths, runId);
    const item = run?.items.find((candidate) => candidate.id === id);
    if (run && item)
      return { runId, workflow: run.workflow, status: item.status, reason: item.reason, step: item.step };
  }
  return null;
}

/** The logs of an item in one run, or in the newest run that has any: one per stage, in order. */
export async function newestLogs(
  paths: Paths,
  id: ItemId,
  inRun: string | null,
): Promise<{ runId: string; files: string[] } | null> {
  const logsOf = (run: RunPaths): string[] =>
    WORKFLOWS.map((workflow) => run.log(workflow, id)).filter((log) => existsSync(log));
  return newestInRuns(paths, logsOf, inRun === null ? undefined : [inRun]);
}

/** The files of the newest run that has any. */
export async function newestInRuns(
  paths: Paths,
  filesOf: (run: RunPaths) => string[],
  among?: readonly string[],
): Promise<{ runId: string; files: string[] } | null> {
  for (const runId of among ?? (await runIds(paths))) {
    const files = filesOf(paths.run(runId));
    if (files.length > 0) return { runId, files };
  }
  return null;
}

/*
 * The files of a run. `run.json` is written at the start and says what was asked for; `summary.json` is written at the end and
 * holds the results. An incomplete file counts as missing.
 */

const configFlags = z.looseObject({
  drafter: z.string().optional(),
  reviewer: z.string().optional(),
  implementer: z.string().optional(),
  offline: z.boolean().optional(),
  source: z.string().optional(),
  comment: z.boolean().optional(),
  pr: z.boolean().optional(),
  create: z.boolean().optional(),
  size: z.enum(DESIGN_SIZES).optional(),
  maxRounds: z.number().optional(),
  maxRetries: z.number().optional(),
  timeoutMs: z.number().optional(),
  globalTimeoutMs: z.number().optional(),
  idleTimeoutMs: z.number().optional(),
  maxCostUsd: z.number().optional(),
  maxCostPerItemUsd: z.number().optional(),
  sandbox: z.enum(SANDBOX_MODES).optional(),
});

const recordSchema = z.object({
  runId: z.string(),
  workflow: z.enum(PIPELINES),
  startedAt: z.string(),
  pid: z.int(),
  processStart: z.string().nullable().default(null),
  trace: z.object({ traceId: z.string(), spanId: z.string() }).nullish(),
  models: z.record(z.string(), z.string()).default({}),
  request: z
    .object({
      until: z.enum(['lld', 'implement']).optional(),
      again: z.boolean().default(false),
      /** What to compare: every combination of these is a candidate. */
      evaluation: z
        .object({
          /** Review past drafts again. */
          reviews: z.boolean(),
          /** Design past issues again. */
          designs: z.boolean(),
          drafters: z.array(z.string()),
          reviewers: z.array(z.string()),
          /** Folders of prompts; null: the repository's own. */
          prompts: z.array(z.string().nullable()),
          maxRounds: z.array(z.number()),
        })
        .optional(),
      /** Which branches to land, and how. */
      landing: z
        .object({
          ids: z.union([z.literal('all'), z.array(z.string().refine(isItemId))]),
          /** The implementer resolves conflicts. */
          resolve: z.boolean(),
          /** Fetch the remote's default branch first. */
          fetch: z.boolean(),
        })
        .optional(),
      parallel: z.int(),
      haltAfter: z.int().nullable(),
      config: configFlags,
    })
    .default({ again: false, parallel: 1, haltAfter: null, config: {} }),
  items: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      workflow: z.enum(WORKFLOWS).optional(),
      state: z.string().optional(),
    }),
  ),
  /** Of a run on a hub. */
  hub: z
    .looseObject({
      database: z.string(),
      repository: z.string(),
      isSubmitted: z.boolean(),
      isShownOnly: z.boolean().optional(),
      retryFlags: z.array(z.string()),
      plan: z.custom<Plan>((value) => typeof value === 'object' && value !== null),
    })
    .optional(),
});

const summarySchema = z.looseObject({
  workflow: z.enum(PIPELINES).optional(),
  exitCode: z.number().optional(),
  finishedAt: z.string(),
  retryCommand: z.string().nullish(),
  changeFirst: z.looseObject({ what: z.string() }).nullish(),
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

export type RunRecord = z.infer<typeof recordSchema>;
type RunSummary = z.infer<typeof summarySchema>;

/** Run folders, newest first. */
export async function runIds(paths: Paths): Promise<string[]> {
  const entries = await readdir(paths.runs, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .reverse();
}

/** The named run, or the newest whose record can be read; null: there is none. Throws if the named one can't be read. */
export async function readableRun(paths: Paths, named: string | undefined): Promise<RunRecord | null> {
  const known = await runIds(paths);
  if (named !== undefined && !known.includes(named)) throw new AgentosError({ code: 'run-missing', run: named });
  for (const runId of named === undefined ? known : [named]) {
    const record = await readRecord(paths, runId);
    if (record !== null) return record;
  }
  if (named === undefined) return null;
  throw new AgentosError({ code: 'run-unreadable', run: named, file: paths.run(named).record });
}

export async function readRecord(paths: Paths, runId: string): Promise<RunRecord | null> {
  return recordSchema.safeParse(await readJson(paths.run(runId).record)).data ?? null;
}

export async function readSummary(paths: Paths, runId: string): Promise<RunSummary | null> {
  return summarySchema.safeParse(await readJson(paths.run(runId).summary)).data ?? null;
}

/** The wanted events. Half a line that a killed process left is skipped. */
export async function readEvents(paths: Paths, runId: string, wanted: (line: string) => boolean): Promise<unknown[]> {
  const text = await readFile(paths.run(runId).events, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line !== '' && wanted(line) ? (parseJson(line) ?? []) : []));
}

async function readJson(file: string): Promise<unknown> {
  return parseJson(await readFile(file, 'utf8').catch(() => ''));
}
