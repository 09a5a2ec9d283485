import type { CaseResult } from './evaluation.ts';
import type { AgentosEvent, WaitReason } from './events.ts';
import type { ItemEnd, ItemStatus } from './item.ts';
import type { LandedBranch } from './landing.ts';
import { addUsage, NO_USAGE, sumUsd, type Usage } from './money.ts';
import type { PipelineName, WorkflowName } from './paths.ts';
import { foldIntoTimeline, newTimeline, type Timeline } from './timeline.ts';

/** `untilMs` null: unknown. */
export interface Wait {
  reason: WaitReason;
  untilMs: number | null;
}

export interface FinishedStep {
  name: string;
  replayed: boolean;
  durationMs: number;
}

/** An item of a run, over all its stages. */
export interface ItemState {
  id: string;
  title: string;
  /** Its current or last stage; null: unknown yet. */
  workflow: WorkflowName | null;
  /** One for each stage that has ended. */
  ends: (ItemEnd & { workflow: WorkflowName })[];
  /** Of the whole item; null: it has not ended. */
  status: ItemStatus | null;
  /** When its current stage started; null: it is not running. */
  startedAtMs: number | null;
  /** The last step that was started or replayed. */
  step: string | null;
  steps: FinishedStep[];
  wait: Wait | null;
  /** The vendor whose quota it waits for. */
  waitsFor: string | null;
  usage: Usage;
  /** What this run paid; null: a price is unknown. */
  costUsd: number | null;
  /** Of an evaluation. */
  judged: CaseResult | null;
  /** Of a landing: what is known about its branches, by the ids of their items. */
  parts: Map<string, PartState>;
}

export interface PartState {
  landed: LandedBranch | null;
  usage: Usage;
  costUsd: number | null;
}

export interface KeyState {
  isRejected: boolean;
  coolingUntilMs: number;
}

/** What the events of a run say about it. */
export interface RunState {
  items: Map<string, ItemState>;
  /** One place per worker. The next item takes the place of one that ended, so the others keep theirs. */
  places: (ItemState | null)[];
  /** The most places that were taken at once. */
  peak: number;
  /** Items that ended, without those that the next run resumes. */
  done: number;
  counts: Partial<Record<ItemStatus, number>>;
  /** Of items that ran to their end: the basis for estimates. */
  measured: { items: number; durationMs: number };
  costUsd: number | null;
  keys: Map<string, KeyState>;
  /** Vendors without a key that has quota. */
  exhausted: Map<string, Wait>;
  /** The run was interrupted; nothing new starts. */
  stopping: boolean;
  /** Null: it has not started. */
  began: { atMs: number; workflow: PipelineName; parallel: number; models: Record<string, string> } | null;
  /** Null: it is running or was killed. */
  ended: { atMs: number; exitCode: number } | null;
  /** Null: not recorded. */
  timeline: Timeline | null;
}

export function newRunState(
  items: readonly { id: string; title: string; workflow?: WorkflowName | undefined }[] = [],
  { withTimeline = false } = {},
): RunState {
  return {
    items: new Map(items.map(({ id, title, workflow }) => [id, newItem(id, title, workflow ?? null)])),
    places: [],
    peak: 0,
    done: 0,
    counts: {},
    measured: { items: 0, durationMs: 0 },
    costUsd: 0,
    keys: new Map(),
    exhausted: new Map(),
    stopping: false,
    began: null,
    ended: null,
    timeline: withTimeline ? newTimeline() : null,
  };
}

function newItem(id: string, title: string, workflow: WorkflowName | null): ItemState {
  return {
    id,
    title,
    workflow,
    ends: [],
    status: null,
    startedAtMs: null,
    step: null,
    steps: [],
    wait: null,
    waitsFor: null,
    usage: NO_USAGE,
    costUsd: 0,
    judged: null,
    parts: new Map(),
  };
}

/** The one fold of events. It changes `state` in place, because a run has up to hundreds of thousands of events. */
export function foldEvent(state: RunState, event: AgentosEvent): void {
  const { timeline } = state;
  if ('item' in event) {
    foldItemEvent(state, event);
    if (timeline !== null) foldIntoTimeline(timeline, event, placeOf(state, event.item));
    return;
  }
  foldRunEvent(state, event);
  if (timeline !== null) foldIntoTimeline(timeline, event, -1);
}

function placeOf({ places }: RunState, id: string): number {
  return places.findIndex((place) => place?.id === id);
}

type EventOfRun = Exclude<AgentosEvent, { item: string }>;

function foldRunEvent(state: RunState, event: EventOfRun): void {
  const atMs = Date.parse(event.at);
  switch (event.type) {
    case 'run-started': {
      const { workflow, parallel, models } = event;
      state.began = { atMs, workflow, parallel, models };
      for (const id of event.items) if (!state.items.has(id)) state.items.set(id, newItem(id, '', null));
      return;
    }
    case 'run-finished':
      state.ended = { atMs, exitCode: event.exitCode };
      return;
    case 'interrupted':
      state.stopping = true;
      return;
    case 'key-cooling':
      state.keys.set(event.keyId, { isRejected: false, coolingUntilMs: atMs + event.forMs });
      return;
    case 'key-dead':
      state.keys.set(event.keyId, { isRejected: true, coolingUntilMs: 0 });
      return;
    case 'pool-exhausted': {
      const wait = { reason: event.reason, untilMs: event.forMs === null ? null : atMs + event.forMs };
      state.exhausted.set(event.vendor, wait);
      for (const item of state.places) if (item?.waitsFor === event.vendor) item.wait = wait;
      return;
    }
    case 'pool-resumed':
      state.exhausted.delete(event.vendor);
      return;
    default:
  }
}

