import type { Call } from '../../test/support/vendor/calls.ts';
import { bound, type Situation } from './gateway-situation.ts';

/** Measured at the vendor only. */
export interface Score {
  way: string;
  /** In per cent of the bound, when 95 % had finished. */
  goodput: number;
  /** Requests answered 429, in per cent. */
  refused: number;
  /** In per cent of those wanted. */
  finished: number;
  failed: number;
  /** Jain's index over the workflows, while all of them had work. */
  fairness: number;
  /** Beyond those that were on their way when it died. */
  deadCalls: number;
  /** Vendor time until 95 % had finished. */
  seconds: number;
  /** The longest time, the vendor's, in which this process could not run: then the machine was measured. */
  stalledMs: number;
}

/** In mean latencies. */
const SPELL = 5;

export interface Workflow {
  name: string;
  /** How many callers it has. */
  width: number;
  requests: number;
  /** When its last request was begun: from then on it has nothing waiting. */
  drainedAtMs: number;
}

/** What is looked at of a request. */
export type ScoredCall = Pick<Call, 'workflow' | 'atMs' | 'finishedAtMs' | 'status' | 'usage'>;

export function score(
  vendor: { calls: readonly ScoredCall[]; deadCalls: number },
  situation: Situation,
  workflows: readonly Workflow[],
  failed: number,
): Score {
  const calls = [...vendor.calls];
  const done = calls.filter((call) => call.usage !== null && call.finishedAtMs !== null);
  const times = done.map((call) => call.finishedAtMs ?? 0).sort((a, b) => a - b);
  const atMs = times[Math.max(0, Math.ceil(0.95 * times.length) - 1)] ?? 1;
  const mean = {
    input: average(done.map((call) => call.usage?.input ?? 0)),
    output: average(done.map((call) => call.usage?.output ?? 0)),
  };
  return {
    goodput: (95 * times.length) / bound(situation, atMs, mean),
    refused: (100 * calls.filter((call) => call.status === 429).length) / Math.max(1, calls.length),
    finished: (100 * done.length) / workflows.reduce((sum, { requests }) => sum + requests, 0),
    failed,
    fairness: fairness(done, workflows, (SPELL * (situation.latencyMs[0] + situation.latencyMs[1])) / 2),
    deadCalls: vendor.deadCalls,
    seconds: atMs / 1_000,
    stalledMs: 0,
    way: '',
  };
}

/**
 * Over the spells of time in which every workflow had somebody waiting: work left, and fewer calls at the vendor than it
 * has callers. Whoever gets all they ask for is not treated unfairly by getting less than others.
 */
function fairness(done: ScoredCall[], workflows: readonly Workflow[], spellMs: number): number {
  const shares = workflows.map(() => 0);
  const endMs = Math.min(...workflows.map(({ drainedAtMs }) => drainedAtMs), lastFinish(done));
  for (let fromMs = 0; fromMs + spellMs <= endMs; fromMs += spellMs) {
    const toMs = fromMs + spellMs;
    const spells = workflows.map(({ name }) => {
      const calls = done.filter((call) => call.workflow === name);
      const busyMs = calls.map((call) => Math.min(toMs, call.finishedAtMs ?? toMs) - Math.max(fromMs, call.atMs));
      const finished = calls.filter(
        ({ finishedAtMs }) => finishedAtMs !== null && finishedAtMs >= fromMs && finishedAtMs < toMs,
      );
      return { busyMs: busyMs.reduce((sum, one) => sum + Math.max(0, one), 0), finished: finished.length };
    });
    const allWait = spells.every(({ busyMs }, index) => busyMs <= ((workflows[index]?.width ?? 0) - 0.5) * spellMs);
    if (allWait) for (const [index, { finished }] of spells.entries()) shares[index] = (shares[index] ?? 0) + finished;
  }
  const sum = shares.reduce((total, one) => total + one, 0);
  return sum === 0 ? 1 : sum ** 2 / (shares.length * shares.reduce((total, one) => total + one ** 2, 0));
}

function lastFinish(done: ScoredCall[]): number {
  return done.reduce((last, call) => Math.max(last, call.finishedAtMs ?? 0), 0);
}

function average(numbers: number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length);
}
