import { readdir } from 'node:fs/promises';
import { forecastLines, forecastOf } from '../core/forecast.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import type { WorkflowName } from '../core/paths.ts';
import { cycleNote, type Plan, type PlannedItem } from '../core/plan.ts';
import { type Schedule, scheduleOf } from '../core/schedule.ts';
import { explanationOf } from '../core/wording.ts';
import { headCommit } from '../git/repository.ts';
import { inspectJournal } from '../journal/inspect.ts';
import { requireSettings } from '../models/settings.ts';
import { readPromptFiles } from '../prompts/prompts.ts';
import { type Batch, type CollectedItem, isOpen, type Pipeline } from './pipeline.ts';
import { plannedCost } from './planned-cost.ts';
import { modelUses } from './prepare-run.ts';
import type { Project } from './project.ts';

interface PlanOptions {
  project: Project;
  pipeline: Pipeline;
  ids: readonly ItemId[] | 'all';
  parallel: number;
  /** The plan is shown and not run: it also has a cost estimate. */
  isDryRun: boolean;
}

/** An item with the stage that it is at. */
interface Staged {
  item: CollectedItem;
  stage: Batch;
}

/** What `--all` skips. */
const SKIPPED: ReadonlySet<CollectedItem['state']> = new Set(['done', 'already-done', 'dropped', 'not-ready'] as const);

/** What there is to do, in which order, and where each item resumes. Reads only. */
export async function planBatch({ project, pipeline, ids, parallel, isDryRun }: PlanOptions): Promise<Plan> {
  const { paths, git, config } = project;
  const collected = await collect(project, pipeline, ids);
  const notes = collected.flatMap(({ item }) =>
    ids === 'all' && item.state === 'not-ready' && item.error !== undefined ? [noteOf(item)] : [],
  );
  const chosen = ids === 'all' ? collected.filter(({ item }) => !SKIPPED.has(item.state)) : collected;
  for (const stage of pipeline.stages) {
    const items = chosen.filter((entry) => entry.stage === stage).map(({ item }) => item);
    if (items.length > 0 || pipeline.stages.length === 1) await stage.refuse?.(project, items);
  }
  await headCommit(git);
  readPromptFiles(paths.prompts);
  // Listed once: a look for each of ten thousand items would take longer than everything else.
  const checkpoints = new Set(await readdir(paths.checkpoints).catch(() => []));
  const planned = chosen.map(({ item, stage }) => planItem(item, project, stage.workflow, checkpoints));
  if (isDryRun) await markDropped(project, planned);
  const open = planned.filter(isOpen);
  const priced = chosen
    .filter(({ item }, index) => item.unposted === undefined && planned[index] !== undefined && isOpen(planned[index]))
    .map(({ item, stage }) => ({ item, ahead: pipeline.stages.slice(pipeline.stages.indexOf(stage)) }));
  const uses = modelUses(project, pipeline, open);
  for (const { config: own, roles } of uses) requireSettings(own, project.env, roles);
  const { order, groups, cycles, shared } = scheduleOf(open);
  for (const item of open) item.exclusive = [...new Set([...item.files, ...(shared.get(item.id) ?? [])])];
  const forecast = addForecasts(open, chosen, shared);
  const roles = new Set(pipeline.stages.flatMap((stage) => stage.roles));
  const byId = new Map<string, PlannedItem>(open.map((item) => [item.id, item]));
  const inOrder = order.flatMap((id) => byId.get(id) ?? []).values();
  return {
    workflow: pipeline.name,
    items: planned.map((item) => (isOpen(item) ? (inOrder.next().value ?? item) : item)),
    parallel,
    models: pipeline.stages[0].models ?? Object.fromEntries([...roles].map((role) => [role, config.models[role]])),
    contextTokens: config.context.maxTokens,
    ...(await plannedCost(project, priced, uses, isDryRun)),
    groups,
    notes: [
      ...notes,
      ...cycles.map(cycleNote),
      ...forecast,
      ...(await missingFoundations(project, pipeline, open, collected)),
      ...(await notesOfStages(project, pipeline, open)),
    ],
  };
}

/** Nobody reads more lines than this. */
const MOST_FORECAST_LINES = 20;

/** Adds each item's forecast to it, and returns the lines to show. */
function addForecasts(open: readonly PlannedItem[], chosen: readonly Staged[], shared: Schedule['shared']): string[] {
  const names = new Map(chosen.map(({ item }) => [item.id, item.names]));
  const designs = open.map(({ id, files, after }) => ({ id, files, after, ...(names.get(id) ?? NO_NAMES) }));
  const all = forecastOf(designs, { shared });
  for (const item of open) item.forecast = all.get(item.id) ?? [];
  const lines = forecastLines(designs, all);
  const more = lines.length - MOST_FORECAST_LINES;
  if (more <= 0) return lines;
  return [...lines.slice(0, MOST_FORECAST_LINES), `… and ${more} more of this kind (--json has all).`];
}

