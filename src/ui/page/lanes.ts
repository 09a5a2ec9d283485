import { isFailure } from '../../core/exit-code.ts';
import type { RunState } from '../../core/run-state.ts';
import { toneOf } from './format.ts';

/** The part of a run that is shown. */
export interface TimeWindow {
  fromMs: number;
  toMs: number;
}

/** A rectangle of the timeline; `item` is where it leads. */
export interface Bar {
  x: number;
  width: number;
  /** `whole`: a stage too narrow to show its steps. */
  kind: 'flight' | 'whole' | 'step' | 'call' | 'wait' | 'retry';
  tone: string;
  item: string;
  title: string;
}

/** The steps of a narrower stage could not be told apart. */
const DETAILED_WIDTH = 12;
/** Of narrower bars on the same pixel, only the first is kept. */
const LEAST_WIDTH = 0.75;

/**
 * A lane for each worker. There are never more bars than pixels: thousands of items at full width become a few hundred
 * bars.
 */
export function lanesOf(state: RunState, { fromMs, toMs }: TimeWindow, width: number, nowMs: number): Bar[][] {
  const lanes: Bar[][] = state.places.map(() => []);
  const scale = width / Math.max(1, toMs - fromMs);
  const lastEnd = new Map<string, number>();
  const lastWhole: (Bar | undefined)[] = [];
  const place = (
    lane: number,
    kind: Bar['kind'],
    tone: string,
    from: number,
    to: number,
  ): Pick<Bar, 'x' | 'width'> | null => {
    if (to < fromMs || from > toMs) return null;
    const x = (Math.max(from, fromMs) - fromMs) * scale;
    const end = (Math.min(to, toMs) - fromMs) * scale;
    const key = `${lane} ${kind} ${tone}`;
    if (end - x < LEAST_WIDTH && end - (lastEnd.get(key) ?? -1) < LEAST_WIDTH) return null;
    const bar = { x, width: Math.max(kind === 'whole' ? 1 : LEAST_WIDTH, end - x) };
    lastEnd.set(key, bar.x + bar.width);
    return bar;
  };
  for (const [id, { stageRuns, spans, calls }] of state.timeline?.items ?? []) {
    for (const flight of stageRuns) {
      const lane = lanes[flight.place];
      const end = flight.toMs ?? nowMs;
      if (lane === undefined || end < fromMs || flight.fromMs > toMs) continue;
      const add = (kind: Bar['kind'], tone: string, from: number, to: number, title: string): void => {
        const bar = place(flight.place, kind, tone, from, to);
        if (bar === null) return;
        const made = { ...bar, kind, tone, item: id, title };
        const last = lastWhole[flight.place];
        const isNext = kind === 'whole' && last?.tone === tone && bar.x - last.x - last.width < 1;
        // Adjacent stages with the same result are one bar.
        if (isNext) last.width = bar.x + bar.width - last.x;
        else lane.push(made);
        if (kind === 'whole' && !isNext) lastWhole[flight.place] = made;
      };
      const isNarrow = (end - flight.fromMs) * scale < DETAILED_WIDTH;
      const title = `${flight.workflow} ${id}: ${flight.status ?? 'running'}`;
      const tone = toneOf(flight.status ?? 'running');
      add(isNarrow ? 'whole' : 'flight', tone, flight.fromMs, end, title);
      for (const span of spans) {
        if (span.fromMs < flight.fromMs || span.fromMs > end) continue;
        const isHidden = span.kind === 'step' || ((span.toMs ?? nowMs) - span.fromMs) * scale < 1;
        if (isNarrow && isHidden) continue;
        add(span.kind, tone, span.fromMs, Math.min(end, span.toMs ?? nowMs), titleOf(id, span));
      }
      for (const call of isNarrow ? [] : calls) {
        if (call.toMs < flight.fromMs || call.toMs > end) continue;
        add('call', 'active', call.fromMs, call.toMs, `${id}, ${call.step}: ${call.model} answers`);
      }
    }
  }
  return lanes;
}

function titleOf(id: string, { kind, name }: { kind: string; name: string }): string {
  if (kind === 'wait') return `${id} waits (${name})`;
  return kind === 'retry' ? `${id} is retried after ${name}` : `${id}, ${name}`;
}

export interface Failed {
  id: string;
  fromMs: number;
  toMs: number;
}

/** In the order in which they ended. */
export function failuresOf({ timeline }: RunState): Failed[] {
  const failed = [...(timeline?.items ?? [])].flatMap(([id, { stageRuns }]) =>
    stageRuns.flatMap(({ status, fromMs, toMs }) =>
      status !== null && isFailure(status) ? [{ id, fromMs, toMs: toMs ?? fromMs }] : [],
    ),
  );
  return failed.sort((a, b) => a.toMs - b.toMs);
}

/** From the first thing that happened to the last, or to now while it runs. */
export function wholeOf({ began, ended, timeline }: RunState, isRunning: boolean, nowMs: number): TimeWindow {
  const fromMs = began?.atMs ?? nowMs - 60_000;
  let toMs = ended?.atMs ?? fromMs;
  if (ended === null && !isRunning)
    for (const { stageRuns, spans } of timeline?.items.values() ?? [])
      for (const one of [...stageRuns, ...spans]) toMs = Math.max(toMs, one.toMs ?? one.fromMs);
  if (isRunning) toMs = nowMs;
  return { fromMs, toMs: Math.max(toMs, fromMs + 1_000) };
}

const STEPS_MS = [1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000);
const TICKS_MS = [
  ...STEPS_MS,
  ...STEPS_MS.map((ms) => ms * 60),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3_600_000),
];

/** Round times, about one in every 120 pixels. */
export function ticksOf({ fromMs, toMs }: TimeWindow, width: number): number[] {
  const least = ((toMs - fromMs) / width) * 110;
  const step = TICKS_MS.find((ms) => ms >= least) ?? 14 * 86_400_000;
  const ticks: number[] = [];
  for (let at = Math.ceil(fromMs / step) * step; at <= toMs; at += step) ticks.push(at);
  return ticks;
}

const MINUTE_MS = 60_000;
/** In pixels; narrower columns could not be told apart. */
const LEAST_COLUMN = 3;

/** The requests of a key over time as columns, in one path: a run of days has thousands of minutes. */
export function requestsPath(
  requests: readonly [minute: number, count: number][],
  { fromMs, toMs }: TimeWindow,
  width: number,
  height: number,
): string {
  const scale = width / Math.max(1, toMs - fromMs);
  const minutes = Math.max(1, Math.ceil(LEAST_COLUMN / (MINUTE_MS * scale)));
  const columns = new Map<number, number>();
  for (const [minute, count] of requests) {
    const column = Math.floor(minute / minutes) * minutes;
    if ((column + minutes) * MINUTE_MS > fromMs && column * MINUTE_MS < toMs)
      columns.set(column, (columns.get(column) ?? 0) + count);
  }
  const most = [...columns.values()].reduce((high, count) => Math.max(high, count), 1);
  const at = (minute: number): number => Math.min(width, Math.max(0, (minute * MINUTE_MS - fromMs) * scale));
  return [...columns]
    .map(([column, count]) => {
      const [x, end] = [at(column), at(column + minutes)];
      const tall = (count / most) * (height - 8);
      return `M${x.toFixed(1)} ${height - 4}v${(-tall).toFixed(1)}h${Math.max(0.5, end - x - 0.5).toFixed(1)}v${tall.toFixed(1)}z`;
    })
    .join('');
}
