import type { Config, Role } from '../core/config.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { DesignNames } from '../core/forecast.ts';
import type { ItemId } from '../core/ids.ts';
import { isAgent, parseModelSpec } from '../core/model-spec.ts';
import type { PipelineName, WorkflowName } from '../core/paths.ts';
import type { Plan, PlannedItem, Replaced, Solved } from '../core/plan.ts';
import type { RunState } from '../core/run-state.ts';
import type { Summary } from '../core/summary.ts';
import type { Issue } from '../source/port.ts';
import type { ItemInput } from '../worker/adapters.ts';
import type { Calls } from './planned-cost.ts';
import type { Project } from './project.ts';
import type { Unposted } from './services/posts.ts';

/** An item as a batch finds it, before it is planned. */
export interface CollectedItem
  extends Pick<PlannedItem, 'id' | 'title' | 'digest'>,
    Partial<Pick<PlannedItem, 'files' | 'after'>> {
  /**
   * not-ready: a person has to do something first; if named, it fails with its error.
   * already-done: what it asks for was there before, so it has no further stage; if named, it is skipped.
   * dropped: a person decided against it; if named, it is skipped.
   */
  state: 'pending' | Exclude<PlannedItem['state'], 'new' | 'resumed'>;
  /** Why it is unreadable or not ready. */
  error?: ErrorRecord;
  /** The length of its text, for the cost estimate. */
  chars?: number;
  labels?: readonly string[];
  /** Names in its design, if it has one. */
  names?: DesignNames;
  replaces?: Replaced;
  solved?: Solved;
  /** It is done, but its pull request is not. */
  unposted?: Unposted;
  /** Its text, if it was read. */
  issue?: Issue;
}

const READ_AT_ONCE = 32;

/** Keeps the order; reads a few at a time, so that ten thousand files are not open at once. */
export async function readSome<T>(ids: readonly ItemId[], read: (id: ItemId) => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let at = 0; at < ids.length; at += READ_AT_ONCE)
    all.push(...(await Promise.all(ids.slice(at, at + READ_AT_ONCE).map(read))));
  return all;
}

/** What an item runs with in one stage. */
export interface ItemSetting {
  config: Config;
  roles: readonly Role[];
  /** For the worker, in addition to what every item gets. */
  input?: Partial<Pick<ItemInput, 'prompts' | 'replay' | 'landing' | 'reaction'>>;
}

/** What is particular to a workflow. Everything else about running a batch exists once. */
export interface Batch {
  workflow: WorkflowName;
  roles: readonly Role[];
  /** The usual model calls for one item of this size. */
  demand(chars: number, contextTokens: number): Calls[];
  /** Models by role, if the configuration does not name them. */
  models?: Record<string, string>;
  /** Where a collected item differs from the batch. Items with the same configuration share one object. */
  settingOf?(id: ItemId): Partial<ItemSetting> | undefined;
  /**
   * Called under the item's lock when it starts. Returns the text that the worker gets, and similar issues of a service; without a text
   * the worker reads it itself. `read`: the text, if it was just read.
   */
  start?(project: Project, id: ItemId, read: Issue | undefined): Promise<Pick<ItemInput, 'issue' | 'existing'>>;
  /** Exactly these ids (a missing one is an error), or all there are. */
  collect(project: Project, ids: readonly ItemId[] | 'all'): Promise<CollectedItem[]>;
  /** Throws if these items can't be done with the chosen models. */
  refuse?(project: Project, items: readonly CollectedItem[]): Promise<void>;
  /** Notes for a plan with these new items: for example, what will make items fail. Not called if nothing is to be done. */
  notes?(project: Project, items: readonly PlannedItem[]): Promise<string[]>;
  /** The reason and outputs of an item that is done already. */
  done: { reason: string; outputs: (project: Project, item: Pick<PlannedItem, 'id' | 'title'>) => Promise<string[]> };
  /** Completes the message "Nothing to do: …". */
  nothingToDo: string;
  /** For a batch whose items belong together: a retry resumes its run, and its summary says more than those of its items. */
  whole?: {
    /** The plan as it is shown. */
    shown?(plan: Plan): Plan;
    summary(plan: Plan, state: RunState): Partial<Summary>;
  };
}

