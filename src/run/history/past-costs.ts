import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import type { Role } from '../../core/config.ts';
import { parseJson } from '../../core/json.ts';
import { VENDORS } from '../../core/keys.ts';
import { costUsd, dearestPrice, type Prices, sumUsd } from '../../core/money.ts';
import { type Paths, WORKFLOWS, type WorkflowName } from '../../core/paths.ts';
import { type RunRecord, readRecord, runIds } from './run-files.ts';

/** The newest runs are the best basis, and a plan must not take seconds. */
const MOST_RUNS = 50;
const MOST_BYTES = 16 * 1024 * 1024;

/** A paid call, an answer, or the end of a stage. */
const eventSchema = z.object({
  type: z.enum(['model-answered', 'gateway-call', 'item-finished']),
  at: z.string().default(''),
  item: z.string(),
  workflow: z.enum(WORKFLOWS),
  costUsd: z.number().nullable().default(null),
  role: z.string().default(''),
  metered: z.boolean().default(true),
  vendor: z.enum(VENDORS).optional(),
  usage: z
    .object({
      inputTokens: z.number(),
      outputTokens: z.number(),
      cacheReadTokens: z.number(),
      cacheWriteTokens: z.number(),
    })
    .nullable()
    .default(null),
  /** Of a call: the number that the vendor answered with. */
  status: z.union([z.string(), z.number()]).nullable().default(null),
  goesOnWith: z.string().optional(),
});

type PastEvent = z.infer<typeof eventSchema>;

/** Costs of past items of this repository. */
export async function readPastCosts(paths: Paths, prices: Prices) {
  /** By stage of an item, then by role and model; null: a part of the cost is unknown. */
  const begun = new Map<string, Map<string, number | null>>();
  const samples = new Map<string, number[]>();
  const paid = new Map<string, number>();
  for (const { events, models, items } of await newestRuns(paths)) {
    for (const { id, state } of items) if (state === 'new') paid.delete(id);
    for (const event of events) {
      const { type, item, workflow, role } = event;
      const key = `${workflow}-${item}`;
      const costs = begun.get(key) ?? new Map<string, number | null>();
      if (type === 'gateway-call') paid.set(item, (paid.get(item) ?? 0) + chargeOf(event, prices));
      else if (type === 'model-answered') {
        const name = sampleName(workflow, role, models[role] ?? '');
        const before = costs.get(name);
        // What an unmetered call costs is not known, and counts as nothing.
        costs.set(name, sumUsd(before === undefined ? 0 : before, event.costUsd ?? (event.metered ? null : 0)));
        begun.set(key, costs);
      } else if (event.status === 'succeeded') {
        for (const [name, usd] of costs) if (usd !== null) samples.set(name, [...(samples.get(name) ?? []), usd]);
        begun.delete(key);
        if (event.goesOnWith === undefined) paid.delete(item);
      }
    }
  }
  return {
    /** The average of items that succeeded; null: none had this model in this role. */
    usual(workflow: WorkflowName, role: Role, model: string): { usd: number; items: number } | null {
      const known = samples.get(sampleName(workflow, role, model)) ?? [];
      return known.length === 0 ? null : { usd: sum(known) / known.length, items: known.length };
    },
    /** Paid so far for a stage of an item that has not succeeded yet. */
    begunUsd: (workflow: WorkflowName, id: string): number =>
      sum([...(begun.get(`${workflow}-${id}`)?.values() ?? [])]),
    /** Paid for an item since it was new, whatever the outcome. Without a known price, the vendor's highest price counts. */
    paidUsd: (id: string): number => paid.get(id) ?? 0,
  };
}

/** What all runs have paid since a time, including killed and running ones. */
export async function paidSince(paths: Paths, prices: Prices, sinceMs: number): Promise<number> {
  let totalUsd = 0;
  for (const runId of await runIds(paths)) {
    const written = await stat(paths.run(runId).events).catch(() => null);
    if (written === null || written.mtimeMs < sinceMs) continue;
    for (const event of await eventsOf(paths, runId))
      if (event.type === 'gateway-call' && Date.parse(event.at) >= sinceMs) totalUsd += chargeOf(event, prices);
  }
  return totalUsd;
}

function chargeOf({ costUsd: knownUsd, usage, vendor }: PastEvent, prices: Prices): number {
  const dearest = vendor === undefined ? null : dearestPrice(vendor, prices);
  return knownUsd ?? (usage === null || dearest === null ? 0 : costUsd(usage, dearest));
}

function sampleName(workflow: string, role: string, model: string): string {
  return [workflow, role, model].join('\0');
}

function sum(costs: readonly (number | null)[]): number {
  return costs.reduce<number>((total, usd) => total + (usd ?? 0), 0);
}

/** Oldest first: the cost of an item may be spread over several runs. */
async function newestRuns(paths: Paths): Promise<({ events: PastEvent[] } & Pick<RunRecord, 'models' | 'items'>)[]> {
  const runs: Awaited<ReturnType<typeof newestRuns>> = [];
  let bytes = 0;
  for (const runId of (await runIds(paths)).slice(0, MOST_RUNS)) {
    bytes += (await stat(paths.run(runId).events).catch(() => null))?.size ?? 0;
    if (bytes > MOST_BYTES) break;
    const record = await readRecord(paths, runId);
    if (record !== null) runs.unshift({ ...record, events: await eventsOf(paths, runId) });
  }
  return runs;
}

const TYPES = /"type":"(?:model-answered|item-finished|gateway-call)"/;

/** Half a line that a killed process left is skipped. */
async function eventsOf(paths: Paths, runId: string): Promise<PastEvent[]> {
  const text = await readFile(paths.run(runId).events, 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => TYPES.test(line));
  return lines.flatMap((line) => eventSchema.safeParse(parseJson(line)).data ?? []);
}
