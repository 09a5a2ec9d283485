import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Subscriber } from '../../core/events.ts';
import { sha256 } from '../../core/hash.ts';
import { type ItemId, parseItemId } from '../../core/ids.ts';
import { endedWell, ITEM_STATUSES, type Item, keyOf } from '../../core/item.ts';
import { parseJson } from '../../core/json.ts';
import { WORKFLOWS } from '../../core/paths.ts';
import type { Plan, PlannedItem } from '../../core/plan.ts';
import { reactionKey } from '../../core/reaction.ts';
import type { Summary } from '../../core/summary.ts';
import {
  dayAround,
  endedItem,
  type HeldBack,
  heldBack,
  startedItem,
  type WatchedEnd,
  type WatchedItem,
  waitAfter,
} from '../../core/watching.ts';
import { wordingOf } from '../../core/wording.ts';
import { namesIn, writeFileAtomic } from '../../process/files.ts';
import { paidSince } from '../history/past-costs.ts';
import { isOpen, type Pipeline } from '../pipeline.ts';
import { planBatch } from '../plan-batch.ts';
import type { Project } from '../project.ts';
import { inputHash } from '../standing/decide.ts';
import { waitingItem } from '../standing/waiting-item.ts';

/** The limit for a day, and what was paid. */
export interface DayBudget {
  limitUsd: number;
  paidUsd: number;
}

/** How far the checks of an item's pull request are. Null: not finished; otherwise a mark that changes when a draft may have become ready. */
export type Readiness = (id: ItemId) => string | null;

interface PassOptions {
  project: Project;
  pipeline: Pipeline;
  parallel: number;
  maxCostPerDayUsd: number | null;
  nowMs: number;
  readiness: Readiness;
}

/** The pending items at one moment: those that may start now, and those held back, with the reasons. */
export interface WatchPass extends PassOptions {
  /** With the items that may start. */
  plan: Plan;
  held: HeldBack[];
  day: DayBudget | null;
}

/** A mark that changes whenever the set of pending items may have changed. */
export async function watchMark(project: Project, last: string | null): Promise<string> {
  const { paths, git, configFile } = project;
  const source = await servicesMark(project, last?.split(' ')[0] ?? null);
  const listed = async (folder: string): Promise<string[]> =>
    (await namesIn(folder)).map((name) => join(folder, name)).sort();
  const files = [
    ...(await listed(paths.llds)),
    ...(await listed(paths.checkpoints)),
    configFile ?? join(paths.repository, 'agentos.yaml'),
  ];
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  const dates = files.map((file, at) => `${file}\0${stats[at]?.size}\0${stats[at]?.mtimeMs}`);
  const refs = await git.text(['for-each-ref', '--format=%(objectname) %(refname)']);
  return `${source} ${sha256([...dates, refs].join('\n'))}`;
}

/** Covers issues and, if we react to them, pull requests. If both are in one place, one request is enough. */
async function servicesMark({ source, config, hosts }: Project, last: string | null): Promise<string> {
  if (!config.remote.pr.open) return source.poll(last);
  const forge = await hosts.forge();
  if (forge.location === source.location) return forge.poll(last);
  const [issues = null, requests = null] = last?.split(SEPARATOR) ?? [];
  return (await Promise.all([source.poll(issues), forge.poll(requests)])).join(SEPARATOR);
}

const SEPARATOR = '\u001F';

/** Reads only. */
export async function watchPass(options: PassOptions): Promise<WatchPass> {
  const { project, pipeline, parallel, nowMs } = options;
  const { paths, config } = project;
  const plan = await planBatch({ project, pipeline, ids: 'all', parallel, isDryRun: false });
  const state = await readWatchState(paths.watch);
  const { startMs, endMs } = dayAround(nowMs);
  const limitUsd = options.maxCostPerDayUsd;
  const day = limitUsd === null ? null : { limitUsd, paidUsd: await paidSince(paths, config.prices, startMs) };
  const isSpent = day !== null && (day.paidUsd >= day.limitUsd || state.spentUpMs === startMs);
  const held: HeldBack[] = [];
  const start: PlannedItem[] = [];
  for (const item of plan.items) {
    const why = await whyHeld(options, item, state);
    if (why !== null) held.push(why);
    else if (isSpent)
      held.push({ id: item.id, status: 'paused', why: `$${day.limitUsd} a day are spent`, untilMs: endMs });
    else start.push(item);
  }
  const ready = withoutDependents(start, held);
  return { ...options, plan: planOf(plan, ready), held, day };
}

/** A reaction to an item's pull request is remembered separately from the item. */
function nameOf(item: Item): string {
  return item.workflow === 'react' ? keyOf(item) : item.id;
}

async function whyHeld(options: PassOptions, item: PlannedItem, state: WatchState): Promise<HeldBack | null> {
  const { project, nowMs, readiness } = options;
  const { id, workflow, error } = item;
  if (!isOpen(item)) {
    const why = error === null ? item.state : wordingOf(error.problem).message;
    return { id, status: error === null ? 'skipped' : 'failed', why, untilMs: null };
  }
  // A run can do nothing for a draft before its checks have passed.
  const waits: HeldBack = { id, status: 'skipped', why: 'its pull request waits for checks', untilMs: null };
  if (item.fromStep === 'ready' && readiness(id) === null) return waits;
  const known = state.items[nameOf(item)];
  // Most items were never started, so their text need not be read again.
  if (known === undefined) return null;
  const hash = await hashOf(options, item);
  if (item.fromStep === 'ready' && known.status !== null && endedWell(known.status) && known.hash === hash)
    return waits;
  const isDecided = (): boolean => (waitingItem(project.paths, id, [workflow])?.decided.length ?? 0) > 0;
  return heldBack(id, known, { workflow, hash, nowMs, isDecided: known.status === 'discuss' && isDecided() });
}

