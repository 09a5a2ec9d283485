import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Subscriber } from '../core/events.ts';
import { sha256 } from '../core/hash.ts';
import { parseItemId } from '../core/ids.ts';
import { endedWell, type Item } from '../core/item.ts';
import type { Plan, PlannedItem } from '../core/plan.ts';
import type { Summary } from '../core/summary.ts';
import {
  dayAround,
  endedItem,
  type HeldBack,
  heldBack,
  startedItem,
  type WatchedEnd,
  waitAfter,
} from '../core/watching.ts';
import { wordingOf } from '../core/wording.ts';
import { createGit } from '../git/git.ts';
import { namesIn } from '../process/files.ts';
import { inputHash } from './decide.ts';
import { paidSince } from './past-costs.ts';
import { isOpen, type Pipeline } from './pipeline.ts';
import { planBatch } from './plan-batch.ts';
import type { Project } from './project.ts';
import { waitingItem } from './waiting-item.ts';
import { readWatchState, type WatchState, writeWatchState } from './watch-file.ts';

/** What may be paid in a day, and what was. */
export interface DayBudget {
  limitUsd: number;
  paidUsd: number;
}

/** One look at all that is pending: what may start now, and what may not, with the reasons. */
export interface WatchPass {
  project: Project;
  pipeline: Pipeline;
  /** Of what may start. */
  plan: Plan;
  held: HeldBack[];
  day: DayBudget | null;
  nowMs: number;
}

interface PassOptions {
  project: Project;
  pipeline: Pipeline;
  parallel: number;
  maxCostPerDayUsd: number | null;
  nowMs: number;
}

/** A mark that differs when something may have changed that decides what is pending. */
export async function watchMark(
  { paths, childEnv, configFile, source: issues }: Project,
  last: string | null,
): Promise<string> {
  const source = await issues.poll(last?.split(' ')[0] ?? null);
  const listed = async (folder: string): Promise<string[]> =>
    (await namesIn(folder)).map((name) => join(folder, name)).sort();
  const files = [
    ...(await listed(paths.llds)),
    ...(await listed(paths.checkpoints)),
    configFile ?? join(paths.repository, 'agentos.yaml'),
  ];
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  const dates = files.map((file, at) => `${file}\0${stats[at]?.size}\0${stats[at]?.mtimeMs}`);
  const refs = await createGit(paths.repository, childEnv).text(['for-each-ref', '--format=%(objectname) %(refname)']);
  return `${source} ${sha256([...dates, refs].join('\n'))}`;
}

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
    const why = await whyHeld(project, item, state, nowMs);
    if (why !== null) held.push(why);
    else if (isSpent)
      held.push({ id: item.id, status: 'paused', why: `$${day.limitUsd} a day are spent`, untilMs: endMs });
    else start.push(item);
  }
  const ready = withoutDependents(start, held);
  return { project, pipeline, plan: planOf(plan, ready), held, day, nowMs };
}

async function whyHeld(
  project: Project,
  item: PlannedItem,
  state: WatchState,
  nowMs: number,
): Promise<HeldBack | null> {
  const { id, workflow, error } = item;
  if (!isOpen(item)) {
    const why = error === null ? item.state : wordingOf(error.problem).message;
    return { id, status: error === null ? 'skipped' : 'failed', why, untilMs: null };
  }
  // A draft becomes ready by its checks, not by anything that a run could do.
  if (item.fromStep === 'ready')
    return { id, status: 'skipped', why: 'its pull request waits for checks', untilMs: null };
  const known = state.items[id];
  // Nothing was started of most of them: their text needs no second reading.
  if (known === undefined) return null;
  const hash = await hashOf(project, item);
  const isDecided = (): boolean => (waitingItem(project.paths, id, [workflow])?.decided.length ?? 0) > 0;
  return heldBack(id, known, { workflow, hash, nowMs, isDecided: known.status === 'discuss' && isDecided() });
}

/** Empty where it can't be read: then it is another text as soon as it can. */
function hashOf(project: Project, { workflow, id }: Item): Promise<string> {
  return inputHash(project, workflow, id).catch(() => '');
}

/** What builds on something that is held back is held back too; adds it there. */
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

/** Runs what may start as an ordinary run, within what is left of the day's budget, and notes what came of it. */
export async function runPass(
  { project, plan, day, nowMs }: WatchPass,
  run: (project: Project, plan: Plan, subscriber: Subscriber) => Promise<Summary | null>,
): Promise<Summary | null> {
  const { paths, config } = project;
  const before = await readWatchState(paths.watch);
  const state: WatchState = { ...before, items: { ...before.items } };
  const pending = new Set<string>(plan.items.map(({ id }) => id));
  for (const [id, { status }] of Object.entries(state.items))
    if (status !== null && endedWell(status) && !pending.has(id)) delete state.items[id];
  for (const item of plan.items) {
    const { id, workflow } = item;
    state.items[id] = startedItem(state.items[id], { workflow, hash: await hashOf(project, item), nowMs });
  }
  await writeWatchState(paths.watch, state);
  const leftUsd = day === null ? Number.POSITIVE_INFINITY : day.limitUsd - day.paidUsd;
  const ownUsd = config.bounds.maxCostUsd ?? Number.POSITIVE_INFINITY;
  const bounds = leftUsd < ownUsd ? { ...config.bounds, maxCostUsd: leftUsd, hasChosenCostLimit: true } : config.bounds;
  const ends = new Map<string, Omit<WatchedEnd, 'hash'> & { isSpent: boolean }>();
  const summary = await run({ ...project, config: { ...config, bounds } }, plan, (event) => {
    if (event.type !== 'item-finished' || event.goesOnWith !== undefined) return;
    const problem = event.error?.problem;
    const isSpent = problem?.code === 'over-budget' && problem.scope === 'run' && leftUsd < ownUsd;
    const status = isSpent ? 'cancelled' : event.status;
    ends.set(event.item, { workflow: event.workflow, status, forMs: isSpent ? null : waitAfter(event), isSpent });
  }).catch(async (error: unknown) => {
    // Nothing was started.
    await writeWatchState(paths.watch, before);
    throw error;
  });
  const endedMs = Date.now();
  for (const id of pending) {
    const known = state.items[id];
    const end = ends.get(id);
    if (known === undefined || end === undefined) continue;
    const hash = await hashOf(project, { workflow: end.workflow, id: parseItemId(id) });
    state.items[id] = endedItem(known, { ...end, hash }, endedMs);
    if (end.isSpent) state.spentUpMs = dayAround(nowMs).startMs;
  }
  await writeWatchState(paths.watch, state);
  return summary;
}
