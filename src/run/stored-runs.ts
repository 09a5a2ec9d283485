import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { z } from 'zod';
import { DESIGN_SIZES } from '../core/config.ts';
import { parseJson } from '../core/json.ts';
import { type Paths, PIPELINES, WORKFLOWS } from '../core/paths.ts';

/*
 * The files of a run, as they are read back. `run.json` says what was asked for, and is there from the first moment;
 * `summary.json` says what became of it, and is there when the run has ended. A file that is torn counts as not there.
 */

const configFlags = z.looseObject({
  drafter: z.string().optional(),
  reviewer: z.string().optional(),
  implementer: z.string().optional(),
  offline: z.boolean().optional(),
  size: z.enum(DESIGN_SIZES).optional(),
  maxRounds: z.number().optional(),
  maxRetries: z.number().optional(),
  timeoutMs: z.number().optional(),
  globalTimeoutMs: z.number().optional(),
  idleTimeoutMs: z.number().optional(),
  maxCostUsd: z.number().optional(),
  maxCostPerItemUsd: z.number().optional(),
});

const recordSchema = z.object({
  runId: z.string(),
  workflow: z.enum(PIPELINES),
  startedAt: z.string(),
  pid: z.int(),
  processStart: z.string().nullable().optional(),
  trace: z.object({ traceId: z.string(), spanId: z.string() }).nullish(),
  models: z.record(z.string(), z.string()).default({}),
  request: z
    .object({
      until: z.enum(['lld', 'implement']).optional(),
      parallel: z.int(),
      haltAfter: z.int().nullable(),
      config: configFlags,
    })
    .default({ parallel: 1, haltAfter: null, config: {} }),
  items: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      workflow: z.enum(WORKFLOWS).optional(),
      state: z.string().optional(),
    }),
  ),
});

const summarySchema = z.looseObject({
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

export async function readRecord(paths: Paths, runId: string): Promise<RunRecord | null> {
  return recordSchema.safeParse(await readJson(paths.run(runId).record)).data ?? null;
}

export async function readSummary(paths: Paths, runId: string): Promise<RunSummary | null> {
  return summarySchema.safeParse(await readJson(paths.run(runId).summary)).data ?? null;
}

export function hasSummary(paths: Paths, runId: string): boolean {
  return existsSync(paths.run(runId).summary);
}

/** Events of these types; a line that a killed process left half-written is passed over. */
export async function readEvents(paths: Paths, runId: string, wanted: (line: string) => boolean): Promise<unknown[]> {
  const text = await readFile(paths.run(runId).events, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line !== '' && wanted(line) ? (parseJson(line) ?? []) : []));
}

async function readJson(file: string): Promise<unknown> {
  return parseJson(await readFile(file, 'utf8').catch(() => ''));
}
