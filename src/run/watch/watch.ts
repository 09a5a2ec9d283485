import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { type Problem, toErrorRecord } from '../../core/errors.ts';
import type { Subscriber } from '../../core/events.ts';
import { exitCodeOf } from '../../core/exit-code.ts';
import { sha256 } from '../../core/hash.ts';
import { type ItemId, parseItemId } from '../../core/ids.ts';
import { endedWell, type Item, keyOf } from '../../core/item.ts';
import type { Plan, PlannedItem } from '../../core/plan.ts';
import { reactionKey } from '../../core/reaction.ts';
import type { Summary } from '../../core/summary.ts';
import { wordingOf } from '../../core/wording.ts';
import { namesIn } from '../../process/files.ts';
import { datesOf } from '../../source/directory.ts';
import { paidSince } from '../history/past-costs.ts';
import { isOpen, type Pipeline } from '../pipeline.ts';
import { planBatch } from '../plan-batch.ts';
import type { Project } from '../project.ts';
import { openedFor } from '../services/posts.ts';
import { inputHash } from '../standing/decide.ts';
import { waitingItem } from '../standing/waiting-item.ts';
import type { Interruption } from '../stops.ts';
import {
  dayAround,
  endedItem,
  type HeldBack,
  heldBack,
  readWatchState,
  startedItem,
  type WatchedItem,
  waitAfter,
  withoutDependents,
  writeWatchState,
} from './watched-items.ts';

/** The state while nothing can start. */
export interface WatchIdle {
  /** Pending items, and why they are held back. */
  held: readonly HeldBack[];
  /** The limit for a day, and what was paid. */
  day: { limitUsd: number; paidUsd: number } | null;
  /** When the next look is; null: none. */
  nextLookMs: number | null;
}

interface WatchOptions {
  /** Opens the project with its current configuration. */
  open: () => Promise<Project>;
  /** Looked at one after another; each is a run of its own. */
  pipelines: (project: Project) => readonly Pipeline[];
  parallel: number;
  maxCostPerDayUsd: number | null;
  intervalMs: number;
  /** One pass, then the end. */
  once: boolean;
  interrupt: Pick<Interruption, 'polite' | 'by'>;
  clock: Clock;
  /** Runs a plan and shows it. Null: the run failed as a whole, and the error was printed. */
  run: (project: Project, pipeline: Pipeline, plan: Plan, subscriber: Subscriber) => Promise<Summary | null>;
  onIdle: (idle: WatchIdle) => void;
  /** Called when a pass fails; repeated problems are reported once. */
  onProblem: (problem: Problem) => void;
}

/**
 * Looks at what is pending, runs what may start, and waits for a change:
 *
 *   look ──▶ something may start ──▶ run ──▶ look
 *     └────▶ nothing may ──▶ idle ──▶ look      when the source, a design, a checkpoint or a branch has changed, or an item
 *                                               that was held back may start
 *
 * Returns the exit code of the first pass with `once`, else that of the signal. Rejects if the first pass fails; a later failure is
 * reported, and the pass repeated.
 */
export async function watch(options: WatchOptions): Promise<number> {
  const { interrupt, once, clock } = options;
  let hasLooked = false;
  let reported = '';
  const report = (error: unknown): void => {
    const { problem } = toErrorRecord(error);
    const said = JSON.stringify(problem);
    if (said !== reported) options.onProblem(problem);
    reported = said;
  };
  while (!interrupt.polite.aborted) {
    try {
      const project = await options.open();
      const mark = await watchMark(project);
      const looks: Look[] = [];
      const summaries: (Summary | null)[] = [];
      for (const pipeline of options.pipelines(project)) {
        const look = await lookAt(options, project, pipeline);
        if (interrupt.polite.aborted) return exitCodeOf([], interrupt.by());
        looks.push(look);
        if (look.plan.items.length > 0) summaries.push(await runLook(options, look));
        if (interrupt.polite.aborted) break;
      }
      hasLooked = true;
      reported = '';
      const held = looks.flatMap((look) => look.held);
      const day = looks.at(-1)?.day ?? null;
      if (once && summaries.length === 0) options.onIdle({ held, day, nextLookMs: null });
      if (once || interrupt.polite.aborted) {
        const ran = summaries.flatMap((summary) => summary?.items.map(({ status }) => status) ?? ['failed' as const]);
        return exitCodeOf([...ran, ...held.map(({ status }) => status)], interrupt.by());
      }
      // Items that could start now count as started, so the next look finds other items, or none.
      if (summaries.length === 0) await idle(options, project, { held, day }, mark, report);
    } catch (error) {
      if (once || !hasLooked) throw error;
      report(error);
      await clock.sleep(options.intervalMs, interrupt.polite);
    }
  }
  return exitCodeOf([], interrupt.by());
}

