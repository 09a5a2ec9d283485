import { expect, it } from 'vitest';
import { simulate } from '../../bench/support/gateway-simulation.ts';
import { LOADS, SITUATIONS, underLoad } from '../../bench/support/gateway-situation.ts';
import { poolWay } from '../../bench/support/gateway-ways.ts';

// The bench's situations in virtual time: the same vendor rules and callers, without sockets, and always the same.
it.each(SITUATIONS.map((situation) => [situation.name, situation] as const))(
  'unknown limits are used to the full and nobody starves: %s',
  async (_, situation) => {
    const score = await simulate(poolWay, situation, 1);
    expect(score.goodput).toBeGreaterThanOrEqual(situation.targets.goodput);
    expect(score.refused).toBeLessThanOrEqual(situation.targets.refused);
    expect(score.finished).toBe(100);
    expect(score.fairness).toBeGreaterThanOrEqual(0.98);
    expect(score.deadCalls).toBeLessThanOrEqual(12);
  },
);

// Runs have few callers whose calls take long: what is learned there rests on few answers that come late.
it.each(
  LOADS.flatMap((load) => SITUATIONS.map((situation) => underLoad(situation, load))).map(
    (one) => [one.name, one] as const,
  ),
)('the same holds in proportion: %s', async (_, situation) => {
  const score = await simulate(poolWay, situation, 1);
  expect(score.goodput).toBeGreaterThanOrEqual(situation.targets.goodput);
  expect(score.refused).toBeLessThanOrEqual(situation.targets.refused);
  expect(score.finished).toBe(100);
});