/** The workflows that a command runs for each item, one after another. Most commands have one. */
export interface Pipeline {
  name: PipelineName;
  stages: readonly [Batch, ...Batch[]];
}

export function pipelineOf(batch: Batch): Pipeline {
  return { name: batch.workflow, stages: [batch] };
}

export function settingOf(stage: Batch, id: ItemId, config: Config): ItemSetting {
  return { config, roles: stage.roles, ...stage.settingOf?.(id) };
}

export function stageOf({ stages }: Pipeline, workflow: WorkflowName): Batch {
  return stages.find((stage) => stage.workflow === workflow) ?? stages[0];
}

/** The stage that follows a workflow, if there is one. */
export function stageAfter({ stages }: Pipeline, workflow: WorkflowName): Batch | undefined {
  return stages[stages.findIndex((stage) => stage.workflow === workflow) + 1];
}

/** The stages from the earliest that one of these items is at. Nothing is needed for the stages before. */
export function stagesAhead({ stages }: Pipeline, items: readonly Pick<PlannedItem, 'workflow'>[]): Batch[] {
  const at = new Set(items.map(({ workflow }) => workflow));
  const first = stages.findIndex(({ workflow }) => at.has(workflow));
  return first < 0 ? [] : stages.slice(first);
}

/** The item needs a worker. */
export function isOpen({ state }: PlannedItem): boolean {
  return state === 'new' || state === 'resumed';
}

/** A configuration that items run with, and the roles that its models play. All items share one, except in an evaluation. */
export type ModelUse = Pick<ItemSetting, 'config' | 'roles'>;

/** What the stages that are ahead of these items need. */
export function modelUses({ config }: Project, pipeline: Pipeline, items: readonly PlannedItem[]): ModelUse[] {
  const ahead = stagesAhead(pipeline, items);
  const settings = items.flatMap(({ id }) => ahead.map((stage) => settingOf(stage, id, config)));
  return [...Map.groupBy(settings, (setting) => setting.config)].map(([own, same]) => ({
    config: own,
    roles: [...new Set(same.flatMap(({ roles }) => roles))],
  }));
}

/** The models that the roles use. */
export function modelsIn(uses: readonly ModelUse[]): string[] {
  return uses.flatMap(({ config, roles }) => roles.map((role) => config.models[role]));
}

/** Whether set-up, tests, agents or commands may run for these items. */
export function startsPrograms(pipeline: Pipeline, open: readonly PlannedItem[], uses: readonly ModelUse[]): boolean {
  const isProgram = (model: string): boolean => {
    const spec = parseModelSpec(model);
    return spec.provider === 'command' || isAgent(spec);
  };
  const hasTests = stagesAhead(pipeline, open).some(({ workflow }) =>
    ['implement', 'land', 'react'].includes(workflow),
  );
  return hasTests || modelsIn(uses).some(isProgram);
}

type ServiceState = { state: 'already-done'; solved: Solved } | { state: 'not-ready'; error: ErrorRecord };

/** Why an issue is not worked on now, by what its service knows; null: the service knows no reason. */
export function serviceState({ id, facts }: Pick<Issue, 'id' | 'facts'>): ServiceState | null {
  if (facts === undefined) return null;
  const [request] = facts.answeredBy;
  if (request !== undefined) {
    const reason = `pull request #${request.number} for it is ${request.state}: ${request.url}`;
    return { state: 'already-done', solved: { reason, outputs: [request.url] } };
  }
  return facts.blockedBy.length === 0 ? null : blocked(id, facts.blockedBy, facts.blockedBy.length);
}

export function blocked(id: ItemId, by: string[], count: number): ServiceState {
  return { state: 'not-ready', error: toErrorRecord(new AgentosError({ code: 'issue-blocked', id, by, count })) };
}

/** Why `--all` does not take an issue; null: it does. An issue that is named needs no label. */
export function whyUnselected(
  { config: { remote } }: Pick<Project, 'config'>,
  { facts, labels }: Issue,
): string | null {
  if (facts === undefined || remote.select.query !== null) return null;
  const has = new Set(labels.map((label) => label.toLowerCase()));
  const missing = remote.select.labels.filter((label) => !has.has(label.toLowerCase()));
  return missing.length === 0 ? null : `--all skips it: it does not have the label ${missing.join(' and ')}`;
}
