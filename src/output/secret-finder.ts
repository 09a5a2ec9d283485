import { maskedForms } from '../core/mask.ts';

/** A part of a line that must not be shown. */
export interface Region {
  readonly start: number;
  readonly end: number;
}

const TABLE_SIZE = 4096;
const hash = (before: number, last: number): number => ((before << 4) ^ last) & (TABLE_SIZE - 1);

/**
 * Looks for many secrets at once in bytes, without decoding them. It slides a window as long as the shortest secret;
 * the last two bytes in it tell how far it may jump (Wu and Manber's search), so that most bytes are never looked at
 * and more secrets cost next to nothing.
 */
export class SecretFinder {
  /** Length in bytes of the longest form of a secret; 0 when there is none. */
  readonly longest: number;
  readonly #shortest: number;
  readonly #jumps = new Uint8Array(TABLE_SIZE);
  readonly #endingAt = new Map<number, Buffer[]>();

  constructor(secrets: readonly string[]) {
    const forms = maskedForms(secrets).map((form) => Buffer.from(form));
    const lengths = forms.map((form) => form.length);
    this.longest = Math.max(0, ...lengths);
    this.#shortest = Math.min(255, ...lengths);
    this.#jumps.fill(this.#shortest - 1);
    for (const form of forms) this.#learn(form);
  }

  #learn(form: Buffer): void {
    for (let last = 1; last < this.#shortest; last++) {
      const pair = hash(form[last - 1] ?? 0, form[last] ?? 0);
      const jump = this.#shortest - 1 - last;
      this.#jumps[pair] = Math.min(this.#jumps[pair] ?? 0, jump);
      if (jump === 0) this.#endingAt.set(pair, [...(this.#endingAt.get(pair) ?? []), form]);
    }
  }

  /** Where the first secret between the two offsets begins, or -1. */
  find(bytes: Uint8Array, from: number, to: number): number {
    return this.#next(bytes, from, to)?.start ?? -1;
  }

  /** Every secret between the two offsets; those that touch or overlap are one region, so that no end of one is left. */
  regions(bytes: Uint8Array, from: number, to: number): Region[] {
    const found: Region[] = [];
    for (let next = this.#next(bytes, from, to); next; next = this.#next(bytes, next.start + 1, to)) {
      const last = found.at(-1);
      if (last && next.start <= last.end)
        found[found.length - 1] = { start: last.start, end: Math.max(last.end, next.end) };
      else found.push(next);
    }
    return found;
  }

  #next(bytes: Uint8Array, from: number, to: number): Region | null {
    if (this.longest === 0) return null;
    const jumps = this.#jumps;
    const reach = this.#shortest - 1;
    let last = from + reach;
    while (last < to) {
      const pair = hash(bytes[last - 1] ?? 0, bytes[last] ?? 0);
      const jump = jumps[pair] ?? 0;
      if (jump > 0) {
        last += jump;
        continue;
      }
      const start = last - reach;
      const form = this.#endingAt.get(pair)?.find((candidate) => isAt(bytes, start, to, candidate));
      if (form) return { start, end: start + form.length };
      last++;
    }
    return null;
  }
}

function isAt(bytes: Uint8Array, start: number, to: number, form: Buffer): boolean {
  if (start + form.length > to) return false;
  for (let n = 0; n < form.length; n++) if (bytes[start + n] !== form[n]) return false;
  return true;
}
