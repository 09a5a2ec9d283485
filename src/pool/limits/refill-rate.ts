/** Kept below what was measured, so that an error of the measurement doesn't end in a refusal. */
const MARGIN = 0.98;

const RECENT = 4;
/** How much more than the measure is based on has to pass before it is doubted. */
const PATIENCE = 0.5;

export interface Measure {
  perMs: number;
  /** In usual requests: the relative error is about one over this. */
  evidence: number;
}

interface Empty {
  atMs: number;
  taken: number;
}

/**
 * Learns how fast a limit refills from refusals alone. It was empty at each of them, so what was admitted between two
 * is what flowed back in that time. The longer the time, the better: the first refusal stays the anchor unless the rate
 * has visibly changed since. Until the measure is good, the pace creeps up within its error, so that an estimate that
 * was too low is found out.
 */
export class RefillRate {
  #anchor: Empty | null = null;
  /** The latest refusals, the oldest of them first. */
  #latest: Empty[] = [];
  #own: Measure;
  /** Together with siblings whose own measures agree. */
  #pooled: Measure;

  constructor(guess: Measure) {
    this.#own = guess;
    this.#pooled = guess;
  }

  /** `taken`: all that was admitted so far; `unit`: what a usual request takes. */
  refused(nowMs: number, taken: number, unit: number, siblings: readonly Measure[]): void {
    const now = { atMs: nowMs, taken };
    this.#anchor ??= now;
    const since = this.#latest[0] ?? now;
    this.#latest = [...this.#latest, now].slice(-RECENT);
    const recent = between(since, now);
    let whole = between(this.#anchor, now);
    const error = Math.max(0.1, (1.5 * unit) / Math.max(unit, recent.taken));
    if (recent.taken >= 12 * unit && Math.abs(recent.perMs / whole.perMs - 1) > error) {
      this.#anchor = since;
      whole = recent;
    }
    const evidence = whole.taken / unit;
    if (evidence >= 3 && whole.perMs > 0) {
      const agrees = Math.abs(whole.perMs / this.#own.perMs - 1) <= 1 / evidence;
      if (!agrees || evidence > this.#own.evidence) this.#own = { perMs: whole.perMs, evidence };
    } else if (nowMs > this.#anchor.atMs) {
      // Too little to measure by, but one more than was let in would have been too many.
      const most = (whole.taken + unit) / (nowMs - this.#anchor.atMs);
      this.#own = { ...this.#own, perMs: Math.min(this.#own.perMs, most) };
    }
    this.#pooled = pooled(this.#own, siblings);
  }

  /** Some that had been counted at the last refusal turned out to be refused too. */
  refusedToo(taken: number): void {
    const last = this.#latest.at(-1);
    if (last !== undefined) last.taken = Math.min(last.taken, taken);
  }

  perMs(taken: number, unit: number): number {
    const since = Math.max(0, taken - (this.#latest.at(-1)?.taken ?? taken)) / unit;
    const { perMs, evidence } = this.#pooled;
    const progress = Math.max(0, since / Math.max(4, evidence) - PATIENCE);
    return perMs * (MARGIN + Math.min(0.5, 1 / evidence) * progress);
  }

  /** Its own measure, for a sibling that has to guess. */
  get known(): Measure {
    return this.#own;
  }
}

function pooled(own: Measure, siblings: readonly Measure[]): Measure {
  const agreeing = siblings.filter(({ perMs }) => Math.abs(perMs / own.perMs - 1) <= 1 / own.evidence);
  const all = [own, ...agreeing];
  const evidence = all.reduce((sum, one) => sum + one.evidence, 0);
  return { perMs: all.reduce((sum, one) => sum + one.perMs * one.evidence, 0) / evidence, evidence };
}

function between(from: Empty, to: Empty): { taken: number; perMs: number } {
  const taken = to.taken - from.taken;
  return { taken, perMs: taken / Math.max(1, to.atMs - from.atMs) };
}
