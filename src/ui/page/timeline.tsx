import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './bits.tsx';
import { clock, formatDuration, plural, shortKey } from './format.ts';
import { type Bar, failuresOf, lanesOf, requestsPath, type TimeWindow, ticksOf, wholeOf } from './lanes.ts';
import { go, link, useKeys } from './navigation.ts';
import type { LiveRun } from './run.tsx';
import { nowMs } from './store.ts';

const LANE = 30;
const KEY_LANE = 24;
const AXIS = 24;
/** Room for the names of lanes: less on a small screen. */
const WIDE_NAMES = 104;
const NARROW_NAMES = 80;

/** Zoomed in: null shows the whole run, however long it gets. */
type Zoom = TimeWindow | null;

/** What each worker did when, and how the keys were; one axis for both. */
export function Timeline({ run, isRunning }: { run: LiveRun; isRunning: boolean }) {
  const { state } = run;
  const place = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  const names = room < 560 ? NARROW_NAMES : WIDE_NAMES;
  const width = Math.max(0, room - names);
  const [zoom, setZoom] = useState<Zoom>(null);
  const [marked, mark] = useState(-1);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => setRoom(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const now = isRunning ? nowMs.value : 0;
  const whole = wholeOf(state, isRunning, now);
  const shown = zoom ?? whole;
  const failures = failuresOf(state);
  const lengthMs = shown.toMs - shown.fromMs;

  const scaleBy = (factor: number, atMs = shown.fromMs + lengthMs / 2): void => {
    const length = Math.max(50, lengthMs * factor);
    if (length >= whole.toMs - whole.fromMs) return setZoom(null);
    const fromMs = atMs - (atMs - shown.fromMs) * (length / lengthMs);
    setZoom({ fromMs, toMs: fromMs + length });
  };
  const moveBy = (part: number): void => {
    const by = part * lengthMs;
    setZoom({ fromMs: shown.fromMs + by, toMs: shown.toMs + by });
  };
  const jump = (by: number): void => {
    if (failures.length === 0) return;
    const next = (marked + by + failures.length + (marked < 0 && by < 0 ? 1 : 0)) % failures.length;
    const failure = failures[next];
    if (failure === undefined) return;
    const margin = Math.max(500, (failure.toMs - failure.fromMs) * 0.5);
    mark(next);
    setZoom({ fromMs: failure.fromMs - margin, toMs: failure.toMs + margin });
  };
  useKeys({
    '+': () => scaleBy(0.5),
    '=': () => scaleBy(0.5),
    '-': () => scaleBy(2),
    '0': () => setZoom(null),
    ArrowLeft: () => moveBy(-0.2),
    ArrowRight: () => moveBy(0.2),
    '[': () => jump(-1),
    ']': () => jump(1),
  });
  const onWheel = (event: WheelEvent): void => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.shiftKey) return moveBy(Math.sign(event.deltaY || event.deltaX) * 0.1);
    const x = event.clientX - (event.currentTarget as Element).getBoundingClientRect().left - names;
    scaleBy(event.deltaY > 0 ? 1.25 : 0.8, shown.fromMs + (x / Math.max(1, width)) * lengthMs);
  };
  const lanes = width === 0 ? [] : lanesOf(state, shown, width, now || whole.toMs);
  const keys = [...(state.timeline?.keys ?? [])];
  const keysTop = AXIS + lanes.length * LANE + (keys.length > 0 ? 12 : 0);
  const height = keysTop + keys.length * KEY_LANE + 4;
  const xOf = (ms: number): number => names + ((ms - shown.fromMs) / lengthMs) * width;
  const failure = failures[marked];
  const said = `${plural(lanes.length, 'worker')}, ${formatDuration(whole.toMs - whole.fromMs)}, ${plural(failures.length, 'failure')}`;
  return (
    <>
      <div class="timeline-tools">
        <Legend hasKeys={keys.length > 0} />
        <div class="tools" role="group" aria-label="Timeline">
          {failure !== undefined && (
            <a href={link('item', failure.id)}>
              failure {marked + 1} of {failures.length}: {failure.id}
            </a>
          )}
          <Button is="small" disabled={failures.length === 0} onClick={() => jump(-1)}>
            <kbd>[</kbd> failure
          </Button>
          <Button is="small" kbd="]" disabled={failures.length === 0} onClick={() => jump(1)}>
            failure
          </Button>
          <Button is="small" label="Zoom in" onClick={() => scaleBy(0.5)}>
            +
          </Button>
          <Button is="small" label="Zoom out" disabled={zoom === null} onClick={() => scaleBy(2)}>
            −
          </Button>
          <Button is="small" disabled={zoom === null} onClick={() => setZoom(null)}>
            Whole run
          </Button>
        </div>
      </div>
      <div ref={place} class="timeline" onWheel={onWheel} style={{ height: `${height}px` }}>
        <svg width="100%" height={height} role="img" aria-label={`Timeline: ${said}`}>
          {ticksOf(shown, Math.max(1, width)).map((at) => (
            <g key={at} class="tick">
              <line x1={xOf(at)} x2={xOf(at)} y1={AXIS - 4} y2={height} />
              <text x={xOf(at) + 4} y={14}>
                {clock(at, lengthMs < 600_000)}
              </text>
            </g>
          ))}
          {lanes.map((bars, lane) => (
            <g key={lane} transform={`translate(0 ${AXIS + lane * LANE})`}>
              <text class="lane-name" x={0} y={LANE / 2 + 4}>
                worker {lane + 1}
              </text>
              <g transform={`translate(${names} 0)`}>{bars.map(drawn)}</g>
            </g>
          ))}
          {keys.map(([id, key], index) => {
            return (
              <g key={id} transform={`translate(0 ${keysTop + index * KEY_LANE})`}>
                <text class="lane-name" x={0} y={KEY_LANE / 2 + 4}>
                  {shortKey(id)}
                </text>
                {key.cooling
                  .filter(({ fromMs, toMs }) => toMs > shown.fromMs && fromMs < shown.toMs)
                  .map(({ fromMs, toMs, why }) => (
                    <rect
                      key={fromMs}
                      class="cooling"
                      x={Math.max(names, xOf(fromMs))}
                      y={2}
                      width={Math.max(1.5, Math.min(xOf(toMs), names + width) - Math.max(names, xOf(fromMs)))}
                      height={KEY_LANE - 6}
                    >
                      <title>{`${id} rests (${why}) until ${clock(toMs, true)}`}</title>
                    </rect>
                  ))}
                <path
                  class="requests"
                  d={requestsPath(key.requests, shown, width, KEY_LANE)}
                  transform={`translate(${names} 0)`}
                >
                  <title>{`${id}: ${plural(
                    key.requests.reduce((sum, [, many]) => sum + many, 0),
                    'request',
                  )}`}</title>
                </path>
                {key.deadAtMs !== null && (
                  <line class="dead" x1={xOf(key.deadAtMs)} x2={xOf(key.deadAtMs)} y1={0} y2={KEY_LANE} />
                )}
              </g>
            );
          })}
          {failure !== undefined && (
            <rect
              class="marked"
              x={Math.max(names, xOf(failure.fromMs) - 2)}
              y={AXIS - 2}
              width={Math.max(4, xOf(failure.toMs) - xOf(failure.fromMs) + 4)}
              height={lanes.length * LANE + 2}
            />
          )}
        </svg>
      </div>
      <p class="visually-hidden" aria-live="polite">
        {failure === undefined ? '' : `Failure ${marked + 1} of ${failures.length}: ${failure.id}`}
      </p>
    </>
  );
}

