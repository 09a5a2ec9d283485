import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Clock } from '../../src/core/clock.ts';
import { createDilatedClock } from '../../test/support/vendor/dilated-clock.ts';
import { seededRandom } from '../../test/support/vendor/random.ts';
import { startVendor } from '../../test/support/vendor/server.ts';
import { type Score, score, type Workflow } from './gateway-score.ts';
import { bound, type Situation } from './gateway-situation.ts';
import { openWire, type Wire } from './gateway-wire.ts';

/** What a way of calling is given. */
export interface World {
  situation: Situation;
  keys: string[];
  clock: Clock;
  wire: Wire;
  random: () => number;
  /** Fires when the time is over. */
  signal: AbortSignal;
}

/** Resolves to true when the request got its answer, to false when it was given up. */
type Call = (workflow: string, text: string) => Promise<boolean>;

export interface Way {
  name: string;
  open(world: World): Call;
}

/** Of 60 callers, how many each of the seven workflows has. */
const SHARES = [5, 6, 7, 8, 9, 11, 14];
export const OVERLOAD_SHARE = 0.01;

export async function run(way: Way, situation: Situation, seed: number): Promise<Score> {
  const clock = createDilatedClock(situation.dilation);
  const random = seededRandom(seed);
  const between = ([low, high]: [number, number]): number => low + random() * (high - low);
  const keys = situation.keys.map((_, index) => `key-${index + 1}`);
  await using vendor = await startVendor({
    clock,
    dilation: situation.dilation,
    script: () => ({
      text: 'x'.repeat(4 * Math.round(between(situation.outputTokens))),
      latencyMs: between(situation.latencyMs),
    }),
    keys: situation.keys.map(({ group, diesAtMs }, index) => ({
      key: keys[index] ?? '',
      group,
      ...(diesAtMs === undefined ? {} : { diesAtMs }),
    })),
    limits: { seed, ...situation.limits, groups: situation.groups },
    overload: {
      probability: OVERLOAD_SHARE,
      seed,
      ...(situation.spells === undefined ? {} : { spells: situation.spells }),
    },
  });
  const wire = openWire(vendor.url, situation);
  const stop = new AbortController();
  const call = way.open({ situation, keys, clock, wire, random, signal: stop.signal });
  const delays = monitorEventLoopDelay({ resolution: 5 });
  delays.enable();

  const { done, failures, workflows } = callEach(call, situation, random, clock, stop);
  await done;
  delays.disable();
  const { calls, counters } = vendor;
  const result = score({ calls, deadCalls: counters.total.badKey }, situation, workflows, failures());
  wire.close();
  return { ...result, way: way.name, stalledMs: (delays.max / 1e6) * situation.dilation };
}

/** Every workflow's callers, each with one request at a time, until all are done or the time is over. */
export function callEach(
  call: Call,
  situation: Situation,
  random: () => number,
  clock: Clock,
  stop: AbortController,
): { done: Promise<void>; failures: () => number; workflows: readonly Workflow[] } {
  const widths = widthsOf(situation.callers);
  const [low, high] = situation.inputTokens;
  let failed = 0;
  const startMs = clock.now();
  const workflows = widths.map((callers, index) => {
    const requests = Math.round((situation.requests * callers) / situation.callers);
    return { name: `w${index + 1}`, width: callers, requests, drainedAtMs: Number.POSITIVE_INFINITY };
  });
  const running = workflows.map(async (workflow) => {
    let left = workflow.requests;
    await Promise.all(
      Array.from({ length: workflow.width }, async () => {
        while (left > 0 && !stop.signal.aborted) {
          left -= 1;
          if (left === 0) workflow.drainedAtMs = clock.now() - startMs;
          const text = 'y'.repeat(4 * Math.round(low + random() * (high - low)));
          const done = await call(workflow.name, text).catch(() => false);
          if (!done) failed += 1;
        }
      }),
    );
  });
  const finished = Promise.all(running);
  const done = Promise.race([finished, clock.sleep(longestMs(situation))]).then(() => stop.abort());
  return { done, failures: () => failed, workflows };
}

function widthsOf(callers: number): number[] {
  let left = callers;
  let shares = SHARES.reduce((sum, share) => sum + share, 0);
  return SHARES.map((share) => {
    const width = Math.max(1, Math.round((left * share) / shares));
    left -= width;
    shares -= share;
    return width;
  });
}

/** Well beyond the time in which the bound allows all of it. */
function longestMs(situation: Situation): number {
  const mean = {
    input: (situation.inputTokens[0] + situation.inputTokens[1]) / 2,
    output: (situation.outputTokens[0] + situation.outputTokens[1]) / 2,
  };
  let atMs = 1_000;
  while (bound(situation, atMs, mean) < situation.requests) atMs += 1_000;
  return 1.4 * atMs + 30_000;
}
