import type { AgentosEvent, ItemStatus, Subscriber, WaitReason } from '../core/events.ts';
import { parseItemId } from '../core/ids.ts';
import { labelOf } from '../core/paths.ts';
import { createKeyWatch, type KeyView } from './progress-keys.ts';

/** What an item waits for; until when is null where it is not known. */
export interface Wait {
  reason: WaitReason;
  untilMs: number | null;
}

export interface WorkerView {
  /** `LLD-42` */
  label: string;
  title: string;
  step: string | null;
  /** null: it is running. */
  wait: Wait | null;
  elapsedMs: number;
  tokens: number;
  /** null: a price is not known. */
  costUsd: number | null;
}

export interface ProgressView {
  nowMs: number;
  /** Items that ended. One that was cancelled or paused is not done: it is resumed by the next run. */
  done: number;
  total: number;
  counts: Partial<Record<ItemStatus, number>>;
  /** null while there is nothing to go on. */
  etaMs: number | null;
  workers: WorkerView[];
  /** Nothing is done before this is over. */
  pause: Wait | null;
  /** The keys that were heard of; empty where no vendor is asked. */
  keys: KeyView[];
  costUsd: number | null;
  /** An interruption was asked for; nothing new is started. */
  stopping: boolean;
}

export interface Progress {
  add: Subscriber;
  view(nowMs: number): ProgressView;
}

interface Flight extends Omit<WorkerView, 'elapsedMs'> {
  startedAtMs: number;
  /** Whose answer it waits for. */
  vendor: string | null;
}

const RUNNING = { wait: null, vendor: null } as const;

type ItemsEvent = Extract<AgentosEvent, { item: string }>;

/** An item that ended like this was not worked on to its end: how long it took says nothing about the next one. */
const UNMEASURED: ReadonlySet<ItemStatus> = new Set<ItemStatus>(['skipped', 'paused', 'cancelled']);
/** An item that ended like this is resumed by the next run. */
const UNFINISHED: ReadonlySet<ItemStatus> = new Set<ItemStatus>(['paused', 'cancelled']);

