import { missingAgent } from '../agent/programs/agents.ts';
import type { CoordinatedEnd, CoordinatedItem } from '../coordinator/coordinator.ts';
import type { Config, Role } from '../core/config.ts';
import { AgentosError, codeOf, toErrorRecord } from '../core/errors.ts';
import type { Demand } from '../core/expected-cost.ts';
import { sha256 } from '../core/hash.ts';
import type { ItemId } from '../core/ids.ts';
import { type Item, type ItemEnd, itemOfKey, keyOf } from '../core/item.ts';
import { definedOnly } from '../core/json.ts';
import { fingerprintsOf } from '../core/mask.ts';
import type { PipelineName, WorkflowName } from '../core/paths.ts';
import type { PlannedItem, Replaced, Solved } from '../core/plan.ts';
import { wordingOf } from '../core/wording.ts';
import { type DesignFacts, designFacts } from '../documents/lld/document.ts';
import type { ExistingIssue } from '../forge/port.ts';
import { requireModels } from '../models/require-models.ts';
import type { SandboxTool } from '../process/sandbox/sandbox.ts';
import type { PromptFiles } from '../prompts/prompts.ts';
import type { Issue } from '../source/port.ts';
import type { ItemInput } from '../worker/adapters.ts';
import type { TaskReference, TaskResult } from '../worker/protocol.ts';
import { readLldText } from '../workflow/approved-lld.ts';
import type { Unposted } from './posts.ts';
import type { Project } from './project.ts';
import type { ItemAccess } from './run-gateway.ts';

/** An item as a batch command collects it. */
export interface CollectedItem extends Pick<PlannedItem, 'id' | 'title' | 'error'> {
  /**
   * not-ready: nothing can be done with it until a person does something; named, it fails with its error.
   * already-done: what it asks for was there before; it has no further stage. Named, it is skipped.
   * dropped: a person decided that it is not to be done; named, it is skipped.
   */
  state: 'pending' | 'done' | 'already-done' | 'dropped' | 'unreadable' | 'not-ready';
  /** How much text it brings, for the estimate of its cost. */
  chars: number;
  labels?: readonly string[];
  /** Files that it changes: two items that share one don't run at the same time. */
  files?: readonly string[];
  /** Items that it builds on. */
  after?: readonly string[];
  /** What its design is about; absent where there is none yet. */
  names?: Pick<DesignFacts, 'declares' | 'adds' | 'uses'>;
  /** What is in its place and was made for another text. */
  replaces?: Replaced;
  /** Of one that is already done. */
  solved?: Solved;
  /** Of the approved document that it is made from. */
  digest?: string;
  /** It is done here, and not yet where it is posted. */
  unposted?: Unposted;
  /** What it is made from, as it was read just now; absent where no more than its title was needed. */
  issue?: Issue;
}

const READ_AT_ONCE = 32;

/** In their order; a few at a time, so that ten thousand files are not open at once. */
export async function readSome<T>(ids: readonly ItemId[], read: (id: ItemId) => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let at = 0; at < ids.length; at += READ_AT_ONCE)
    all.push(...(await Promise.all(ids.slice(at, at + READ_AT_ONCE).map(read))));
  return all;
}

/** What is particular to an item where the items of a batch are not alike. */
export interface ItemSetting extends Partial<Pick<Batch, 'demand'>>, Pick<Batch, 'roles'> {
  /** One object for all items that share it. */
  config: Config;
  input?: Partial<Pick<ItemInput, 'prompts' | 'replay' | 'landing'>>;
}

