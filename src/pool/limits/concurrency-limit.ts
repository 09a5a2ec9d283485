const FIRST = 3;
const FAST_UNTIL = 8;
const SLOW_UNTIL = 32;
const FIRST_PROBE_MS = 60_000;
const SIBLING_PROBE_MS = 10_000;

/** So many have to pass above the ceiling before it is believed: one may have slipped in as another ended. */
const PROOFS = 3;

interface Ceiling {
  at: number;
  /** A sibling's: a guess, dropped as soon as it is disproved. */
  guess: boolean;
  probeAtMs: number;
  waitMs: number;
  probingSinceMs: number | null;
  proofs: number;
}

/**
 * How many requests may be in flight at once; no vendor says so before it refuses one. It grows only while it is what
 * holds requests back: by one for each success at first, then by about one a round, and faster again when so many pass
 * that there seems to be no ceiling. A refusal sets a ceiling, above which one more is tried after 60 s, 120 s, … What a
 * sibling ran into is a ceiling too, but one that is tried soon.
 */
export class ConcurrencyLimit {
  readonly #fixed: number;
  #limit: number;
  #ceiling: Ceiling | null = null;
  #heldBack = false;
  #mostSucceeded = 0;

  constructor(fixed: number | null) {
    this.#fixed = fixed ?? Number.POSITIVE_INFINITY;
    this.#limit = fixed ?? FIRST;
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** What a refusal showed or the user configured; null while nothing has. */
  get known(): number | null {
    if (Number.isFinite(this.#fixed)) return this.#fixed;
    return this.#ceiling === null || this.#ceiling.guess ? null : this.#ceiling.at;
  }

  /** Would a refusal at this many mean that there were too many at once? Only where that many is new. */
  suspects(inFlight: number): boolean {
    return inFlight > 1 && (this.known === null ? inFlight >= this.#mostSucceeded - 1 : inFlight > this.known);
  }

  /** A request could go now but for this limit. */
  heldBack(): void {
    this.#heldBack = true;
  }

  succeeded(sent: { inFlight: number; atMs: number }, nowMs: number, sibling: number | null): void {
    this.#mostSucceeded = Math.max(this.#mostSucceeded, sent.inFlight);
    this.#prove(sent);
    if (!this.#heldBack) return;
    this.#heldBack = false;
    if (this.#ceiling === null && sibling !== null && this.limit === sibling) {
      const probeAtMs = nowMs + SIBLING_PROBE_MS;
      this.#ceiling = { at: sibling, guess: true, probeAtMs, waitMs: 0, probingSinceMs: null, proofs: 0 };
    }
    const ceiling = this.#ceiling;
    if (ceiling === null || this.limit < ceiling.at) {
      this.#limit = Math.min(this.#fixed, this.#limit + this.#step());
    } else if (ceiling.probingSinceMs === null && nowMs >= ceiling.probeAtMs) {
      ceiling.probingSinceMs = nowMs;
      this.#limit = ceiling.at + 1;
    }
  }

  refused(inFlight: number, nowMs: number): void {
    const at = Math.max(1, Math.min(this.limit, inFlight - 1));
    const before = this.#ceiling?.waitMs ?? 0;
    const waitMs = before === 0 ? FIRST_PROBE_MS : Math.min(16 * FIRST_PROBE_MS, before * 2);
    this.#ceiling = { at, guess: false, probeAtMs: nowMs + waitMs, waitMs, probingSinceMs: null, proofs: 0 };
    this.#limit = at;
  }

  /** Two groups turned out to be one: what both had in flight together went well so far. */
  absorb(other: ConcurrencyLimit): void {
    const known = [this.known, other.known].filter((value) => value !== null);
    this.#limit = known.length > 0 ? Math.min(...known) : Math.min(this.#fixed, this.#limit + other.#limit);
    this.#mostSucceeded = Math.max(this.#mostSucceeded, other.#mostSucceeded);
    this.#ceiling ??= other.#ceiling;
  }

  /** Where ceilings are likely, the next step is not taken before the last one has proved right. */
  #step(): number {
    if (this.#limit < FAST_UNTIL) return 1;
    if (this.#limit >= SLOW_UNTIL) return 0.25;
    return this.#mostSucceeded >= this.limit ? 2 / this.#limit : 0;
  }

  #prove({ inFlight, atMs }: { inFlight: number; atMs: number }): void {
    const ceiling = this.#ceiling;
    if (ceiling === null || ceiling.probingSinceMs === null) return;
    if (inFlight <= ceiling.at || atMs < ceiling.probingSinceMs) return;
    ceiling.proofs += 1;
    if (ceiling.proofs < PROOFS) return;
    if (ceiling.guess) {
      this.#ceiling = null;
      return;
    }
    ceiling.at += 1;
    ceiling.proofs = 0;
    ceiling.waitMs = 0;
    this.#limit = Math.min(this.#fixed, ceiling.at + 1);
  }
}
