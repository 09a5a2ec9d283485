import { useEffect, useMemo, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { RunState } from '../../core/run-state.ts';
import type { Spending } from '../../core/timeline.ts';
import type { Answers } from '../api.ts';
import { Card, Mark, Table } from './bits.tsx';
import { clock, count, day, money, plural, short, shortKey } from './format.ts';
import { type TimeWindow, wholeOf } from './lanes.ts';
import type { LiveRun } from './run.tsx';
import { theme } from './shell.tsx';

interface ChartProps {
  label: string;
  height: number;
  /** Seconds first, then a list for each series. */
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  axes: uPlot.Axis[];
  scales?: uPlot.Scales;
  /** Changes when the chart has to be rebuilt, for other series or another theme. */
  version: string;
}

/** A uPlot chart that follows its data and its container's size. */
function Chart({ label, height, data, series, axes, scales = {}, version }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        series,
        axes,
        scales,
        legend: { show: false },
        cursor: { points: { size: 6 }, drag: { x: false, y: false } },
        padding: [8, 24, 0, 0],
      },
      data,
      element,
    );
    chart.current = made;
    const room = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    room.observe(element);
    return () => {
      room.disconnect();
      made.destroy();
      chart.current = null;
    };
  }, [version]);
  useEffect(() => chart.current?.setData(data), [data]);
  return <div ref={place} class="chart" role="img" aria-label={label} style={{ height: `${height}px` }} />;
}

const probe = document.createElement('i');

