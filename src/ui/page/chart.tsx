import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

interface ChartProps {
  label: string;
  height: number;
  /** Seconds first, then a list for each series. */
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  axes: uPlot.Axis[];
  scales?: uPlot.Scales;
  /** Changes when the chart has to be made again: other series, another theme. */
  version: string;
}

/** A chart of uPlot that follows its data and its room. */
export function Chart({ label, height, data, series, axes, scales = {}, version }: ChartProps) {
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

/** A colour of the page as it is now, for a canvas, which knows no variables. */
export function colour(name: string): string {
  if (!probe.isConnected) document.body.append(probe);
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** An axis in the page's own letters. */
export function axis(values: (split: number) => string, size: number, extra: Partial<uPlot.Axis> = {}): uPlot.Axis {
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
