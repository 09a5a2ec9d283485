import { useMemo } from 'preact/hooks';
import uPlot from 'uplot';
import type { Spending } from '../../core/timeline.ts';
import { axis, Chart, colour } from './chart.tsx';
import { day, money } from './format.ts';
import { theme } from './shell.tsx';

const DAY_MS = 86_400_000;
const HALF_DAY = 43_200;
const LEAST_DAYS = 14;
const MOST_DAYS = 90;
/** Models in colours of their own; further ones share the last. */
const COLOURS = ['active', 'good', 'quota', 'wait', 'muted'];

/** Midnight of the reader's day. */
function dayOf(hour: string): number {
  const date = new Date(`${hour}:00Z`);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

/** What each model cost on each day, one on top of the other. */
export function SpendChart({ spending }: { spending: readonly Spending[] }) {
  const { data, models, total } = useMemo(() => stacked(spending), [spending]);
  if (total === 0) return <p class="muted">Nothing was paid: no model with a price was asked.</p>;
  const bars = uPlot.paths.bars?.({ size: [0.7, 48], align: 0 });
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
            ...(bars === undefined ? {} : { paths: bars }),
            fill: () => colour(COLOURS[models.length - 1 - index] ?? 'muted'),
            width: 0,
            points: { show: false },
          })),
        ]}
        axes={[
          axis((seconds) => day(seconds * 1_000), 24, { space: 70 }),
          axis((usd) => `$${usd < 10 ? usd.toFixed(2) : Math.round(usd)}`, 56),
        ]}
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
  /** The one with the whole height first, so that the others are drawn over it. */
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
  // Each one stands on those before it.
  for (let index = 1; index < sums.length; index++)
    sums[index] = (sums[index] ?? []).map((value, column) => value + (sums[index - 1]?.[column] ?? 0));
  const total = [...byModel.values()].reduce((sum, value) => sum + value, 0);
  return { data: [times.map((ms) => ms / 1_000), ...sums.toReversed()], models: models.toReversed(), total };
}
