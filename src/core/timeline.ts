import type { AgentosEvent } from './events.ts';
import type { ItemStatus } from './item.ts';
import { addUsage, NO_USAGE, type Usage } from './money.ts';
import type { WorkflowName } from './paths.ts';

/** What an item did for a while. `toMs` null: it is still doing it. */
interface Span {
  kind: 'step' | 'wait' | 'retry';
  /** The step, or the reason of the wait. */
  name: string;
  fromMs: number;
  toMs: number | null;
}

/** A model's answer. */
export interface Call {
  workflow: WorkflowName;
  step: string;
  role: string;
  model: string;
  fromMs: number;
  toMs: number;
  inputTokens: number;
  outputTokens: number;
  /** Null: unknown. */
  costUsd: number | null;
}

/** An item in one stage, at its place among the workers. */
interface StageRun {
  place: number;
  workflow: WorkflowName;
  fromMs: number;
  toMs: number | null;
  status: ItemStatus | null;
}

export interface ItemTimeline {
  stageRuns: StageRun[];
  spans: Span[];
  calls: Call[];
}

/** What one role used of one model in one hour. */
export interface Spending {
  /** `2026-11-03T14` in UTC, so that it can be summed to days of any time zone. */
  hour: string;
  role: string;
  model: string;
  calls: number;
  usage: Usage;
  /** Sum over the calls whose price is known. */
  costUsd: number;
  /** Calls whose price is unknown. */
  unpriced: number;
}

export interface KeyTimeline {
  /** Requests per minute; minutes count from 1970. */
  requests: [minute: number, count: number][];
  /** Times when the key was not used because the vendor refused a request. */
  cooling: { fromMs: number; toMs: number; why: string }[];
  deadAtMs: number | null;
}

/** When everything happened in a run. It grows with every step, so it is kept only where it is shown. */
export interface Timeline {
  items: Map<string, ItemTimeline>;
  keys: Map<string, KeyTimeline>;
  spending: Spending[];
  warnings: { atMs: number; text: string }[];
}

export function newTimeline(): Timeline {
  return { items: new Map(), keys: new Map(), spending: [], warnings: [] };
}

/** A part of the one fold (`run-state.ts`), called after its own part. `place`: of the item, or -1. */
export function foldIntoTimeline(timeline: Timeline, event: AgentosEvent, place: number): void {
  const atMs = Date.parse(event.at);
  switch (event.type) {
    case 'warning':
      timeline.warnings.push({ atMs, text: event.text });
      return;
    case 'key-cooling':
      keyOf(timeline, event.keyId).cooling.push({ fromMs: atMs, toMs: atMs + event.forMs, why: event.why });
      return;
    case 'key-dead':
      keyOf(timeline, event.keyId).deadAtMs = atMs;
      return;
    case 'gateway-call':
      if (event.keyId !== null) countRequest(keyOf(timeline, event.keyId), atMs);
      return;
    default:
  }
  if (!('item' in event)) return;
  const item = timeline.items.get(event.item) ?? { stageRuns: [], spans: [], calls: [] };
  timeline.items.set(event.item, item);
  const stageRun = item.stageRuns.at(-1);
  switch (event.type) {
    case 'item-started':
    case 'item-retrying':
      if (event.type === 'item-retrying') closeAll(item, atMs);
      else close(item, 'retry', null, atMs);
      if (place >= 0 && (stageRun === undefined || stageRun.toMs !== null))
        item.stageRuns.push({ place, workflow: event.workflow, fromMs: atMs, toMs: null, status: null });
      if (event.type === 'item-retrying') open(item, 'retry', event.error.problem.code, atMs);
      return;
    case 'step-started':
      open(item, 'step', event.step, atMs);
      return;
    case 'step-finished':
      close(item, 'step', event.step, atMs);
      return;
    case 'quota-waiting':
      open(item, 'wait', event.reason, atMs);
      return;
    case 'quota-resumed':
      close(item, 'wait', null, atMs);
      return;
    case 'model-answered': {
      const { workflow, step, role, costUsd, usage } = event;
      const { inputTokens, outputTokens } = usage;
      const model = event.answered ?? event.asked;
      const fromMs = Math.round(atMs - event.durationMs);
      item.calls.push({ workflow, step, role, model, fromMs, toMs: atMs, inputTokens, outputTokens, costUsd });
      spend(timeline, { hour: event.at.slice(0, 13), role, model }, event);
      return;
    }
    case 'item-finished':
      closeAll(item, atMs);
      if (stageRun !== undefined) Object.assign(stageRun, { toMs: atMs, status: event.status });
      return;
    default:
  }
}

function open(item: ItemTimeline, kind: Span['kind'], name: string, atMs: number): void {
  item.spans.push({ kind, name, fromMs: atMs, toMs: null });
}

/** Closes the last open span of this kind; `name` null: whatever its name. */
function close(item: ItemTimeline, kind: Span['kind'], name: string | null, atMs: number): void {
  const span = item.spans.findLast((one) => one.kind === kind && one.toMs === null);
  if (span !== undefined && (name === null || span.name === name)) span.toMs = atMs;
}

function closeAll(item: ItemTimeline, atMs: number): void {
  for (let at = item.spans.length - 1; at >= 0; at--) {
    const span = item.spans[at];
    if (span?.toMs === null) span.toMs = atMs;
  }
}

function keyOf({ keys }: Timeline, id: string): KeyTimeline {
  const key = keys.get(id) ?? { requests: [], cooling: [], deadAtMs: null };
  keys.set(id, key);
  return key;
}

const MINUTE_MS = 60_000;

function countRequest({ requests }: KeyTimeline, atMs: number): void {
  const minute = Math.floor(atMs / MINUTE_MS);
  const last = requests.at(-1);
  if (last?.[0] === minute) last[1] += 1;
  else requests.push([minute, 1]);
}

function spend(
  { spending }: Timeline,
  of: Pick<Spending, 'hour' | 'role' | 'model'>,
  { usage, costUsd, metered }: { usage: Usage; costUsd: number | null; metered: boolean },
): void {
  const isSame = (one: Spending): boolean => one.hour === of.hour && one.role === of.role && one.model === of.model;
  let row = spending.findLast(isSame);
  if (row === undefined) {
    row = { ...of, calls: 0, usage: NO_USAGE, costUsd: 0, unpriced: 0 };
    spending.push(row);
  }
  row.calls += 1;
  row.usage = addUsage(row.usage, usage);
  row.costUsd += costUsd ?? 0;
  if (costUsd === null && metered) row.unpriced += 1;
}