const NO_NAMES = { declares: [], adds: [], uses: [] };

async function notesOfStages(project: Project, { stages }: Pipeline, open: readonly PlannedItem[]): Promise<string[]> {
  if (open.length === 0) return [];
  const all = stages.map(async (stage) => {
    const items = open.filter(({ workflow, state }) => workflow === stage.workflow && state === 'new');
    return (await stage.notes?.(project, items)) ?? [];
  });
  return (await Promise.all(all)).flat();
}

/** Each item with the first stage that is not done. */
async function collect(project: Project, { stages }: Pipeline, ids: readonly ItemId[] | 'all'): Promise<Staged[]> {
  const [first, ...later] = stages;
  let staged: Staged[] = (await first.collect(project, ids)).map((item) => ({ item, stage: first }));
  for (const stage of later) {
    const passed = staged.filter(({ item }) => item.state === 'done').map(({ item }) => item.id);
    const next = new Map((await stage.collect(project, passed)).map((item) => [item.id, item]));
    staged = staged.map((entry) => {
      const item = entry.item.state === 'done' ? next.get(entry.item.id) : undefined;
      return item === undefined ? entry : { item, stage };
    });
  }
  return staged;
}

function noteOf({ id, error }: CollectedItem): string {
  return `Skipping ${id}. ${error === undefined ? '' : explanationOf(error.problem)}`.trimEnd();
}

function planItem(
  item: CollectedItem,
  { paths }: Project,
  workflow: WorkflowName,
  checkpoints: ReadonlySet<string>,
): PlannedItem {
  const { id, title, error = null, files = [], after = [], replaces = null, solved = null, digest } = item;
  const plain = {
    id,
    title,
    workflow,
    error,
    files,
    after,
    exclusive: files,
    replaces,
    solved,
    forecast: [],
    fromStep: null,
    reusedSteps: 0,
    ...definedOnly({ digest }),
  };
  if (item.state !== 'pending') return { ...plain, state: item.state };
  if (item.unposted !== undefined) return { ...plain, state: 'resumed', fromStep: item.unposted };
  if (!checkpoints.has(`${workflow}-${id}.db`)) return { ...plain, state: 'new' };
  const view = inspectJournal(paths.checkpoint(workflow, id));
  if (view === null || view.finished.length === 0) return { ...plain, state: 'new' };
  const fromStep = view.inFlight.at(-1) ?? `after ${view.finished.at(-1)?.name ?? 'the start'}`;
  return { ...plain, state: 'resumed', fromStep, reusedSteps: view.finished.length };
}

/** A dry run shows items that a person has dropped as dropped, before a run records it in their lineage. */
async function markDropped({ paths }: Project, items: PlannedItem[]): Promise<void> {
  const resumed = items.filter(({ state }) => state === 'resumed');
  if (resumed.length === 0) return;
  const { waitingItem } = await import('./standing/waiting-item.ts');
  for (const item of resumed)
    if (waitingItem(paths, item.id, [item.workflow])?.isDropped)
      Object.assign(item, { state: 'dropped', fromStep: null, reusedSteps: 0 });
}

function isDoneItem({ state }: CollectedItem): boolean {
  return state === 'done' || state === 'already-done';
}

/** A note for each item that builds on another one which is not implemented. */
async function missingFoundations(
  project: Project,
  { stages }: Pipeline,
  open: readonly PlannedItem[],
  collected: readonly Staged[],
): Promise<string[]> {
  const last = stages.at(-1) ?? stages[0];
  const planned = new Set<string>(open.map(({ id }) => id));
  const done = new Set<string>(collected.filter(({ item }) => isDoneItem(item)).map(({ item }) => item.id));
  const isDone = async (id: string): Promise<boolean> => {
    if (done.has(id)) return true;
    const found = isItemId(id) ? await last.collect(project, [id]).catch(() => []) : [];
    return found[0] !== undefined && isDoneItem(found[0]);
  };
  const notes: string[] = [];
  for (const { id, after } of open) {
    for (const other of after.filter((each) => !planned.has(each))) {
      if (!(await isDone(other)))
        notes.push(`${id} builds on ${other}, which is not implemented: it starts without it.`);
    }
  }
  return notes;
}
