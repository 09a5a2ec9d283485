import { useMemo } from 'preact/hooks';
import uPlot from 'uplot';
import type { RunState } from '../../core/run-state.ts';
import { Card } from './bits.tsx';
import { axis, Chart, colour } from './chart.tsx';
import { clock, count, money, plural } from './format.ts';
import { KeyTable } from './key-table.tsx';
import type { LiveRun } from './run-live.ts';
import { theme } from './shell.tsx';

const SLOTS = 72;
const LEAST_ITEMS = 5;
const ROUND_SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400, 604_800];

/** How many stages ended in each part of the run, and what was paid up to its end. */
function progressOver({ timeline, began, ended }: RunState, nowMs: number): uPlot.AlignedData {
  const fromMs = began?.atMs ?? nowMs;
  const lengthMs = Math.max(ended?.atMs ?? nowMs, fromMs + 1_000) - fromMs;
  const items = Array.from({ length: SLOTS }, () => 0);
  const usd = Array.from({ length: SLOTS }, () => 0);
  const add = (list: number[], ms: number, value: number): void => {
    const slot = Math.min(SLOTS - 1, Math.max(0, Math.floor(((ms - fromMs) / lengthMs) * SLOTS)));
    list[slot] = (list[slot] ?? 0) + value;
  };
  for (const { flights, calls } of timeline?.items.values() ?? []) {
    for (const { toMs } of flights) if (toMs !== null) add(items, toMs, 1);
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
  const lastMs = lastOf(state);
  const data = useMemo(() => progressOver(state, isRunning ? Date.now() : lastMs), [version, isRunning]);
  const bars = uPlot.paths.bars?.({ size: [0.8, 24], align: 0 });
  const times = data[0];
  const isShort = (times.at(-1) ?? 0) - (times[0] ?? 0) < 600;
  const time = axis((seconds) => clock(seconds * 1_000, isShort), 24, { space: 90, incrs: ROUND_SECONDS });
  const hasCost = (state.costUsd ?? 0) > 0;
  const warnings = state.timeline?.warnings ?? [];
  const hasNotes = (detail.keys.length > 0 && state.keys.size > 0) || warnings.length > 0;
  // Of a few items the timeline says more.
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
              {
                label: 'ended',
                ...(bars === undefined ? {} : { paths: bars }),
                fill: () => colour('active-mid'),
                width: 0,
                points: { show: false },
              },
              ...(hasCost
                ? [{ label: 'paid', scale: 'usd', stroke: () => colour('good'), width: 2, points: { show: false } }]
                : []),
            ]}
            axes={[
              time,
              axis((value) => (Number.isInteger(value) ? count(value) : ''), 40),
              ...(hasCost
                ? [
                    axis((value) => `$${value < 10 ? value.toFixed(2) : Math.round(value)}`, 52, {
                      scale: 'usd',
                      side: 1,
                      grid: { show: false },
                    }),
                  ]
                : []),
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

function lastOf({ timeline, began, ended }: RunState): number {
  if (ended !== null) return ended.atMs;
  let last = began?.atMs ?? 0;
  for (const { flights, spans } of timeline?.items.values() ?? [])
    for (const one of [...flights, ...spans]) last = Math.max(last, one.toMs ?? one.fromMs);
  return last;
}