async function idle(
  { clock, intervalMs, interrupt, onIdle }: WatchOptions,
  project: Project,
  { held, day }: Pick<WatchIdle, 'held' | 'day'>,
  first: string,
  report: (error: unknown) => void,
): Promise<void> {
  const dueMs = held.reduce((soonest, { untilMs }) => Math.min(soonest, untilMs ?? soonest), Number.POSITIVE_INFINITY);
  for (;;) {
    const nowMs = clock.dateMs();
    const waitMs = Math.max(0, Math.min(intervalMs, dueMs - nowMs));
    onIdle({ held, day, nextLookMs: nowMs + waitMs });
    await clock.sleep(waitMs, interrupt.polite);
    if (interrupt.polite.aborted || clock.dateMs() >= dueMs) return;
    try {
      if ((await watchMark(project)) !== first) return;
    } catch (error) {
      // A failed look starts nothing.
      report(error);
    }
  }
}

/** Changes whenever the set of pending items may have changed. */
export async function watchMark(project: Project): Promise<string> {
  const { paths, git, source, config, hosts } = project;
  const forge = config.remote.pr.open ? await hosts.forge() : null;
  // If issues and pull requests are in one place, one request is enough.
  const isOnePlace =
    forge !== null && config.remote.source !== null && (await hosts.tracker()).location === forge.location;
  const polls = await Promise.all([isOnePlace ? '' : source.poll(), forge?.poll()]);
  const folders = [paths.llds, paths.checkpoints].map(async (folder) =>
    (await namesIn(folder)).map((name) => join(folder, name)),
  );
  const files = [...(await Promise.all(folders)).flat(), project.configFile ?? join(paths.repository, 'agentos.yaml')];
  const refs = await git.text(['for-each-ref', '--format=%(objectname) %(refname)']);
  return sha256([...polls, await datesOf(files), refs].join('\n'));
}

/** The pending items of a pipeline at one moment: those that may start now, and those held back, with the reasons. */
interface Look extends Pick<WatchIdle, 'day'> {
  project: Project;
  pipeline: Pipeline;
  /** With the items that may start. */
  plan: Plan;
  held: HeldBack[];
  nowMs: number;
  readiness: Readiness;
}

/** Reads only. */
async function lookAt(options: WatchOptions, project: Project, pipeline: Pipeline): Promise<Look> {
  const { paths, config } = project;
  const { parallel, maxCostPerDayUsd: limitUsd } = options;
  const nowMs = options.clock.dateMs();
  const readiness = await readinessIn(project);
  const plan = await planBatch({ project, pipeline, ids: 'all', parallel, isDryRun: false });
  const state = await readWatchState(paths.watch);
  const { startMs, endMs } = dayAround(nowMs);
  const day = limitUsd === null ? null : { limitUsd, paidUsd: await paidSince(paths, config.prices, startMs) };
  const isSpent = day !== null && (day.paidUsd >= day.limitUsd || state.spentUpMs === startMs);
  const look: Look = { project, pipeline, plan, held: [], day, nowMs, readiness };
  const start: PlannedItem[] = [];
  for (const item of plan.items) {
    const why = await whyHeld(look, item, state.items[nameOf(item)]);
    if (why !== null) look.held.push(why);
    else if (isSpent)
      look.held.push({ id: item.id, status: 'paused', why: `today’s budget of $${limitUsd} is spent`, untilMs: endMs });
    else start.push(item);
  }
  const items = withoutDependents(start, look.held);
  const ids = new Set<string>(items.map(({ id }) => id));
  const groups = plan.groups
    .map((group) => ({ ...group, ids: group.ids.filter((id) => ids.has(id)) }))
    .filter((group) => group.ids.length > 1);
  return { ...look, plan: { ...plan, items, groups } };
}

/** A reaction to an item's pull request is remembered separately from the item. */
function nameOf(item: Item): string {
  return item.workflow === 'react' ? keyOf(item) : item.id;
}

