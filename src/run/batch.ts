import type { Config, Role } from '../core/config.ts';
import type { Demand } from '../core/expected-cost.ts';
import type { ItemId } from '../core/ids.ts';
import type { PipelineName, WorkflowName } from '../core/paths.ts';
import type { PlannedItem, Replaced } from '../core/plan.ts';
import type { TaskReference } from '../worker/protocol.ts';
import type { Project } from './project.ts';

/** An item as a batch command collects it. */
export interface CollectedItem extends Pick<PlannedItem, 'id' | 'title' | 'error'> {
  /**
   * not-ready: nothing can be done with it until a person does something; named, it fails with its error.
   * dropped: a person decided that it is not to be done; named, it is skipped.
   */
  state: 'pending' | 'done' | 'dropped' | 'unreadable' | 'not-ready';
  /** How much text it brings, for the estimate of its cost. */
  chars: number;
  /** Files that it changes: two items that share one don't run at the same time. */
  files?: readonly string[];
  /** Items that it builds on. */
  after?: readonly string[];
  /** What is in its place and was made for another text. */
  replaces?: Replaced;
}

/** What a workflow supplies; everything else about running a batch exists once, in the runner. */
export interface Batch {
  workflow: WorkflowName;
  task: TaskReference;
  /** Who takes part. */
  roles: readonly Role[];
  /** Exactly these (a missing one is an error), or all there are. */
  collect(project: Project, ids: readonly ItemId[] | 'all'): Promise<CollectedItem[]>;
  /** Throws if these items can't be done with the chosen models, whatever else is asked. */
  refuse?(project: Project, items: readonly CollectedItem[]): Promise<void>;
  /** Refuses what can't work; returns what should be known. */
  requirements(project: Project): Promise<string[]>;
  /** What will be in its way, as far as it can be told before anything starts. */
  obstacles?(project: Project): Promise<string[]>;
  /** What it asks of its models for one item of this size. */
  demand(config: Config, chars: number, contextTokens: number): Demand;
  /** What is said of an item that is done already. */
  done: { reason: string; outputs: (project: Project, item: Pick<PlannedItem, 'id' | 'title'>) => Promise<string[]> };
  /** What is said when there is nothing to do at all. */
  nothingToDo: string;
}

/** The workflows of a command, one after another for each item; most have one. */
export interface Pipeline {
  name: PipelineName;
  stages: readonly [Batch, ...Batch[]];
}

export function pipelineOf(batch: Batch): Pipeline {
  return { name: batch.workflow, stages: [batch] };
}

/** Each role that takes part in any stage, once. */
export function rolesOf(stages: readonly Batch[]): Role[] {
  return [...new Set(stages.flatMap((stage) => stage.roles))];
}
