import { statSync } from 'node:fs';
import { open, readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ConfigFlags } from '../../core/config.ts';
import { AgentosError, systemCode } from '../../core/errors.ts';
import type { AgentosEvent } from '../../core/events.ts';
import { isItemId, runIdOf } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import { type Paths, PIPELINES, WORKFLOWS } from '../../core/paths.ts';
import type { Plan } from '../../core/plan.ts';
import { foldEvent, type RunState } from '../../core/run-state.ts';

/*
 * The files of a run. `run.json` is written at the start and says what was asked for; `summary.json` is written at the end and
 * holds the results. An incomplete file counts as missing.
 */

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

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
      config: z.custom<ConfigFlags>(isObject),
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
      plan: z.custom<Plan>(isObject),
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
      title: z.string().default(''),
      workflow: z.enum(WORKFLOWS).optional(),
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
export type RunSummary = z.infer<typeof summarySchema>;

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

/** False for a run in a state folder that came with someone else's files: its maker could not know the path of the folder here. */
export function isRecordedHere(
  base: string,
  runId: string,
  { startedAt, pid }: Pick<RunRecord, 'startedAt' | 'pid'>,
): boolean {
  const time = new Date(startedAt);
  return !Number.isNaN(time.getTime()) && runId === runIdOf(time, base, pid);
}

export async function readSummary(paths: Paths, runId: string): Promise<RunSummary | null> {
  return summarySchema.safeParse(await readJson(paths.run(runId).summary)).data ?? null;
}

async function readJson(file: string): Promise<unknown> {
  return parseJson(await readFile(file, 'utf8').catch(() => ''));
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

/** Polling costs microseconds; a file system watch would wake us for every line, and does not work on every disk. */
const POLL_MS = 50;
const LARGEST_PIECE_BYTES = 4 << 20;
const LINE_FEED = 0x0a;

interface Piece {
  /** Whole lines, each with its line feed; empty: there is nothing new. */
  text: string;
  /** The offset of the next piece. */
  end: number;
}

/**
 * Reads a growing file from an offset up to its last whole line. Skips a line that is longer than a piece. `isFinal`: the file is
 * complete, so its last line need not have a line feed.
 */
export async function readPiece(path: string, from: number, { isFinal = false } = {}): Promise<Piece> {
  // The file may not exist yet, or may have been removed.
  const length = Math.min(LARGEST_PIECE_BYTES, (statSync(path, { throwIfNoEntry: false })?.size ?? 0) - from);
  if (length <= 0) return { text: '', end: from };
  try {
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
      const lines = buffer.lastIndexOf(LINE_FEED, bytesRead - 1) + 1;
      const bytes = lines === 0 && isFinal ? bytesRead : lines;
      if (bytes > 0) return { text: buffer.toString('utf8', 0, bytes), end: from + bytes };
      return { text: '', end: bytesRead === LARGEST_PIECE_BYTES ? from + bytesRead : from };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { text: '', end: from };
    throw error;
  }
}

/** Calls back with each new piece until the signal fires. Waits for the callback before it reads the next one. */
export async function followFile(
  path: string,
  from: number,
  { signal, onPiece }: { signal: AbortSignal; onPiece: (piece: Piece) => Promise<void> | void },
): Promise<void> {
  let at = from;
  while (!signal.aborted) {
    const piece = await readPiece(path, at);
    const isNew = piece.end > at;
    at = piece.end;
    if (piece.text !== '') await onPiece(piece);
    if (!isNew) await pause(POLL_MS, signal);
  }
}

/** Ends early when the signal fires. Keeps the process alive only if asked to. */
export function pause(ms: number, signal: AbortSignal, { holdsProgram = false } = {}): Promise<void> {
  return sleep(ms, undefined, { signal, ref: holdsProgram }).catch(() => undefined);
}