async function whyHeld(look: Look, item: PlannedItem, known: WatchedItem | undefined): Promise<HeldBack | null> {
  const { project, nowMs, readiness } = look;
  const { id, workflow, error } = item;
  if (!isOpen(item)) {
    const why = error === null ? item.state : wordingOf(error.problem).message;
    return { id, status: error === null ? 'skipped' : 'failed', why, untilMs: null };
  }
  // A run can do nothing for a draft before its checks have passed.
  const waits: HeldBack = { id, status: 'skipped', why: 'its pull request waits for checks', untilMs: null };
  if (item.fromStep === 'ready' && readiness(id) === null) return waits;
  // Most items were never started, so their text need not be read again.
  if (known === undefined) return null;
  const hash = await hashOf(look, item);
  if (item.fromStep === 'ready' && known.status !== null && endedWell(known.status) && known.hash === hash)
    return waits;
  const isDecided = (): boolean => (waitingItem(project.paths, id, [workflow])?.decided.length ?? 0) > 0;
  return heldBack(id, known, { workflow, hash, nowMs, isDecided: known.status === 'discuss' && isDecided() });
}

/** Empty if it can't be read, so it counts as a new text once it can. */
async function hashOf(
  { project, pipeline, readiness }: Look,
  { workflow, id, fromStep }: Pick<PlannedItem, 'workflow' | 'id' | 'fromStep'>,
): Promise<string> {
  if (fromStep === 'ready') return `ready ${readiness(id)}`;
  const reaction = workflow === 'react' ? pipeline.stages[0].settingOf?.(id)?.input?.reaction : undefined;
  if (reaction !== undefined) return reactionKey(reaction);
  return inputHash(project, workflow, id).catch(() => '');
}

/** How far the checks of an item's pull request are. Null: not finished; otherwise a mark that changes when a draft may have become ready. */
type Readiness = (id: ItemId) => string | null;

/** From the list of open pull requests. One that is not listed may be merged, so its item is looked at. */
async function readinessIn(project: Project): Promise<Readiness> {
  if (!project.config.remote.pr.open) return () => null;
  const open = await (await project.hosts.forge()).openPullRequests();
  const byNumber = new Map(open.map((request) => [request.number, request]));
  return (id) => {
    const request = byNumber.get(openedFor(project, id)?.number ?? -1);
    if (request === undefined) return 'closed';
    const { head, listed } = request;
    const checks = listed?.checks ?? null;
    return checks === 'pending' || checks === 'failed' ? null : `${head} ${checks}`;
  };
}

/** Runs the items that may start as an ordinary run, within the rest of the day's budget, and records the results. */
async function runLook({ run }: WatchOptions, look: Look): Promise<Summary | null> {
  const { project, pipeline, plan, day, nowMs } = look;
  const { paths, config } = project;
  const before = await readWatchState(paths.watch);
  const pending = new Map(plan.items.map((item) => [nameOf(item), item]));
  const state = { ...before, items: { ...before.items } };
  for (const [name, { status }] of Object.entries(state.items))
    if (status !== null && endedWell(status) && !pending.has(name)) delete state.items[name];
  for (const [name, item] of pending) {
    const hash = await hashOf(look, item);
    state.items[name] = startedItem(state.items[name], { workflow: item.workflow, hash, nowMs });
  }
  await writeWatchState(paths.watch, state);
  const leftUsd = day === null ? Number.POSITIVE_INFINITY : day.limitUsd - day.paidUsd;
  const isLess = leftUsd < (config.bounds.maxCostUsd ?? Number.POSITIVE_INFINITY);
  const bounds = isLess ? { ...config.bounds, maxCostUsd: leftUsd, hasChosenCostLimit: true } : config.bounds;
  const ends = new Map<string, Omit<Parameters<typeof endedItem>[1], 'hash'>>();
  const summary = await run({ ...project, config: { ...config, bounds } }, pipeline, plan, (event) => {
    if (event.type !== 'item-finished' || event.goesOnWith !== undefined) return;
    const { workflow, error } = event;
    const isSpent = isLess && error?.problem.code === 'over-budget' && error.problem.scope === 'run';
    if (isSpent) state.spentUpMs = dayAround(nowMs).startMs;
    const end = isSpent
      ? { status: 'cancelled' as const, forMs: null }
      : { status: event.status, forMs: waitAfter(event) };
    ends.set(nameOf({ workflow, id: parseItemId(event.item) }), { workflow, ...end });
  }).catch(async (error: unknown) => {
    // Nothing was started.
    await writeWatchState(paths.watch, before);
    throw error;
  });
  const endedMs = Date.now();
  for (const [name, { id, fromStep }] of pending) {
    const known = state.items[name];
    const end = ends.get(name);
    if (known === undefined || end === undefined) continue;
    const hash = await hashOf(look, { workflow: end.workflow, id, fromStep });
    state.items[name] = endedItem(known, { ...end, hash }, endedMs);
  }
  await writeWatchState(paths.watch, state);
  return summary;
}
