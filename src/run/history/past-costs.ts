import { stat } from 'node:fs/promises';
import { z } from 'zod';
import type { Role } from '../../core/config.ts';
import { VENDORS } from '../../core/keys.ts';
import { costUsd, dearestPrice, type Prices, sumUsd } from '../../core/money.ts';
import { type Paths, WORKFLOWS, type WorkflowName } from '../../core/paths.ts';
import { type RunRecord, readEvents, readRecord, runIds } from './run-history.ts';

/** The newest runs are the best basis, and a plan must not take seconds. */
const MOST_RUNS = 50;
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_ITEMS = 50;

/** Costs of past items of this repository. */
interface PastCosts {
  /** The average of items that succeeded; null: none had this model in this role. */
  usual(workflow: WorkflowName, role: Role, model: string): { usd: number; items: number } | null;
  /** Paid so far for a stage of an item that has not succeeded yet. */
  begunUsd(workflow: WorkflowName, id: string): number;
  /** Paid for an item since it was new, whatever the outcome. Without a known price, the vendor's highest price counts. */
  paidUsd(id: string): number;
}

const usageSchema = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
});

const eventSchema = z.union([
  z.object({
    type: z.literal('model-answered'),
    item: z.string(),
    workflow: z.enum(WORKFLOWS),
    role: z.string(),
    metered: z.boolean(),
    costUsd: z.number().nullable(),
  }),
  z.object({
    type: z.literal('item-finished'),
    item: z.string(),
    workflow: z.enum(WORKFLOWS),
    status: z.string(),
    goesOnWith: z.string().optional(),
  }),
  z.object({
    type: z.literal('gateway-call'),
    item: z.string(),
    workflow: z.enum(WORKFLOWS),
    vendor: z.enum(VENDORS),
    costUsd: z.number().nullable(),
    usage: usageSchema.nullable(),
  }),
]);

type Call = Extract<z.infer<typeof eventSchema>, { type: 'gateway-call' }>;

type PastRun = { events: unknown[] } & Pick<RunRecord, 'models' | 'items'>;

/** By role and model; null: a part of the cost is unknown. */
type RoleCosts = Map<string, number | null>;

export async function readPastCosts(paths: Paths, prices: Prices): Promise<PastCosts> {
  const begun = new Map<string, RoleCosts>();
  const samples = new Map<string, number[]>();
  const paid = new Map<string, number>();
  for (const { events, models, items } of await newestRuns(paths)) {
    for (const { id, state } of items) if (state === 'new') paid.delete(id);
    for (const found of events) {
      const event = eventSchema.safeParse(found).data;
      if (event === undefined) continue;
      if (event.type === 'gateway-call') {
        paid.set(event.item, (paid.get(event.item) ?? 0) + chargeOf(event, prices));
        continue;
      }
      const key = `${event.workflow}-${event.item}`;
      const costs = begun.get(key) ?? new Map<string, number | null>();
      if (event.type === 'model-answered') {
        const name = sampleName(event.workflow, event.role, models[event.role] ?? '');
        const paidUsd = event.costUsd ?? (event.metered ? null : 0);
        const before = costs.get(name);
        costs.set(name, sumUsd(before === undefined ? 0 : before, paidUsd));
        begun.set(key, costs);
      } else if (event.status === 'succeeded') {
        for (const [name, usd] of costs) {
          if (usd !== null) samples.set(name, [...(samples.get(name) ?? []), usd].slice(-MOST_ITEMS));
        }
        begun.delete(key);
        if (event.goesOnWith === undefined) paid.delete(event.item);
      }
    }
  }
  return {
    usual(workflow, role, model) {
      const known = samples.get(sampleName(workflow, role, model)) ?? [];
      if (known.length === 0) return null;
      return { usd: known.reduce((sum, usd) => sum + usd, 0) / known.length, items: known.length };
    },
    begunUsd: (workflow, id) =>
      [...(begun.get(`${workflow}-${id}`)?.values() ?? [])].reduce<number>((sum, usd) => sum + (usd ?? 0), 0),
    paidUsd: (id) => paid.get(id) ?? 0,
  };
}

/** Older runs have no recent calls. */
const MOST_LOOKED_AT = 500;

const callSchema = eventSchema.options[2].extend({ at: z.string() });

/** What all runs have paid since a time, including killed and running ones. */
export async function paidSince(paths: Paths, prices: Prices, sinceMs: number): Promise<number> {
  let totalUsd = 0;
  for (const runId of (await runIds(paths)).slice(0, MOST_LOOKED_AT)) {
    const written = await stat(paths.run(runId).events).catch(() => null);
    if (written === null || written.mtimeMs < sinceMs) continue;
    for (const found of await readEvents(paths, runId, (line) => line.includes('"type":"gateway-call"'))) {
      const call = callSchema.safeParse(found).data;
      if (call !== undefined && Date.parse(call.at) >= sinceMs) totalUsd += chargeOf(call, prices);
    }
  }
  return totalUsd;
}

const TYPES = /"type":"(?:model-answered|item-finished|gateway-call)"/;

function chargeOf({ costUsd: knownUsd, usage, vendor }: Call, prices: Prices): number {
  const dearest = dearestPrice(vendor, prices);
  return knownUsd ?? (usage === null || dearest === null ? 0 : costUsd(usage, dearest));
}

function sampleName(workflow: string, role: string, model: string): string {
  return [workflow, role, model].join('\0');
}

/** Oldest first: the cost of an item may be spread over several runs. */
async function newestRuns(paths: Paths): Promise<PastRun[]> {
  const runs: PastRun[] = [];
  let bytes = 0;
  for (const runId of (await runIds(paths)).slice(0, MOST_RUNS)) {
    const run = paths.run(runId);
    bytes += await stat(run.events).then(
      ({ size }) => size,
      () => 0,
    );
    if (bytes > MOST_BYTES) break;
    const record = await readRecord(paths, runId);
    if (record === null) continue;
    const events = await readEvents(paths, runId, (line) => TYPES.test(line));
    runs.push({ events, models: record.models, items: record.items });
  }
  return runs.reverse();
}
