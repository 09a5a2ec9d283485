const FIRST_LIMIT = 3;
const FAST_UNTIL = 8;
const FIRST_PROBE_MS = 60_000;
const LONGEST_PROBE_MS = 16 * FIRST_PROBE_MS;

/** How many requests must pass above the ceiling before it is raised: one may have slipped in as another ended. */
const PROOFS = 3;

interface Ceiling {
  at: number;
  probeAtMs: number;
  waitMs: number;
  proofs: number;
}

/**
 * How many requests may be in flight at once. No vendor names that limit before it refuses a request. Ours grows only while it
 * holds requests back: first by one for each success, later by about one a round. A refusal sets a ceiling; one request above it
 * is tried after 60 s, 120 s, …
 */
export class ConcurrencyLimit {
  readonly #fixed: number;
  #limit: number;
  #ceiling: Ceiling | null = null;
  #heldBack = false;
  #mostSucceeded = 0;

  /** `remembered`: the limit that an earlier run found. It is a ceiling like any other, and probed at once. */
  constructor(fixed: number | null, remembered: number | null) {
    this.#fixed = fixed ?? Number.POSITIVE_INFINITY;
    this.#limit = fixed ?? Math.min(FIRST_LIMIT, remembered ?? FIRST_LIMIT);
    if (fixed === null && remembered !== null) {
      this.#ceiling = { at: remembered, probeAtMs: 0, waitMs: 0, proofs: 0 };
    }
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** The limit that the user configured or a refusal showed; null: none yet. */
  get known(): number | null {
    return Number.isFinite(this.#fixed) ? this.#fixed : (this.#ceiling?.at ?? null);
  }

  /** Whether a refusal with this many in flight may mean that there were too many at once: only if that many is new. */
  suspects(inFlight: number): boolean {
    return inFlight > 1 && (this.known === null ? inFlight >= this.#mostSucceeded - 1 : inFlight > this.known);
  }

  /** Only this limit holds a request back now. */
  heldBack(): void {
    this.#heldBack = true;
  }

  succeeded(inFlight: number, nowMs: number): void {
    this.#mostSucceeded = Math.max(this.#mostSucceeded, inFlight);
    this.#prove(inFlight);
    if (!this.#heldBack) return;
    this.#heldBack = false;
    const ceiling = this.#ceiling;
    if (ceiling === null || this.limit < ceiling.at) {
      this.#limit = Math.min(this.#fixed, this.#limit + this.#step());
    } else if (nowMs >= ceiling.probeAtMs) {
      this.#limit = ceiling.at + 1;
    }
  }

  refused(inFlight: number, nowMs: number): void {
    const at = Math.max(1, Math.min(this.limit, inFlight - 1));
    const before = this.#ceiling?.waitMs ?? 0;
    const waitMs = before === 0 ? FIRST_PROBE_MS : Math.min(LONGEST_PROBE_MS, before * 2);
    this.#ceiling = { at, probeAtMs: nowMs + waitMs, waitMs, proofs: 0 };
    this.#limit = at;
  }

  /** Two groups turned out to be one: together they had this many in flight, and that was fine. */
  absorb(other: ConcurrencyLimit): void {
    const known = [this.known, other.known].filter((value) => value !== null);
    this.#limit = known.length > 0 ? Math.min(...known) : Math.min(this.#fixed, this.#limit + other.#limit);
    this.#mostSucceeded = Math.max(this.#mostSucceeded, other.#mostSucceeded);
    this.#ceiling ??= other.#ceiling;
  }

  /** From here on ceilings are likely, so the next step waits until the last one has succeeded. */
  #step(): number {
    if (this.#limit < FAST_UNTIL) return 1;
    return this.#mostSucceeded >= this.limit ? 2 / this.#limit : 0;
  }

  #prove(inFlight: number): void {
    const ceiling = this.#ceiling;
    if (ceiling === null || this.limit <= ceiling.at || inFlight <= ceiling.at) return;
    ceiling.proofs += 1;
    if (ceiling.proofs < PROOFS) return;
    ceiling.at += 1;
    ceiling.proofs = 0;
    ceiling.waitMs = 0;
    this.#limit = Math.min(this.#fixed, ceiling.at + 1);
  }
}
