const FIRST = 3;
const FAST_UNTIL = 8;
const FIRST_PROBE_MS = 60_000;
const LONGEST_PROBE_MS = 16 * FIRST_PROBE_MS;

/** So many have to pass above the ceiling before it is raised: one may have slipped in as another ended. */
const PROOFS = 3;

interface Ceiling {
  at: number;
  probeAtMs: number;
  waitMs: number;
  probingSinceMs: number | null;
  proofs: number;
}

/**
 * How many requests may be in flight at once; no vendor says so before it refuses one. It grows only while it is what
 * holds requests back: by one for each success at first, then by about one a round. A refusal sets a ceiling, above
 * which one more is tried after 60 s, 120 s, …
 */
export class ConcurrencyLimit {
  readonly #fixed: number;
  #limit: number;
  #ceiling: Ceiling | null = null;
  #heldBack = false;
  #mostSucceeded = 0;

  /** `remembered`: what an earlier run ran into. It is a ceiling like any other, and probed soon. */
  constructor(fixed: number | null, remembered: number | null) {
    this.#fixed = fixed ?? Number.POSITIVE_INFINITY;
    this.#limit = fixed ?? Math.min(FIRST, remembered ?? FIRST);
    if (fixed === null && remembered !== null) {
      this.#ceiling = { at: remembered, probeAtMs: 0, waitMs: 0, probingSinceMs: null, proofs: 0 };
    }
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** What a refusal showed or the user configured; null while nothing has. */
  get known(): number | null {
    return Number.isFinite(this.#fixed) ? this.#fixed : (this.#ceiling?.at ?? null);
  }

  /** Would a refusal at this many mean that there were too many at once? Only where that many is new. */
  suspects(inFlight: number): boolean {
    return inFlight > 1 && (this.known === null ? inFlight >= this.#mostSucceeded - 1 : inFlight > this.known);
  }

  /** A request could go now but for this limit. */
  heldBack(): void {
    this.#heldBack = true;
  }

  succeeded(sent: { inFlight: number; atMs: number }, nowMs: number): void {
    this.#mostSucceeded = Math.max(this.#mostSucceeded, sent.inFlight);
    this.#prove(sent);
    if (!this.#heldBack) return;
    this.#heldBack = false;
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
    const waitMs = before === 0 ? FIRST_PROBE_MS : Math.min(LONGEST_PROBE_MS, before * 2);
    this.#ceiling = { at, probeAtMs: nowMs + waitMs, waitMs, probingSinceMs: null, proofs: 0 };
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
    return this.#mostSucceeded >= this.limit ? 2 / this.#limit : 0;
  }

  #prove({ inFlight, atMs }: { inFlight: number; atMs: number }): void {
    const ceiling = this.#ceiling;
    if (ceiling === null || ceiling.probingSinceMs === null) return;
    if (inFlight <= ceiling.at || atMs < ceiling.probingSinceMs) return;
    ceiling.proofs += 1;
    if (ceiling.proofs < PROOFS) return;
    ceiling.at += 1;
    ceiling.proofs = 0;
    ceiling.waitMs = 0;
    this.#limit = Math.min(this.#fixed, ceiling.at + 1);
  }
}