/** What a workflow supplies; everything else about running a batch exists once. */
export interface Batch {
  workflow: WorkflowName;
  task: TaskReference;
  /** Who takes part. */
  roles: readonly Role[];
  /** By role, where the configuration doesn't say who plays it. */
  models?: Record<string, string>;
  /** Of an item that was collected; absent: all are alike. */
  settingOf?(id: ItemId): ItemSetting | undefined;
  /** What an item is made from, which its worker is handed; absent: the worker knows where to look. */
  read?(project: Project, id: ItemId): Promise<Issue>;
  /** Issues of a service that it looks like; absent: it is compared with files alone. */
  existing?(project: Project, issue: Issue): Promise<ExistingIssue[]>;
  /** Exactly these (a missing one is an error), or all there are. */
  collect(project: Project, ids: readonly ItemId[] | 'all'): Promise<CollectedItem[]>;
  /** Throws if these items can't be done with the chosen models, whatever else is asked. */
  refuse?(project: Project, items: readonly CollectedItem[]): Promise<void>;
  /** What will be in its way, as far as it can be told before anything starts. */
  obstacles?(project: Project): Promise<string[]>;
  /** Where items of a plan begin, if not where the checkout is. */
  begins?(project: Project, items: readonly PlannedItem[]): Promise<string[]>;
  /** What it asks of its models for one item of this size. */
  demand: (config: Config, chars: number, contextTokens: number) => Demand;
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

export function stageOf({ stages }: Pipeline, workflow: WorkflowName): Batch {
  return stages.find((stage) => stage.workflow === workflow) ?? stages[0];
}

/** What an item continues with after a workflow, if there is more. */
export function stageAfter({ stages }: Pipeline, workflow: WorkflowName): Batch | undefined {
  return stages[stages.findIndex((stage) => stage.workflow === workflow) + 1];
}

/** The stages that these items still have to pass: no key is needed for what is behind all of them. */
export function stagesAhead({ stages }: Pipeline, items: readonly PlannedItem[]): Batch[] {
  const at = new Set(items.map(({ workflow }) => workflow));
  const first = stages.findIndex(({ workflow }) => at.has(workflow));
  return first < 0 ? [] : stages.slice(first);
}

/** Who plays for these items: the configurations that they run with, and the roles that take part. */
export type Cast = Pick<ItemSetting, 'config' | 'roles'>;

export function castsOf({ config }: Project, pipeline: Pipeline, items: readonly PlannedItem[]): Cast[] {
  const ahead = stagesAhead(pipeline, items);
  const own = items.flatMap(({ id }) => ahead.flatMap((stage) => stage.settingOf?.(id) ?? []));
  const casts = [...new Map(own.map((setting) => [setting.config, setting])).values()];
  return casts.length > 0 ? casts : [{ config, roles: rolesOf(ahead) }];
}

/** Throws if roles can't be played as they are configured; returns warnings. */
export async function requirements({ childEnv }: Project, casts: readonly Cast[]): Promise<string[]> {
  const warnings = new Set<string>();
  for (const { config, roles } of casts) {
    for (const warning of requireModels(config, roles)) warnings.add(warning);
    for (const role of roles) {
      const missing = await missingAgent(config.models[role], childEnv['PATH']);
      if (missing !== null) throw new AgentosError(missing);
    }
  }
  return [...warnings];
}

/** There is something to do. */
export function isOpen({ state }: PlannedItem): boolean {
  return state === 'new' || state === 'resumed';
}

/** The end of an item that needs no worker: it is done, or can't be worked on; null: it needs one. */
export async function endedAlready(item: PlannedItem, project: Project, pipeline: Pipeline): Promise<ItemEnd | null> {
  const { workflow, state, error, solved } = item;
  const plain = { attempts: 0, durationMs: 0, reason: null, error, outputs: [] };
  if (state === 'unreadable' || state === 'not-ready') return { ...plain, status: 'failed' };
  if (state === 'dropped') return { ...plain, status: 'skipped', reason: 'dropped by a person, for what it says now' };
  if (solved !== null) return { ...plain, ...solved, status: 'skipped' };
  if (state !== 'done') return null;
  const { reason, outputs } = stageOf(pipeline, workflow).done;
  return { ...plain, status: 'skipped', reason, outputs: await outputs(project, item) };
}

/**
 * What another run has made of an item since the plan; null: it is still to be done. A stage that another one follows
 * has succeeded then: the item continues.
 */
export async function doneElsewhere(
  { id, workflow }: Item,
  { project, pipeline, fresh }: Pick<StageOptions, 'project' | 'pipeline' | 'fresh'>,
): Promise<TaskResult | null> {
  const stage = stageOf(pipeline, workflow);
  const [found] = await stage.collect(project, [id]).catch((error: unknown) => {
    if (codeOf(error) !== 'issue-not-taken') throw error;
    return [withdrawn(id, error)];
  });
  if (found?.issue !== undefined) fresh.set(id, found.issue);
  if (found?.state === 'not-ready' && found.error?.problem.code === 'issue-blocked')
    return { status: 'skipped', reason: wordingOf(found.error.problem).message, outputs: [] };
  if (found?.solved !== undefined) return { ...found.solved, status: 'skipped' };
  if (found?.state !== 'done' && found?.unposted === undefined) return null;
  const status = stageAfter(pipeline, workflow) === undefined ? 'skipped' : 'succeeded';
  return { status, reason: stage.done.reason, outputs: await stage.done.outputs(project, found) };
}

/** An issue that its service does not offer any more. */
function withdrawn(id: ItemId, error: unknown): CollectedItem {
  const reason = wordingOf(toErrorRecord(error).problem).message;
  return { id, title: id, chars: 0, error: null, state: 'already-done', solved: { reason, outputs: [] } };
}

/** What a run needs to hand the stages of its items to the coordinator. */
export interface StageOptions {
  project: Project;
  pipeline: Pipeline;
  /** Issues that were read for an item that starts now, by id. */
  fresh: Map<string, Issue>;
  /** Told of the text that an item starts with. */
  onRead?: (id: ItemId, issue: Issue) => void;
  runId: string;
  /** The repository's own, read once: what programs of one item write there must not reach the next. */
  prompts: PromptFiles;
  /** What programs of items run in; null: they run without one. */
  sandbox: SandboxTool | null;
  /** For a stage with these roles. */
  accessOf: (id: ItemId, cast: Cast) => ItemAccess | null;
}

/** One stage of an item, as the coordinator takes it; it announces the stage that follows. */
export function coordinatedItem(
  item: Item,
  { exclusive, after, digest }: Pick<PlannedItem, 'exclusive' | 'after' | 'digest'>,
  { project, pipeline, runId, prompts, sandbox, accessOf, fresh, onRead }: StageOptions,
): CoordinatedItem {
  const { workflow, id } = item;
  const following = stageAfter(pipeline, workflow);
  const stage = stageOf(pipeline, workflow);
  return {
    id: keyOf(item),
    task: stage.task,
    checkpoint: project.paths.checkpoint(workflow, id),
    input: async () => {
      const issue = fresh.get(id) ?? (await stage.read?.(project, id));
      // A later attempt reads it again.
      fresh.delete(id);
      if (issue !== undefined) onRead?.(id, issue);
      const setting = stage.settingOf?.(id);
      const cast = { config: project.config, roles: stage.roles, ...setting };
      const input = itemInput(
        project,
        id,
        { runId, sandbox, prompts, ...definedOnly({ digest }), ...setting?.input },
        accessOf(id, cast),
        setting?.config,
      );
      if (issue === undefined) return input;
      const existing = await stage.existing?.(project, issue);
      return { ...input, issue, ...(existing && { existing }) };
    },
    exclusive,
    after: after.map((other) => `${workflow}-${other}`),
    ...(following && { announces: keyOf({ workflow: following.workflow, id }) }),
  };
}

/** What follows the end of a stage: the item's next stage, if it ended well and there is one. */
export function nextStage({ id: key, status }: CoordinatedEnd, options: StageOptions): CoordinatedItem[] {
  const { workflow, id } = itemOf(key);
  const following = stageAfter(options.pipeline, workflow);
  if (following === undefined || status !== 'succeeded') return [];
  return [coordinatedItem({ workflow: following.workflow, id }, factsOf(options.project, id), options)];
}

export function itemOf(key: string): Item {
  const item = itemOfKey(key);
  if (item === null) throw new TypeError(`${key} is no key of an item`);
  return item;
}

/** A design that can't be read now is refused by the stage itself. */
function factsOf({ paths }: Project, id: ItemId): Pick<PlannedItem, 'exclusive' | 'after' | 'digest'> {
  try {
    const text = readLldText(paths.lld(id)) ?? '';
    const { files, after } = designFacts(text);
    return { exclusive: files, after, digest: sha256(text) };
  } catch {
    return { exclusive: [], after: [] };
  }
}

/** What a worker gets for one item; it never holds a key. */
function itemInput(
  { paths, config, secrets }: Project,
  id: ItemId,
  input: Pick<ItemInput, 'runId' | 'sandbox' | 'prompts' | 'replay' | 'landing' | 'digest'>,
  access: ItemAccess | null,
  own: Config = config,
): ItemInput {
  const { keys: _, endpoints: __, keyVariables: ___, ...rest } = own;
  return {
    ...input,
    id,
    repository: paths.repository,
    base: paths.base,
    config: rest,
    token: access?.token ?? null,
    endpoints: access?.endpoints ?? {},
    fingerprints: fingerprintsOf(secrets().map((secret) => secret.reveal())),
  };
}
