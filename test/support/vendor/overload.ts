import { seededRandom } from './random.ts';

/** How often the vendor says that it is overloaded (529, or 503 where the vendor knows no 529). */
export interface Overload {
  /** Of all requests, 0 to 1. */
  probability?: number;
  /** Times since the start at which it is worse; the probability is 1 unless said otherwise. */
  spells?: { fromMs: number; toMs: number; probability?: number }[];
  seed?: number;
}

/** Tells for each request whether it meets the overload. Nothing is charged for those that do. */
export function createOverload(overload: Overload | undefined): (elapsedMs: number) => boolean {
  if (overload === undefined) return () => false;
  const random = seededRandom(overload.seed ?? 1);
  return (elapsedMs) => {
    const spell = overload.spells?.find(({ fromMs, toMs }) => elapsedMs >= fromMs && elapsedMs < toMs);
    const probability = spell === undefined ? (overload.probability ?? 0) : (spell.probability ?? 1);
    return random() < probability;
  };
}
