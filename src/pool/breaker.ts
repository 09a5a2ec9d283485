const WINDOW = 20;
const LEAST_OUTCOMES = 10;
const FAILING_SHARE = 0.8;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Closed: requests go. When more than 80 % of the last answers were the provider's own failures it opens: nothing goes
 * for half a second, then one request as a probe; a failed probe doubles the pause, up to 2 s, a good one closes it.
 */
export class ProviderBreaker {
  #outcomes: boolean[] = [];
  #open: { untilMs: number; pauseMs: number; probing: boolean } | null = null;

  isOpen(): boolean {
    return this.#open !== null;
  }

  /** When a request may go; null while the probe is out. */
  readyAtMs(nowMs: number): number | null {
    if (this.#open === null) return nowMs;
    return this.#open.probing ? null : Math.max(nowMs, this.#open.untilMs);
  }

  sent(): void {
    if (this.#open !== null) this.#open.probing = true;
  }

  /** The request that may have been the probe ended without an answer. */
  unanswered(): void {
    if (this.#open !== null) this.#open.probing = false;
  }

  succeeded(): void {
    this.#note(true);
    if (this.#open === null) return;
    this.#open = null;
    this.#outcomes = [];
  }

  failed(nowMs: number): void {
    this.#note(false);
    if (this.#open !== null) {
      if (!this.#open.probing) return;
      const pauseMs = Math.min(LONGEST_PAUSE_MS, this.#open.pauseMs * 2);
      this.#open = { untilMs: nowMs + pauseMs, pauseMs, probing: false };
      return;
    }
    const failures = this.#outcomes.filter((ok) => !ok).length;
    if (this.#outcomes.length < LEAST_OUTCOMES || failures <= FAILING_SHARE * this.#outcomes.length) return;
    this.#open = { untilMs: nowMs + FIRST_PAUSE_MS, pauseMs: FIRST_PAUSE_MS, probing: false };
  }

  #note(ok: boolean): void {
    this.#outcomes.push(ok);
    if (this.#outcomes.length > WINDOW) this.#outcomes.shift();
  }
}