/** Where a run is, from its events alone. Titles can hold anything, so `mask` takes known secrets out of them. */
export function createProgress(mask: (text: string) => string): Progress {
  /** One place per worker. An ended item leaves its place to the next one, so that the others' rows stay where they are. */
  const flights: (Flight | null)[] = [];
  const counts: Partial<Record<ItemStatus, number>> = {};
  const measured = { items: 0, durationMs: 0 };
  let total = 0;
  let done = 0;
  let peak = 0;
  let costUsd: number | null = 0;
  let stopping = false;
  const keys = createKeyWatch();
  /** Vendors that nobody can ask at the moment. */
  const exhausted = new Map<string, Wait>();

  const inFlight = (): Flight[] => flights.filter((flight) => flight !== null);

  const begin = (label: string, atMs: number): Flight => {
    const started: Flight = {
      label,
      title: '',
      step: null,
      tokens: 0,
      costUsd: 0,
      startedAtMs: atMs,
      ...RUNNING,
    };
    const free = flights.indexOf(null);
    flights[free === -1 ? flights.length : free] = started;
    peak = Math.max(peak, inFlight().length);
    return started;
  };

  const addItem = (event: ItemsEvent): void => {
    const label = labelOf(event.workflow, parseItemId(event.item));
    const atMs = Date.parse(event.at);
    const known = flights.find((flight) => flight?.label === label);
    if (event.type === 'item-started') {
      const flight = known ?? begin(label, atMs);
      Object.assign(flight, { title: mask(event.title), step: null, ...RUNNING });
    } else if (event.type === 'step-started') {
      if (known) Object.assign(known, { step: event.step, ...RUNNING });
    } else if (event.type === 'quota-waiting') {
      const untilMs = event.forMs === null ? null : atMs + event.forMs;
      if (known) Object.assign(known, { wait: { reason: event.reason, untilMs }, vendor: event.vendor });
    } else if (event.type === 'quota-resumed') {
      if (known) Object.assign(known, RUNNING);
    } else if (event.type === 'item-retrying') {
      // An attempt can fail before it has reported its start.
      const flight = known ?? begin(label, atMs);
      const reason = event.error.retry === 'quota' ? 'quota' : 'retry';
      Object.assign(flight, { wait: { reason, untilMs: atMs + event.delayMs }, vendor: null });
    } else if (event.type === 'model-answered') {
      const paidUsd = event.costUsd ?? (event.metered ? null : 0);
      costUsd = plus(costUsd, paidUsd);
      if (!known) return;
      known.tokens += event.usage.inputTokens + event.usage.outputTokens;
      known.costUsd = plus(known.costUsd, paidUsd);
    } else if (event.type === 'item-finished') {
      if (known) flights[flights.indexOf(known)] = null;
      const isMeasured = event.attempts > 0 && !UNMEASURED.has(event.status);
      if (isMeasured) measured.durationMs += event.durationMs;
      // Of a pipeline: the time of a stage counts for its item, which is not done.
      if (event.goesOnWith !== undefined) return;
      if (!UNFINISHED.has(event.status)) done += 1;
      counts[event.status] = (counts[event.status] ?? 0) + 1;
      if (isMeasured) measured.items += 1;
    }
  };

  /** What is left for those at work and for those that wait, shared by as many workers as were seen at once. */
  const etaMs = (nowMs: number): number | null => {
    if (measured.items === 0 || stopping) return null;
    const meanMs = measured.durationMs / measured.items;
    const leftMs = inFlight().map((flight) => Math.max(0, meanMs - (nowMs - flight.startedAtMs)));
    const waiting = Math.max(0, total - done - leftMs.length);
    const workMs = leftMs.reduce((sum, ms) => sum + ms, 0) + waiting * meanMs;
    const workers = Math.max(1, Math.min(peak, leftMs.length + waiting));
    const left = Math.max(workMs / workers, ...leftMs, waiting > 0 ? meanMs : 0);
    // Everything takes longer than usual: there is no telling.
    return left > 0 ? left : null;
  };

  /** All that are at work wait, or none can be started: until the first of them is back. */
  const pause = (): Wait | null => {
    const waits = inFlight().map(({ wait }) => wait);
    if (waits.includes(null)) return null;
    const all = [...waits, ...(waits.length === 0 ? exhausted.values() : [])].filter((wait) => wait !== null);
    return all.toSorted((a, b) => (a.untilMs ?? 0) - (b.untilMs ?? 0))[0] ?? null;
  };

  return {
    add(event) {
      keys.add(event);
      if ('item' in event) addItem(event);
      else if (event.type === 'run-started') total = event.items.length;
      else if (event.type === 'interrupted') stopping = true;
      else if (event.type === 'pool-exhausted') {
        const untilMs = event.forMs === null ? null : Date.parse(event.at) + event.forMs;
        const wait = { reason: event.reason, untilMs };
        exhausted.set(event.vendor, wait);
        for (const flight of inFlight()) if (flight.vendor === event.vendor) flight.wait = wait;
      } else if (event.type === 'pool-resumed') exhausted.delete(event.vendor);
    },
    view: (nowMs) => ({
      nowMs,
      done,
      total: Math.max(total, done),
      counts: { ...counts },
      etaMs: etaMs(nowMs),
      workers: inFlight().map(({ startedAtMs, label, title, step, wait, tokens, costUsd: paidUsd }) => ({
        label,
        title,
        step,
        wait,
        tokens,
        costUsd: paidUsd,
        elapsedMs: Math.max(0, nowMs - startedAtMs),
      })),
      pause: pause(),
      keys: keys.view(nowMs),
      costUsd,
      stopping,
    }),
  };
}

function plus(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}
