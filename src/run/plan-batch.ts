import { forecastLines, forecastOf } from '../core/forecast.ts';
import { type ItemId, isItemId } from '../core/ids.ts';
import { definedOnly } from '../core/json.ts';
import type { PipelineName, WorkflowName } from '../core/paths.ts';
import { cycleNote, type Plan, type PlannedItem } from '../core/plan.ts';
import { type Schedule, scheduleOf } from '../core/schedule.ts';
import { explanationOf } from '../core/wording.ts';
import { headCommit } from '../git/repository.ts';
import { inspectJournal } from '../journal/inspect.ts';
import { requireSettings } from '../models/settings.ts';
import { namesIn } from '../process/files.ts';
import { readPromptFiles } from '../prompts/prompts.ts';
import { issueBatch, lldBatch } from './batches/document-batches.ts';
import { type EvalRequest, evalBatch } from './batches/eval-batch.ts';
import { implementAgain, implementBatch } from './batches/implement-batch.ts';
import { type LandRequest, landBatch } from './batches/land-batch.ts';
import { type ReactRequest, reactBatch } from './batches/react-batch.ts';
import { type Batch, type CollectedItem, isOpen, modelUses, type Pipeline, pipelineOf } from './pipeline.ts';
import { NOT_COUNTED, plannedCost } from './planned-cost.ts';
import type { Project } from './project.ts';

/** How far `run` goes. */
export type Until = 'lld' | 'implement';

/** Flags that change a pipeline. */
interface PipelineFlags {
  /** A dry run fetches nothing. */
  dryRun?: boolean | undefined;
  until?: Until | undefined;
  /** Implement items again that are done. */
  again?: boolean | undefined;
  evaluation?: EvalRequest | undefined;
  landing?: LandRequest | undefined;
  /** For a reaction: see `ReactRequest`. */
  unchanged?: ReactRequest['unchanged'];
}

/** The pipeline of a command, by the name that its runs are recorded with. */
export function pipelineNamed(name: PipelineName, flags: PipelineFlags = {}): Pipeline {
  const { dryRun = false, until, again = false, evaluation, landing, unchanged = new Map() } = flags;
  switch (name) {
    case 'eval':
      if (evaluation === undefined) throw new TypeError('an evaluation without candidates');
      return pipelineOf(evalBatch(evaluation));
    case 'land':
      if (landing === undefined) throw new TypeError('a landing without a request');
      return pipelineOf(landBatch({ ...landing, fetch: landing.fetch && !dryRun }));
    case 'react':
      return pipelineOf(reactBatch({ mayFetch: !dryRun, unchanged }));
    case 'lld':
      return pipelineOf(lldBatch);
    case 'implement':
      return pipelineOf(again ? implementAgain : implementBatch);
    case 'issue':
      return pipelineOf(issueBatch);
    case 'run':
      return { name: 'run', stages: until === 'lld' ? [lldBatch] : [lldBatch, implementBatch] };
  }
}

interface PlanOptions {
  project: Project;
  pipeline: Pipeline;
  ids: readonly ItemId[] | 'all';
  parallel: number;
  /** The plan is shown and not run: it also says what it costs. */
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
  const { name, stages } = pipeline;
  const collected = await collect(project, stages, ids);
  const chosen = ids === 'all' ? collected.filter(({ item }) => !SKIPPED.has(item.state)) : collected;
  for (const stage of stages) {
    const items = chosen.filter((entry) => entry.stage === stage).map(({ item }) => item);
    if (items.length > 0 || stages.length === 1) await stage.refuse?.(project, items);
  }
  await headCommit(git);
  readPromptFiles(paths.prompts);
  // Listed once: a look for each of ten thousand items would take longer than everything else.
  const checkpoints = new Set(await namesIn(paths.checkpoints));
  const all = chosen.map(({ item, stage }) => {
    const planned = planItem(item, project, stage.workflow, checkpoints);
    return { item, planned, ahead: stages.slice(stages.indexOf(stage)) };
  });
  if (isDryRun)
    await markDropped(
      project,
      all.map(({ planned }) => planned),
    );
  const open = all.flatMap(({ planned }) => (isOpen(planned) ? [planned] : []));
  const priced = all.filter(({ item, planned }) => item.unposted === undefined && isOpen(planned));
  const uses = modelUses(project, pipeline, open);
  for (const { config: own, roles } of uses) requireSettings(own, project.env, roles);
  const { order, groups, cycles, shared } = scheduleOf(open);
  for (const item of open) item.exclusive = [...new Set([...item.files, ...(shared.get(item.id) ?? [])])];
  const forecast = addForecasts(open, chosen, shared);
  const roles = new Set(stages.flatMap((stage) => stage.roles));
  const byId = new Map<string, PlannedItem>(open.map((item) => [item.id, item]));
  const inOrder = order.flatMap((id) => byId.get(id) ?? []).values();
  return {
    workflow: name,
    items: all.map(({ planned }) => (isOpen(planned) ? (inOrder.next().value ?? planned) : planned)),
    parallel,
    models: stages[0].models ?? Object.fromEntries([...roles].map((role) => [role, config.models[role]])),
    contextTokens: config.context.maxTokens,
    ...(isDryRun ? await plannedCost(project, priced, uses) : NOT_COUNTED),
    groups,
    notes: [
      ...(ids === 'all' ? collected.flatMap(({ item }) => skippingNote(item)) : []),
      ...cycles.map(cycleNote),
      ...forecast,
      ...(await missingFoundations(project, stages.at(-1) ?? stages[0], open, collected)),
      ...(await notesOfStages(project, pipeline, open)),
    ],
  };
}