function drawn(bar: Bar, index: number) {
  const [y, height] = HEIGHTS[bar.kind];
  return (
    <rect
      key={index}
      class={`bar ${bar.kind} tone-${bar.tone}`}
      x={bar.x}
      y={y}
      width={bar.width}
      height={height}
      rx={bar.kind === 'flight' && bar.width > 6 ? 3 : 0}
      onClick={() => go('item', bar.item)}
    >
      <title>{bar.title}</title>
    </rect>
  );
}

const HEIGHTS: Record<Bar['kind'], [y: number, height: number]> = {
  flight: [2, LANE - 6],
  whole: [2, LANE - 6],
  step: [6, 10],
  call: [18, 5],
  wait: [6, 10],
  retry: [6, 10],
};

const LEGEND: readonly [kind: string, text: string][] = [
  ['step', 'step'],
  ['call', 'model answers'],
  ['wait', 'waits for quota'],
  ['retry', 'retry'],
  ['gap', 'gap'],
  ['cooling', 'key rests'],
  ['requests', 'requests per minute'],
];

function Legend({ hasKeys }: { hasKeys: boolean }) {
  const entries = LEGEND.filter(([kind]) => hasKeys || (kind !== 'cooling' && kind !== 'requests'));
  return (
    <ul class="legend" aria-hidden="true">
      {entries.map(([kind, text]) => (
        <li key={kind}>
          <i class={`swatch ${kind}`} />
          {text}
        </li>
      ))}
    </ul>
  );
}
