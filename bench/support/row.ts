/** One line of the table: what was measured, and whether it is as good as it has to be. */
export interface BenchRow {
  name: string;
  value: string;
  /** `–`: shown for comparison only. */
  target: string;
  ok: boolean;
}

/** A figure with an upper limit. */
export function below(name: string, value: number, limit: number, show: (value: number) => string): BenchRow {
  return { name, value: show(value), target: `< ${show(limit)}`, ok: value < limit };
}

/** A figure to compare the others with. */
export function shown(name: string, value: string): BenchRow {
  return { name, value, target: '–', ok: true };
}

export function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * q)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export const inMs = (ms: number): string => `${ms < 10 ? ms.toFixed(2) : Math.round(ms).toLocaleString('en')} ms`;

/** No process weighs nothing: that would be a reading that is missing, and it must not pass for a good one. */
export function inMb(bytes: number): string {
  if (!(bytes > 0)) throw new Error('memory could not be read');
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
