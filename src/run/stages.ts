import type { CoordinatedItem, ItemEnd } from '../coordinator/coordinator.ts';
import type { ItemEvent } from '../core/events.ts';
import type { ItemId } from '../core/ids.ts';
import { labelOf, type WorkflowName } from '../core/paths.ts';
import type { Plan, PlannedItem } from '../core/plan.ts';
import type { TaskResult } from '../worker/protocol.ts';
import type { Batch, Pipeline } from './batch.ts';
import { itemInput } from './item-input.ts';
import type { Project } from './project.ts';
import type { ItemAccess } from './run-gateway.ts';

/** One stage of one item: what the coordinator knows as an item. */
export interface StagedItem {
  /** `lld-42`: an id alone would be the same for both stages of a pipeline. */
  key: string;
  id: ItemId;
  workflow: WorkflowName;
  label: string;
}

export function stagedItem(workflow: WorkflowName, id: ItemId): StagedItem {
  return { key: `${workflow}-${id}`, id, workflow, label: labelOf(workflow, id) };
}

export interface StageOptions {
  project: Project;
  plan: Plan;
  pipeline: Pipeline;
  accessOf: (id: ItemId) => ItemAccess | null;
}

export function coordinatedItem(
  { workflow, id, key }: StagedItem,
  { exclusive, after }: Pick<PlannedItem, 'exclusive' | 'after'>,
  { project, pipeline, accessOf }: StageOptions,
): CoordinatedItem {
  return {
    id: key,
    task: stageOf(pipeline, workflow).task,
    checkpoint: project.paths.checkpoint(workflow, id),
    input: () => itemInput(project, id, accessOf(id)),
    exclusive,
    after: after.map((other) => `${workflow}-${other}`),
  };
}

export function stageOf({ stages }: Pipeline, workflow: WorkflowName): Batch {
  return stages.find((stage) => stage.workflow === workflow) ?? stages[0];
}

/** What an item goes on with after a workflow, if there is more. */
export function stageAfter({ stages }: Pipeline, workflow: WorkflowName): Batch | undefined {
  return stages[stages.findIndex((stage) => stage.workflow === workflow) + 1];
}

/** Told with the end of a stage, when it is not the item's own end. */
export function goesOnWith(
  pipeline: Pipeline,
  workflow: WorkflowName,
  event: ItemEvent,
): { goesOnWith?: WorkflowName } {
  const following = stageAfter(pipeline, workflow);
  const isStage = event.type === 'item-finished' && event.status === 'succeeded' && following !== undefined;
  return isStage ? { goesOnWith: following.workflow } : {};
}

/** The stages that these items have yet to go through: nobody needs a key for what is behind all of them. */
export function stagesAhead({ stages }: Pipeline, items: readonly PlannedItem[]): Batch[] {
  const at = new Set(items.map(({ workflow }) => workflow));
  const first = stages.findIndex(({ workflow }) => at.has(workflow));
  return first < 0 ? [] : stages.slice(first);
}

/** There is something to do. */
export function isOpen({ state }: PlannedItem): boolean {
  return state === 'new' || state === 'resumed';
}

/** What needs no worker: an item that is done, and one that can't be worked on. */
export async function endedAlready(
  item: PlannedItem,
  project: Project,
  pipeline: Pipeline,
): Promise<Omit<ItemEnd, 'id'> | null> {
  const { workflow, state, error } = item;
  const plain = { attempts: 0, durationMs: 0, reason: null, error, outputs: [] };
  if (state === 'unreadable' || state === 'not-ready') return { ...plain, status: 'failed' };
  if (state === 'dropped') return { ...plain, status: 'skipped', reason: 'dropped by a person, for what it says now' };
  if (state !== 'done') return null;
  const { reason, outputs } = stageOf(pipeline, workflow).done;
  return { ...plain, status: 'skipped', reason, outputs: await outputs(project, item) };
}

/**
 * What another run has made of an item since the plan; null: it is still to be done. A stage that another one follows
 * has succeeded then: the item goes on.
 */
export async function doneElsewhere(
  { id, workflow }: StagedItem,
  project: Project,
  pipeline: Pipeline,
): Promise<TaskResult | null> {
  const stage = stageOf(pipeline, workflow);
  const [found] = await stage.collect(project, [id]);
  if (found?.state !== 'done') return null;
  const status = stageAfter(pipeline, workflow) === undefined ? 'skipped' : 'succeeded';
  return { status, reason: stage.done.reason, outputs: await stage.done.outputs(project, found) };
}