/** The current value of a CSS colour variable, for a canvas. */
function colour(name: string): string {
  if (!probe.isConnected) document.body.append(probe);
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** An axis in the page's font. */
function axis(values: (split: number) => string, size: number, extra: Partial<uPlot.Axis> = {}): uPlot.Axis {
  return {
    stroke: () => colour('muted'),
    grid: { stroke: () => colour('line'), width: 1 },
    ticks: { show: false },
    font: '11px Inter, system-ui, sans-serif',
    size,
    gap: 4,
    values: (_, splits) => splits.map(values),
    ...extra,
  };
}

function dollars(usd: number): string {
  return `$${usd < 10 ? usd.toFixed(2) : Math.round(usd)}`;
}

function barSeries(size: [share: number, most: number], name: string): Partial<uPlot.Series> {
  const bars = uPlot.paths.bars?.({ size, align: 0 });
  return {
    ...(bars === undefined ? {} : { paths: bars }),
    fill: () => colour(name),
    width: 0,
    points: { show: false },
  };
}

const DAY_MS = 86_400_000;
const HALF_DAY = 43_200;
const LEAST_DAYS = 14;
const MOST_DAYS = 90;
/** One colour per model; further models share the last. */
const COLOURS = ['active', 'good', 'quota', 'wait', 'muted'];

/** Midnight of the reader's day. */
function dayOf(hour: string): number {
  const date = new Date(`${hour}:00Z`);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

/** The cost of each model per day, stacked. */
export function SpendChart({ spending }: { spending: readonly Spending[] }) {
  const { data, models, total } = useMemo(() => stacked(spending), [spending]);
  if (total === 0) return <p class="muted">Nothing was paid: no model with a price was asked.</p>;
  return (
    <>
      <Chart
        label={`Spend per day: ${money(total)} in all`}
        height={200}
        version={`${theme.value} ${models.join(' ')}`}
        data={data}
        scales={{
          x: { time: true, range: (_, from, to) => [from - HALF_DAY, to + HALF_DAY] },
          y: { range: (_, __, most) => [0, Math.max(0.01, most * 1.1)] },
        }}
        series={[
          {},
          ...models.map((label, index) => ({
            label,
            ...barSeries([0.7, 48], COLOURS[models.length - 1 - index] ?? 'muted'),
          })),
        ]}
        axes={[axis((seconds) => day(seconds * 1_000), 24, { space: 70 }), axis(dollars, 56)]}
      />
      <ul class="legend" aria-hidden="true">
        {models.toReversed().map((model, index) => (
          <li key={model}>
            <i class={`swatch tone-${COLOURS[index] ?? 'muted'}`} />
            {model}
          </li>
        ))}
      </ul>
    </>
  );
}

interface Stacked {
  data: uPlot.AlignedData;
  /** The tallest bar first, so that the others are drawn over it. */
  models: string[];
  total: number;
}

function stacked(spending: readonly Spending[]): Stacked {
  const byModel = new Map<string, number>();
  for (const { model, costUsd } of spending) byModel.set(model, (byModel.get(model) ?? 0) + costUsd);
  const dearest = [...byModel].sort((a, b) => b[1] - a[1]).map(([model]) => model);
  const named = dearest.slice(0, COLOURS.length - (dearest.length > COLOURS.length ? 1 : 0));
  const models = named.length < dearest.length ? [...named, 'others'] : named;
  const today = new Date(new Date().toDateString()).getTime();
  const firstDay = spending.reduce((least, { hour }) => Math.min(least, dayOf(hour)), today);
  const days = Math.min(MOST_DAYS, Math.max(LEAST_DAYS, Math.round((today - firstDay) / DAY_MS) + 1));
  const times = Array.from({ length: days }, (_, index) =>
    new Date(today - 0).setDate(new Date(today).getDate() - (days - 1 - index)),
  );
  const at = new Map(times.map((ms, index) => [ms, index]));
  const sums = models.map(() => Array.from({ length: days }, () => 0));
  for (const { hour, model, costUsd } of spending) {
    const column = at.get(dayOf(hour));
    const list = sums[named.includes(model) ? named.indexOf(model) : models.length - 1];
    if (column !== undefined && list !== undefined) list[column] = (list[column] ?? 0) + costUsd;
  }
  // Stacks each series on those before it.
  for (let index = 1; index < sums.length; index++)
    sums[index] = (sums[index] ?? []).map((value, column) => value + (sums[index - 1]?.[column] ?? 0));
  const total = [...byModel.values()].reduce((sum, value) => sum + value, 0);
  return { data: [times.map((ms) => ms / 1_000), ...sums.toReversed()], models: models.toReversed(), total };
}

const SLOTS = 72;
const LEAST_ITEMS = 5;
const ROUND_SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400, 604_800];

/** How many stages ended in each part of the run, and what was paid by then. */
function progressOver({ timeline }: RunState, { fromMs, toMs }: TimeWindow): uPlot.AlignedData {
  const lengthMs = toMs - fromMs;
  const items = Array.from({ length: SLOTS }, () => 0);
  const usd = Array.from({ length: SLOTS }, () => 0);
  const add = (list: number[], ms: number, value: number): void => {
    const slot = Math.min(SLOTS - 1, Math.max(0, Math.floor(((ms - fromMs) / lengthMs) * SLOTS)));
    list[slot] = (list[slot] ?? 0) + value;
  };
  for (const { stageRuns, calls } of timeline?.items.values() ?? []) {
    for (const { toMs } of stageRuns) if (toMs !== null) add(items, toMs, 1);
    for (const { toMs, costUsd } of calls) add(usd, toMs, costUsd ?? 0);
  }
  let paid = 0;
  const sums = usd.map((value) => {
    paid += value;
    return paid;
  });
  return [items.map((_, slot) => (fromMs + (lengthMs * (slot + 0.5)) / SLOTS) / 1_000), items, sums];
}

export function RunCharts({ run, isRunning }: { run: LiveRun; isRunning: boolean }) {
  const { state, detail, version } = run;
  const data = useMemo(() => progressOver(state, wholeOf(state, isRunning, Date.now())), [version, isRunning]);
  const times = data[0];
  const isShort = (times.at(-1) ?? 0) - (times[0] ?? 0) < 600;
  const time = axis((seconds) => clock(seconds * 1_000, isShort), 24, { space: 90, incrs: ROUND_SECONDS });
  const hasCost = (state.costUsd ?? 0) > 0;
  const warnings = state.timeline?.warnings ?? [];
  const hasNotes = (detail.keys.length > 0 && state.keys.size > 0) || warnings.length > 0;
  // For a few items, the timeline says more.
  const hasChart = state.items.size >= LEAST_ITEMS;
  return (
    <div class={hasNotes && hasChart ? 'pair' : ''}>
      {hasChart && (
        <Card title="Throughput" aside={<span class="muted">stages that ended{hasCost && ', and what was paid'}</span>}>
          <Chart
            label={`${plural(state.done, 'item')} done, ${money(state.costUsd)} paid`}
            height={180}
            scales={{ y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } }}
            version={`${theme.value} ${hasCost}`}
            data={hasCost ? data : [data[0], data[1] as number[]]}
            series={[
              {},
              { label: 'ended', ...barSeries([0.8, 24], 'active-mid') },
              ...(hasCost
                ? [{ label: 'paid', scale: 'usd', stroke: () => colour('good'), width: 2, points: { show: false } }]
                : []),
            ]}
            axes={[
              time,
              axis((value) => (Number.isInteger(value) ? count(value) : ''), 40),
              ...(hasCost ? [axis(dollars, 52, { scale: 'usd', side: 1, grid: { show: false } })] : []),
            ]}
          />
        </Card>
      )}
      {hasNotes && (
        <Card title="Keys and notes">
          {detail.keys.length > 0 && <KeyTable keys={detail.keys} run={state} />}
          {warnings.length > 0 && (
            <ul class="warnings">
              {warnings.slice(-6).map(({ atMs, text }) => (
                <li key={`${atMs} ${text}`}>
                  <time>{clock(atMs)}</time> {text}
                </li>
              ))}
            </ul>
          )}
        </Card>
      )}
    </div>
  );
}

