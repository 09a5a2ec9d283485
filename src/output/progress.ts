import type { AgentosEvent, ItemStatus, Subscriber } from '../core/events.ts';
import { parseItemId } from '../core/ids.ts';
import { labelOf } from '../core/paths.ts';

/** `paused` waits for quota, `retrying` for its next attempt. */
export type WorkerState = 'running' | 'retrying' | 'paused';

export interface WorkerView {
  /** `LLD-42` */
  label: string;
  title: string;
  step: string | null;
  state: WorkerState;
  /** Until the next attempt; null while it is running. */
  resumesInMs: number | null;
  elapsedMs: number;
  tokens: number;
  /** null: a price is not known. */
  costUsd: number | null;
}

export interface ProgressView {
  done: number;
  total: number;
  counts: Partial<Record<ItemStatus, number>>;
  /** null while there is nothing to go on. */
  etaMs: number | null;
  workers: WorkerView[];
  costUsd: number | null;
  /** An interruption was asked for; nothing new is started. */
  stopping: boolean;
}

export interface Progress {
  add: Subscriber;
  view(nowMs: number): ProgressView;
}

interface Flight extends Omit<WorkerView, 'elapsedMs' | 'resumesInMs'> {
  startedAtMs: number;
  resumesAtMs: number | null;
}

const RUNNING = { state: 'running', resumesAtMs: null } as const;

type ItemsEvent = Extract<AgentosEvent, { item: string }>;

/** An item that ended like this was not worked on to its end: how long it took says nothing about the next one. */
const UNMEASURED: ReadonlySet<ItemStatus> = new Set<ItemStatus>(['skipped', 'paused', 'cancelled']);

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
  /** When a vendor that has nothing left is expected back. */
  const quotaBackAtMs = new Map<string, number | null>();

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
      if (known) Object.assign(known, { state: 'paused', resumesAtMs: quotaBackAtMs.get(event.vendor) ?? null });
    } else if (event.type === 'quota-resumed') {
      if (known) Object.assign(known, RUNNING);
    } else if (event.type === 'item-retrying') {
      // An attempt can fail before it has reported its start.
      const flight = known ?? begin(label, atMs);
      flight.state = event.error.retry === 'quota' ? 'paused' : 'retrying';
      flight.resumesAtMs = atMs + event.delayMs;
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
      done += 1;
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

  return {
    add(event) {
      if ('item' in event) addItem(event);
      else if (event.type === 'run-started') total = event.items.length;
      else if (event.type === 'interrupted') stopping = true;
      else if (event.type === 'pool-exhausted') {
        const backAtMs = event.forMs === null ? null : Date.parse(event.at) + event.forMs;
        quotaBackAtMs.set(event.vendor, backAtMs);
        for (const flight of inFlight()) if (flight.state === 'paused') flight.resumesAtMs = backAtMs;
      } else if (event.type === 'pool-resumed') quotaBackAtMs.delete(event.vendor);
    },
    view: (nowMs) => ({
      done,
      total: Math.max(total, done),
      counts: { ...counts },
      etaMs: etaMs(nowMs),
      workers: inFlight().map(({ startedAtMs, resumesAtMs, ...flight }) => ({
        ...flight,
        resumesInMs: resumesAtMs === null ? null : Math.max(0, resumesAtMs - nowMs),
        elapsedMs: Math.max(0, nowMs - startedAtMs),
      })),
      costUsd,
      stopping,
    }),
  };
}

function plus(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}
