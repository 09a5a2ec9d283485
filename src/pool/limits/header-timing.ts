/** What had been charged by a moment, as far as we know. */
interface Moment {
  atMs: number;
  charged: number;
}

interface HeaderReading {
  remaining: number;
  /** Nothing can flow in: such a reading says nothing about rates. */
  full: boolean;
  perMs: number;
  answer: Moment;
  send: Moment | null;
}

const LEAST_READINGS = 6;
const MEMORY_MS = 20_000;

/**
 * Two things that headers tell only when one is compared with the next. Of which moment they are: a vendor may write
 * them when it lets a request in, or when it answers. And how much others take: what is missing beyond our own use.
 */
export class HeaderTiming {
  #previous: HeaderReading | null = null;
  #readings = 0;
  #errors = { answer: 0, send: 0 };
  #taken = 0;
  #overMs = 0;

  /** Of which moment the headers are; null: not known yet. */
  read(reading: HeaderReading): 'answer' | 'send' | null {
    const before = this.#previous;
    this.#previous = reading;
    if (before === null || before.full || reading.full) return this.#asOf();
    const missing = (from: Moment, to: Moment): number =>
      before.remaining + reading.perMs * (to.atMs - from.atMs) - (to.charged - from.charged) - reading.remaining;
    const atAnswer = missing(before.answer, reading.answer);
    if (before.send !== null && reading.send !== null) {
      const atSend = missing(before.send, reading.send);
      this.#readings += 1;
      this.#errors.answer += 0.1 * (Math.abs(atAnswer) - this.#errors.answer);
      this.#errors.send += 0.1 * (Math.abs(atSend) - this.#errors.send);
    }
    const sinceMs = Math.max(0, reading.answer.atMs - before.answer.atMs);
    const kept = Math.exp(-sinceMs / MEMORY_MS);
    this.#taken = this.#taken * kept + atAnswer;
    this.#overMs = this.#overMs * kept + sinceMs;
    return this.#asOf();
  }

  /** Per millisecond; never all of it, or nobody would look again. */
  othersPerMs(perMs: number): number {
    if (this.#overMs < MEMORY_MS / 4) return 0;
    return Math.max(0, Math.min(0.9 * perMs, this.#taken / this.#overMs));
  }

  #asOf(): 'answer' | 'send' | null {
    if (this.#readings < LEAST_READINGS) return null;
    return this.#errors.answer <= this.#errors.send ? 'answer' : 'send';
  }
}
