import type { Vendor } from '../support/vendor/index.ts';
import type { Act, Fired } from './act.ts';
import { type Asked, askedBy, keyOf } from './answers.ts';
import type { Deletable, World } from './scenario.ts';

/** A call whose answer was good and reached its caller whole. */
interface Answered extends Asked {
  key: string;
  index: number;
  fromMs: number;
  toMs: number;
}

export interface CallFacts {
  vendor: Pick<Vendor, 'calls'>;
  /** Numbers of the calls that were answered by a fault; a slow answer is a good one. */
  spoilt: ReadonlySet<number>;
  acts: readonly Act[];
  fired: readonly Fired[];
  /** While nothing ran. */
  deletedBefore: readonly { what: Deletable; atMs: number }[];
  parallel: number;
}

/**
 * A call that was answered is made again only if something prevented its answer from being stored: never after its step
 * was said to be finished, and at most as often as faults came between. What was deleted may be asked again.
 */
export function repeatedCalls(facts: CallFacts): string[] {
  const excuses = facts.fired
    .filter(({ outcome }) => outcome === 'fired')
    .map((fired) => excuseOf(fired, facts.parallel));
  for (const { what, atMs } of facts.deletedBefore)
    excuses.push({ fromMs: atMs, toMs: atMs, ...lossOf(what, facts.parallel) });
  const problems: string[] = [];
  for (const calls of Map.groupBy(answeredCalls(facts), ({ key }) => key).values()) {
    for (const [at, again] of calls.entries()) {
      const first = calls[at - 1];
      if (first === undefined) continue;
      const excuse = excuses.find(
        ({ fromMs, toMs, left, forgets }) =>
          left > 0 &&
          fromMs <= again.fromMs &&
          toMs >= first.fromMs &&
          (forgets || finishedAt(first, again, facts.acts) === null),
      );
      if (excuse !== undefined) {
        excuse.left -= 1;
        continue;
      }
      const finished = finishedAt(first, again, facts.acts);
      const stored =
        finished === null
          ? 'and no fault came between'
          : `though its step was finished ${again.fromMs - finished} ms before`;
      problems.push(
        `${first.key} was answered (call ${first.index}) and asked again ${again.fromMs - first.toMs} ms later (call ${again.index}), ${stored}`,
      );
    }
  }
  return problems;
}

/**
 * The models do everything right at the first try. A call for more means that one of them was blamed for a fault of ours.
 */
export function undeservedCalls(vendor: CallFacts['vendor'], { revised }: Pick<World, 'revised'>): string[] {
  const steps = new Set(
    vendor.calls.map((call) => askedBy(call)).map((asked) => JSON.stringify({ ...asked, round: 0 })),
  );
  return [...steps].flatMap((text) => {
    const asked: Asked = JSON.parse(text);
    const isReworked = asked.workflow !== 'implement' && revised.includes(asked.id);
    const isDue =
      /^(?:draft|tests-1|code-1|review-1)$/.test(asked.step) ||
      (isReworked && /^(?:revise-1|review-2)$/.test(asked.step));
    return isDue ? [] : [`${keyOf(asked)} was asked for`];
  });
}

function answeredCalls({ vendor, spoilt }: CallFacts): Answered[] {
  return vendor.calls.flatMap((call) => {
    if (!call.finished || call.status !== 200 || spoilt.has(call.index)) return [];
    const asked = askedBy(call);
    const toMs = call.at + ((call.finishedAtMs ?? call.atMs) - call.atMs);
    return [{ ...asked, key: keyOf(asked), index: call.index, fromMs: call.at, toMs }];
  });
}

/** When the step was said to be finished, if that was between the two calls. */
function finishedAt(first: Answered, again: Answered, acts: readonly Act[]): number | null {
  for (const { events } of acts) {
    for (const { atMs, event } of events) {
      if (event.type !== 'step-finished' || event.step !== first.step || event.replayed) continue;
      if (event.item === first.id && event.workflow === first.workflow && atMs >= first.toMs && atMs < again.fromMs)
        return atMs;
    }
  }
  return null;
}

interface Excuse {
  fromMs: number;
  toMs: number;
  /** How many answers it can have cost. */
  left: number;
  /** Stored answers are gone. */
  forgets: boolean;
}

/** A model's program that was under way when the parent died may still reach its vendor before it is ended. */
const AFTERMATH_MS = 500;

function excuseOf({ fault, fromMs, toMs }: Fired, parallel: number): Excuse {
  const excuse = { fromMs, toMs, left: 1, forgets: false };
  switch (fault.kind) {
    case 'kill':
      return fault.whom === 'parent' ? { ...excuse, toMs: toMs + AFTERMATH_MS, left: parallel } : excuse;
    case 'signal':
      return { ...excuse, left: parallel };
    case 'disk-full':
    case 'read-only':
      return { ...excuse, left: Number.POSITIVE_INFINITY };
    case 'delete':
      return { ...excuse, ...lossOf(fault.what, parallel) };
    case 'kill-git':
    case 'stop':
      return excuse;
    case 'second-program':
    case 'clock':
      return { ...excuse, left: 0 };
  }
}

function lossOf(what: Deletable, parallel: number): Pick<Excuse, 'left' | 'forgets'> {
  switch (what) {
    case 'all':
    case 'checkpoints':
      return { left: Number.POSITIVE_INFINITY, forgets: true };
    case 'worktrees':
      return { left: parallel, forgets: false };
    case 'locks':
    case 'runs':
    case 'run-record':
      return { left: 0, forgets: false };
  }
}
