import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Paths } from '../core/paths.ts';

const recordSchema = z.object({
  runId: z.string(),
  workflow: z.literal('lld'),
  startedAt: z.string(),
  pid: z.int(),
  items: z.array(z.object({ id: z.string(), title: z.string() })),
});

const eventSchema = z.looseObject({
  type: z.string(),
  item: z.string().optional(),
  step: z.string().optional(),
  status: z.string().optional(),
});

const summarySchema = z.looseObject({
  exitCode: z.number().optional(),
  finishedAt: z.string(),
  items: z.array(z.looseObject({ id: z.string(), status: z.string(), costUsd: z.number().nullable().optional() })),
});

export interface RunHistory {
  runId: string;
  workflow: 'lld';
  startedAt: string;
  state: 'running' | 'finished' | 'interrupted';
  items: { id: string; title: string; status: string; step: string | null; costUsd: number | null }[];
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
  const { workflow, startedAt, pid, items } = record.data;
  const summary = summarySchema.safeParse(await readJson(run.summary));
  const seen = await readProgress(run.events);
  const state = summary.success ? 'finished' : isRunning(pid) ? 'running' : 'interrupted';
  return {
    runId,
    workflow,
    startedAt,
    state,
    items: items.map(({ id, title }) => {
      const done = summary.success ? summary.data.items.find((item) => item.id === id) : undefined;
      const progress = seen.get(id);
      const unfinished = progress === undefined ? 'waiting' : state === 'running' ? 'running' : 'interrupted';
      return {
        id,
        title,
        status: done?.status ?? progress?.status ?? unfinished,
        step: progress?.step ?? null,
        costUsd: done?.costUsd ?? null,
      };
    }),
  };
}

/** The newest log of an item, in whichever run it is. */
export async function newestLog(paths: Paths, id: string): Promise<{ runId: string; file: string } | null> {
  for (const runId of await runIds(paths)) {
    const directory = join(paths.run(runId).directory, 'logs');
    const names = await readdir(directory).catch(() => []);
    const name = names.find(
      (candidate) => candidate.endsWith(`-${id}.log`) && candidate.slice(0, -`-${id}.log`.length) === 'lld',
    );
    if (name) return { runId, file: join(directory, name) };
  }
  return null;
}

async function readProgress(file: string): Promise<Map<string, { step: string | null; status: string | null }>> {
  const progress = new Map<string, { step: string | null; status: string | null }>();
  const text = await readFile(file, 'utf8').catch(() => '');
  for (const line of text.split('\n')) {
    const event = eventSchema.safeParse(parseJson(line));
    if (!event.success || event.data.item === undefined) continue;
    const { item, step, status } = event.data;
    const known = progress.get(item) ?? { step: null, status: null };
    progress.set(item, {
      step: step ?? known.step,
      status: event.data.type === 'item-finished' ? (status ?? null) : known.status,
    });
  }
  return progress;
}

async function readJson(file: string): Promise<unknown> {
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

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
