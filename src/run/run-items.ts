import type { CoordinatedEnd, CoordinatedItem } from '../coordinator/coordinator.ts';
import { codeOf } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import type { ItemId } from '../core/ids.ts';
import { type Item, type ItemEnd, itemOfKey, keyOf } from '../core/item.ts';
import { definedOnly } from '../core/json.ts';
import { fingerprintsOf } from '../core/mask.ts';
import type { PlannedItem } from '../core/plan.ts';
import { messageOf, wordingOf } from '../core/wording.ts';
import { designFacts } from '../documents/lld/document.ts';
import type { SandboxTool } from '../process/sandbox/sandbox.ts';
import type { PromptFiles } from '../prompts/prompts.ts';
import type { Issue } from '../source/port.ts';
import type { ItemInput } from '../worker/adapters.ts';
import type { TaskResult } from '../worker/protocol.ts';
import { readLldText } from '../workflow/approved-documents.ts';
import { type CollectedItem, type Pipeline, settingOf, stageAfter, stageOf, whyUnselected } from './pipeline.ts';
import type { Project } from './project.ts';

/** The end of a planned item that needs no worker, because it is done or can't be worked on; null: it needs one. */
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
 * Whether another run has done an item since the plan, or its service no longer offers it; result null: it still has to be done. A stage
 * that another one follows counts as succeeded then, so that the item continues. `isSelected`: the item was selected by its labels,
 * not named.
 */
export async function doneElsewhere(
  { id, workflow }: Item,
  { project, pipeline, isSelected }: { project: Project; pipeline: Pipeline; isSelected: boolean },
): Promise<{ result: TaskResult | null; issue?: Issue | undefined }> {
  const stage = stageOf(pipeline, workflow);
  const skipped = (reason: string, outputs: string[] = []): TaskResult => ({ status: 'skipped', reason, outputs });
  let found: CollectedItem | undefined;
  try {
    [found] = await stage.collect(project, [id]);
  } catch (error) {
    if (codeOf(error) !== 'issue-not-taken') throw error;
    return { result: skipped(messageOf(error)) };
  }
  const issue = found?.issue;
  // Its label may have been removed since the plan.
  const unselected = isSelected && issue !== undefined ? whyUnselected(project, issue) : null;
  if (unselected !== null) return { issue, result: skipped(unselected) };
  if (found?.state === 'not-ready' && found.error?.problem.code === 'issue-blocked')
    return { issue, result: skipped(wordingOf(found.error.problem).message) };
  if (found?.solved !== undefined) return { issue, result: skipped(found.solved.reason, found.solved.outputs) };
  if (found?.state !== 'done' && found?.unposted === undefined) return { issue, result: null };
  const status = stageAfter(pipeline, workflow) === undefined ? 'skipped' : 'succeeded';
  return { issue, result: { status, reason: stage.done.reason, outputs: await stage.done.outputs(project, found) } };
}

/** What a worker may know of the gateway: its address and the item's own token, never a key. */
export type ItemAccess = Pick<ItemInput, 'endpoints'> & { token: string };

export interface RunItemsOptions {
  project: Project;
  pipeline: Pipeline;
  runId: string;
  /** Items were selected by their labels, not named. */
  isSelected: boolean;
  /** Read once: what a program of one item writes there must not reach the next. */
  prompts: PromptFiles;
  /** Null: programs of items run without a sandbox. */
  sandbox: SandboxTool | null;
  /** Called with the text that an item starts with. */
  onRead: (id: ItemId, issue: Issue) => void;
  /** Null: no gateway is needed. */
  accessOf: (id: ItemId, models: readonly string[]) => ItemAccess | null;
}

/** What the coordinator has to know about the order of items. */
type Order = Pick<PlannedItem, 'exclusive' | 'after' | 'digest'>;

export type RunItems = ReturnType<typeof createRunItems>;

/** The items of a run as the coordinator takes them: each stage of an item is an item of its own. */
export function createRunItems(options: RunItemsOptions) {
  const { project, pipeline } = options;
  /** Texts that `alreadyDone` has just read for items that start now. */
  const fresh = new Map<string, Issue>();

  async function input({ workflow, id }: Item, digest?: string): Promise<ItemInput> {
    const own = stageOf(pipeline, workflow);
    const started = await own.start?.(project, id, fresh.get(id));
    // A later attempt reads it again.
    fresh.delete(id);
    if (started?.issue !== undefined) options.onRead(id, started.issue);
    const { config, roles, input: more } = settingOf(own, id, project.config);
    const { keys: _, endpoints: __, keyVariables: ___, ...shared } = config;
    const models = roles.map((role) => config.models[role]);
    const access = options.accessOf(id, models);
    return {
      id,
      runId: options.runId,
      repository: project.paths.repository,
      base: project.paths.base,
      config: shared,
      sandbox: options.sandbox,
      token: access?.token ?? null,
      endpoints: access?.endpoints ?? {},
      fingerprints: fingerprintsOf(project.secrets().map((secret) => secret.reveal())),
      prompts: options.prompts,
      ...definedOnly({ digest, ...started }),
      ...more,
    };
  }

  /** A stage of an item. It announces the stage that follows. */
  function stage(item: Item, { exclusive, after, digest }: Order): CoordinatedItem {
    const { workflow, id } = item;
    const following = stageAfter(pipeline, workflow);
    return {
      id: keyOf(item),
      task: { builtIn: workflow },
      checkpoint: project.paths.checkpoint(workflow, id),
      input: () => input(item, digest),
      exclusive,
      after: after.map((other) => `${workflow}-${other}`),
      ...(following && { announces: keyOf({ workflow: following.workflow, id }) }),
    };
  }

  return {
    stage,
    /** What the worker gets for a stage of an item. */
    input,
    /** The stage that follows one that has ended, if that succeeded and there is one. */
    next({ id: key, status }: Pick<CoordinatedEnd, 'id' | 'status'>): CoordinatedItem[] {
      const { workflow, id } = itemOf(key);
      const following = stageAfter(pipeline, workflow);
      if (following === undefined || status !== 'succeeded') return [];
      return [stage({ workflow: following.workflow, id }, orderOf(project, id))];
    },
    /** Called under the item's lock, before its first attempt. */
    async alreadyDone(item: Item): Promise<TaskResult | null> {
      const { result, issue } = await doneElsewhere(item, options);
      if (issue !== undefined) fresh.set(item.id, issue);
      return result;
    },
  };
}

export function itemOf(key: string): Item {
  const item = itemOfKey(key);
  if (item === null) throw new TypeError(`${key} is not the key of an item`);
  return item;
}

/** By its design. A design that can't be read holds nothing up: its own stage refuses it. */
function orderOf({ paths }: Project, id: ItemId): Order {
  try {
    const text = readLldText(paths.lld(id)) ?? '';
    const { files, after } = designFacts(text);
    return { exclusive: files, after, digest: sha256(text) };
  } catch {
    return { exclusive: [], after: [] };
  }
}