/** Empty if it can't be read, so it counts as a new text once it can. */
async function hashOf(
  { project, pipeline, readiness }: Pick<PassOptions, 'project' | 'pipeline' | 'readiness'>,
  { workflow, id, fromStep }: Item & Partial<Pick<PlannedItem, 'fromStep'>>,
): Promise<string> {
  if (fromStep === 'ready') return `ready ${readiness(id)}`;
  const reaction = workflow === 'react' ? pipeline.stages[0].settingOf?.(id)?.input?.reaction : undefined;
  if (reaction !== undefined) return reactionKey(reaction);
  return inputHash(project, workflow, id).catch(() => '');
}

/** Holds back items that build on one that is held back, and adds them to `held`. */
function withoutDependents(items: readonly PlannedItem[], held: HeldBack[]): PlannedItem[] {
  let left = [...items];
  for (;;) {
    const out = new Set(held.map(({ id }) => id));
    const waiting = left.flatMap(({ id, after }) => {
      const on = after.find((other) => out.has(other));
      return on === undefined ? [] : [{ id, status: 'cancelled' as const, why: `builds on ${on}`, untilMs: null }];
    });
    if (waiting.length === 0) return left;
    held.push(...waiting);
    left = left.filter((item) => !waiting.some(({ id }) => id === item.id));
  }
}

function planOf(plan: Plan, items: PlannedItem[]): Plan {
  const ids = new Set<string>(items.map(({ id }) => id));
  const groups = plan.groups
    .map((group) => ({ ...group, ids: group.ids.filter((id) => ids.has(id)) }))
    .filter((group) => group.ids.length > 1);
  return { ...plan, items, groups };
}

/** Runs a plan and shows it. Null: the run failed as a whole, and the error was printed. */
export type RunPass = (
  project: Project,
  pipeline: Pipeline,
  plan: Plan,
  subscriber: Subscriber,
) => Promise<Summary | null>;

/** Runs the items that may start as an ordinary run, within the rest of the day's budget, and records the results. */
export async function runPass(pass: WatchPass, run: RunPass): Promise<Summary | null> {
  const { project, pipeline, plan, day, nowMs } = pass;
  const { paths, config } = project;
  const before = await readWatchState(paths.watch);
  const state: WatchState = { ...before, items: { ...before.items } };
  const pending = new Map(plan.items.map((item) => [nameOf(item), item]));
  for (const [name, { status }] of Object.entries(state.items))
    if (status !== null && endedWell(status) && !pending.has(name)) delete state.items[name];
  for (const [name, item] of pending) {
    const hash = await hashOf(pass, item);
    state.items[name] = startedItem(state.items[name], { workflow: item.workflow, hash, nowMs });
  }
  await writeWatchState(paths.watch, state);
  const leftUsd = day === null ? Number.POSITIVE_INFINITY : day.limitUsd - day.paidUsd;
  const ownUsd = config.bounds.maxCostUsd ?? Number.POSITIVE_INFINITY;
  const bounds = leftUsd < ownUsd ? { ...config.bounds, maxCostUsd: leftUsd, hasChosenCostLimit: true } : config.bounds;
  const ends = new Map<string, Omit<WatchedEnd, 'hash'> & { isSpent: boolean }>();
  const summary = await run({ ...project, config: { ...config, bounds } }, pipeline, plan, (event) => {
    if (event.type !== 'item-finished' || event.goesOnWith !== undefined) return;
    const problem = event.error?.problem;
    const isSpent = problem?.code === 'over-budget' && problem.scope === 'run' && leftUsd < ownUsd;
    const status = isSpent ? 'cancelled' : event.status;
    ends.set(nameOf({ workflow: event.workflow, id: parseItemId(event.item) }), {
      workflow: event.workflow,
      status,
      forMs: isSpent ? null : waitAfter(event),
      isSpent,
    });
  }).catch(async (error: unknown) => {
    // Nothing was started.
    await writeWatchState(paths.watch, before);
    throw error;
  });
  const endedMs = Date.now();
  for (const [id, item] of pending) {
    const known = state.items[id];
    const end = ends.get(id);
    if (known === undefined || end === undefined) continue;
    const hash = await hashOf(pass, { workflow: end.workflow, id: item.id, fromStep: item.fromStep });
    state.items[id] = endedItem(known, { ...end, hash }, endedMs);
    if (end.isSpent) state.spentUpMs = dayAround(nowMs).startMs;
  }
  await writeWatchState(paths.watch, state);
  return summary;
}

const itemSchema: z.ZodType<WatchedItem> = z.object({
  workflow: z.enum(WORKFLOWS),
  hash: z.string(),
  attempts: z.int(),
  status: z.enum(ITEM_STATUSES).nullable(),
  atMs: z.number(),
  untilMs: z.number().nullable(),
});

const fileSchema = z.object({
  items: z.record(z.string(), itemSchema),
  /** The start of the day whose budget was too small for the next call; null: none. */
  spentUpMs: z.number().nullable(),
});

/** What a watch remembers, so that a restart changes nothing. */
type WatchState = z.infer<typeof fileSchema>;

/** Empty if the file is missing or damaged: then every pending item may start. */
async function readWatchState(path: string): Promise<WatchState> {
  const found = fileSchema.safeParse(parseJson(await readFile(path, 'utf8').catch(() => '')));
  return found.data ?? { items: {}, spentUpMs: null };
}

async function writeWatchState(path: string, state: WatchState): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(state, null, 2)}\n`);
}