type EventOfItem = Extract<AgentosEvent, { item: string }>;

function foldItemEvent(state: RunState, event: EventOfItem): void {
  const item = state.items.get(event.item) ?? newItem(event.item, '', null);
  state.items.set(item.id, item);
  const atMs = Date.parse(event.at);
  // Events of a killed worker may arrive after the end of its item.
  const isUnderWay = item.startedAtMs !== null;
  switch (event.type) {
    case 'item-started':
      item.title = event.title;
      enter(state, item, event.workflow, atMs);
      Object.assign(item, { step: null, ...RUNNING });
      return;
    case 'step-started':
      if (isUnderWay) Object.assign(item, { step: event.step, ...RUNNING });
      return;
    case 'step-finished':
      item.steps.push({ name: event.step, replayed: event.replayed, durationMs: event.durationMs });
      if (isUnderWay) item.step = event.step;
      return;
    case 'quota-waiting':
      if (!isUnderWay) return;
      item.wait = { reason: event.reason, untilMs: event.forMs === null ? null : atMs + event.forMs };
      item.waitsFor = event.vendor;
      return;
    case 'quota-resumed':
      if (isUnderWay) Object.assign(item, RUNNING);
      return;
    case 'gateway-call':
      if (event.keyId !== null && !state.keys.has(event.keyId))
        state.keys.set(event.keyId, { isRejected: false, coolingUntilMs: 0 });
      // There is one for every request to a vendor, so useless answers count too.
      if (event.usage === null) return;
      item.usage = addUsage(item.usage, event.usage);
      item.costUsd = sumUsd(item.costUsd, event.costUsd);
      state.costUsd = sumUsd(state.costUsd, event.costUsd);
      return;
    case 'item-retrying':
      // An attempt can fail before it reports its start.
      enter(state, item, event.workflow, atMs);
      item.wait = { reason: event.error.retry === 'quota' ? 'quota' : 'retry', untilMs: atMs + event.delayMs };
      item.waitsFor = null;
      return;
    case 'model-answered': {
      if (event.part === undefined) return;
      const part = partOf(item, event.part);
      // The cost of an unmetered call, such as a command's, counts as 0, so that the sum of the others stays known.
      const paidUsd = event.costUsd ?? (event.metered ? null : 0);
      Object.assign(part, { usage: addUsage(part.usage, event.usage), costUsd: sumUsd(part.costUsd, paidUsd) });
      return;
    }
    case 'case-judged':
      item.judged = event.result;
      return;
    case 'branch-landed': {
      const { id, status, reason, error, outputs } = event;
      partOf(item, id).landed = { id, status, reason, error, outputs };
      return;
    }
    case 'item-finished':
      end(state, item, event);
      return;
    default:
  }
}

function partOf({ parts }: ItemState, id: string): PartState {
  const part = parts.get(id) ?? { landed: null, usage: NO_USAGE, costUsd: 0 };
  parts.set(id, part);
  return part;
}

const RUNNING = { wait: null, waitsFor: null } as const;

function enter(state: RunState, item: ItemState, workflow: WorkflowName, atMs: number): void {
  item.workflow = workflow;
  if (item.startedAtMs !== null) return;
  item.startedAtMs = atMs;
  const free = state.places.indexOf(null);
  state.places[free === -1 ? state.places.length : free] = item;
  state.peak = Math.max(state.peak, state.places.filter((place) => place !== null).length);
}

/** Items with these ends did not run to their end, so their duration says nothing about the next one. */
const UNMEASURED: ReadonlySet<ItemStatus> = new Set<ItemStatus>(['skipped', 'paused', 'cancelled']);

function end(state: RunState, item: ItemState, event: Extract<EventOfItem, { type: 'item-finished' }>): void {
  const { status, attempts, durationMs, reason, error, outputs, workflow, goesOnWith } = event;
  item.ends.push({ workflow, status, attempts, durationMs, reason, error, outputs });
  item.workflow = workflow;
  item.startedAtMs = null;
  Object.assign(item, RUNNING);
  const place = state.places.indexOf(item);
  if (place >= 0) state.places[place] = null;
  const isMeasured = attempts > 0 && !UNMEASURED.has(status);
  if (isMeasured) state.measured.durationMs += durationMs;
  if (goesOnWith !== undefined) {
    // Only a stage has ended.
    Object.assign(item, { workflow: goesOnWith, step: null });
    return;
  }
  item.status = status;
  if (status !== 'paused' && status !== 'cancelled') state.done += 1;
  state.counts[status] = (state.counts[status] ?? 0) + 1;
  if (isMeasured) state.measured.items += 1;
}