type KnownKey = Answers['money']['keys'][number];

const TONES: Record<string, string> = { available: 'good', cooling: 'wait', dead: 'bad' };

/** Keys by id, never with the secret: their state, learned limits, and their use in a run. */
export function KeyTable({ keys, run }: { keys: readonly KnownKey[]; run: RunState | null }) {
  const learned = ({ limits }: KnownKey): string => {
    const rate = (value: number | null, unit: string): string[] =>
      value === null ? [] : [`${short(Math.round(value))} ${unit}`];
    return [
      ...rate(limits.requestsPerMinute, 'req/min'),
      ...rate(limits.tokensPerMinute, 'tok/min'),
      ...rate(limits.concurrency, 'at once'),
    ].join(', ');
  };
  return (
    <Table
      is="keys"
      label="Keys"
      heads={['Key', 'State', 'Learned limits', ...(run === null ? [] : ['Requests', 'Refused'])]}
      rightFrom={3}
    >
      {keys.map((key) => {
        const used = run?.timeline?.keys.get(key.id);
        const state = run?.keys.get(key.id)?.isRejected ? 'dead' : key.state;
        return (
          <tr key={`${key.vendor} ${key.id}`}>
            <td>
              <b title={key.id}>{shortKey(key.id)}</b>
            </td>
            <td>
              <Mark tone={TONES[state] ?? 'plain'}>
                {state}
                {key.until !== null && ` until ${clock(Date.parse(key.until))}`}
              </Mark>
              {key.reason !== null && <span class="muted"> {key.reason}</span>}
            </td>
            <td>{learned(key) || <span class="muted">{key.seenAt === null ? 'not used yet' : 'none'}</span>}</td>
            {run !== null && (
              <>
                <td class="right">{count(used?.requests.reduce((sum, [, many]) => sum + many, 0) ?? 0)}</td>
                <td class="right">{count(used?.cooling.length ?? 0)}</td>
              </>
            )}
          </tr>
        );
      })}
    </Table>
  );
}
