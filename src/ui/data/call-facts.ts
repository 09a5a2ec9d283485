import { formatDuration } from '../../core/duration.ts';
import type { Call } from '../../core/timeline.ts';

/** Who answered for a step, how long it took and what it cost; several calls are added up. Nothing where there were none. */
export function callFacts(calls: readonly Call[], steps: RegExp): string[] {
  const own = calls.filter(({ step }) => steps.test(step));
  if (own.length === 0) return [];
  const models = [...new Set(own.map(({ model }) => model))].join(', ');
  const durationMs = own.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  const isPriced = own.every(({ costUsd }) => costUsd !== null);
  // A command, or an agent with its own login, says nothing of what it used.
  const isMetered = own.some(({ inputTokens, outputTokens }) => inputTokens + outputTokens > 0);
  const usd = own.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  return [
    models,
    formatDuration(durationMs),
    ...(own.length > 1 ? [`${own.length} calls`] : []),
    ...(usd > 0 ? [`$${usd.toFixed(usd < 1 ? 4 : 2)}`] : isPriced ? [] : [isMetered ? 'price unknown' : 'not metered']),
  ];
}