/** Each item with the first stage that is not done. */
async function collect(
  project: Project,
  [first, ...later]: Pipeline['stages'],
  ids: readonly ItemId[] | 'all',
): Promise<Staged[]> {
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

function planItem(
  item: CollectedItem,
  { paths }: Project,
  workflow: WorkflowName,
  checkpoints: ReadonlySet<string>,
): PlannedItem {
  const { id, title, error = null, files = [], after = [], replaces = null, solved = null, digest, unposted } = item;
  const design = { files, after, exclusive: files, replaces, forecast: [], ...definedOnly({ digest }) };
  const plain = { id, title, workflow, error, solved, ...design, fromStep: null, reusedSteps: 0 };
  if (item.state !== 'pending') return { ...plain, state: item.state };
  if (unposted !== undefined) return { ...plain, state: 'resumed', fromStep: unposted };
  const view = checkpoints.has(`${workflow}-${id}.db`) ? inspectJournal(paths.checkpoint(workflow, id)) : null;
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

/** Nobody reads more lines than this. */
const MOST_FORECAST_LINES = 20;

/** Adds each item's forecast to it, and returns the lines to show. */
function addForecasts(open: readonly PlannedItem[], chosen: readonly Staged[], shared: Schedule['shared']): string[] {
  const names = new Map(chosen.map(({ item }) => [item.id, item.names]));
  const none = { declares: [], adds: [], uses: [] };
  const designs = open.map(({ id, files, after }) => ({ id, files, after, ...(names.get(id) ?? none) }));
  const all = forecastOf(designs, { shared });
  for (const item of open) item.forecast = all.get(item.id) ?? [];
  const lines = forecastLines(designs, all);
  const more = lines.length - MOST_FORECAST_LINES;
  if (more <= 0) return lines;
  return [...lines.slice(0, MOST_FORECAST_LINES), `… and ${more} more of this kind (--json has all).`];
}

function skippingNote({ id, state, error }: CollectedItem): string[] {
  return state === 'not-ready' && error !== undefined ? [`Skipping ${id}. ${explanationOf(error.problem)}`] : [];
}

function isDoneItem({ state }: Pick<CollectedItem, 'state'>): boolean {
  return state === 'done' || state === 'already-done';
}

/** A note for each item that builds on another one which is not implemented. */
async function missingFoundations(
  project: Project,
  last: Batch,
  open: readonly PlannedItem[],
  collected: readonly Staged[],
): Promise<string[]> {
  const planned = new Set<string>(open.map(({ id }) => id));
  const done = new Set<string>(collected.filter(({ item }) => isDoneItem(item)).map(({ item }) => item.id));
  const notes: string[] = [];
  for (const { id, after } of open) {
    for (const other of after.filter((each) => !planned.has(each) && !done.has(each))) {
      const [found] = isItemId(other) ? await last.collect(project, [other]).catch(() => []) : [];
      if (found === undefined || !isDoneItem(found))
        notes.push(`${id} builds on ${other}, which is not implemented: it starts without it.`);
    }
  }
  return notes;
}

async function notesOfStages(project: Project, { stages }: Pipeline, open: readonly PlannedItem[]): Promise<string[]> {
  if (open.length === 0) return [];
  const all = stages.map(async (stage) => {
    const items = open.filter(({ workflow, state }) => workflow === stage.workflow && state === 'new');
    return (await stage.notes?.(project, items)) ?? [];
  });
  return (await Promise.all(all)).flat();
}
