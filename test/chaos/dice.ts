import { seededRandom } from '../support/vendor/random.ts';

/** Choices that are the same for the same seed. */
export interface Dice {
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly [T, ...T[]]): T;
  /** Each entry is as likely as its weight says. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T;
}

export function diceOf(seed: number): Dice {
  const random = seededRandom(seed);
  // Neighbouring seeds begin alike.
  for (let skipped = 0; skipped < 8; skipped++) random();
  const between = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1));
  return {
    between,
    chance: (probability) => random() < probability,
    pick: (from) => from[between(0, from.length - 1)] ?? from[0],
    weighted(weights) {
      const entries = Object.entries<number>(weights);
      let left = random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      const hit = entries.find(([, weight]) => {
        left -= weight;
        return left < 0;
      });
      return (hit ?? entries[0])?.[0] as keyof typeof weights;
    },
  };
}
