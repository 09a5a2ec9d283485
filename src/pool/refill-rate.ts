/** Below the measured rate, so that an error of the measurement does not end in a refusal. */
const MARGIN = 0.98;

/** How many refusals are remembered: the rate is measured from the oldest of them, so a changed limit is found. */
const REMEMBERED = 12;

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
 * Learns how fast a limit refills from refusals alone. The bucket was empty at each of them, so what was admitted
 * between two refusals is what flowed back in that time. Until the measurement is good, the pace creeps up within its
 * error, so that an estimate that was too low is corrected.
 */
export class RefillRate {
  #refusals: Empty[] = [];
  #measure: Measure;

  constructor(guess: Measure) {
    this.#measure = guess;
  }

  /** `taken`: all that was admitted so far; `unit`: what a usual request takes. */
  refused(nowMs: number, taken: number, unit: number): void {
    this.#refusals = [...this.#refusals, { atMs: nowMs, taken }].slice(-REMEMBERED);
    const first = this.#refusals[0];
    if (first === undefined || first.atMs >= nowMs) return;
    const admitted = taken - first.taken;
    const perMs = admitted / (nowMs - first.atMs);
    const evidence = admitted / unit;
    if (evidence >= 3) {
      const agrees = Math.abs(perMs / this.#measure.perMs - 1) <= 1 / evidence;
      if (!agrees || evidence > this.#measure.evidence) this.#measure = { perMs, evidence };
      return;
    }
    // Too little to measure by, but one more than was admitted would have been too many.
    const most = (admitted + unit) / (nowMs - first.atMs);
    this.#measure = { ...this.#measure, perMs: Math.min(this.#measure.perMs, most) };
  }

  /** Requests that had been counted at the last refusal turned out to be refused too. */
  refusedToo(taken: number): void {
    const last = this.#refusals.at(-1);
    if (last !== undefined) last.taken = Math.min(last.taken, taken);
  }

  perMs(taken: number, unit: number): number {
    const since = Math.max(0, taken - (this.#refusals.at(-1)?.taken ?? taken)) / unit;
    const { perMs, evidence } = this.#measure;
    // Nothing higher is tried before as much has passed as the measurement rests on.
    const progress = Math.max(0, since / Math.max(4, evidence) - 1);
    return perMs * (MARGIN + Math.min(0.5, 1 / evidence) * progress);
  }
}
