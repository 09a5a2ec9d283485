import { describe, expect, test } from 'vitest';
import { resolveConfig } from '../core/config.ts';
import { documentDemand, implementDemand, mostCostUsd, usualCostUsd } from './planned-cost.ts';

const configOf = (implementer?: string) => resolveConfig(implementer === undefined ? {} : { implementer }, {}, {});
const total = (costs: (number | null)[]): number => costs.reduce<number>((sum, usd) => sum + (usd ?? Number.NaN), 0);

describe('every model that is used unless another is named has a price', () => {
  test.each([undefined, 'claude-code', 'codex', 'gemini-cli', 'codex:gpt-5.5'])('implementer %s', (implementer) => {
    const config = configOf(implementer);
    const { usual } = implementDemand(config, 4_000, 5_000);
    expect(usual.map((calls) => usualCostUsd(calls, config))).not.toContain(null);
  });

  test('drafter and reviewer', () => {
    const config = configOf();
    const { usual } = documentDemand(config, 4_000, 1_000);
    expect(usual.map((calls) => usualCostUsd(calls, config))).not.toContain(null);
  });
});

test('a design costs cents and an implementation a dollar or so; what they could cost is far more', () => {
  const config = configOf();
  const design = documentDemand(config, 2_000, 5_000);
  const implementation = implementDemand(config, 8_000, 5_000);
  const usualUsd = [design, implementation].map(({ usual }) =>
    total(usual.map((calls) => usualCostUsd(calls, config))),
  );
  expect(usualUsd[0]).toBeGreaterThan(0.1);
  expect(usualUsd[0]).toBeLessThan(0.6);
  expect(usualUsd[1]).toBeGreaterThan(0.5);
  expect(usualUsd[1]).toBeLessThan(2);
  for (const { most } of [design, implementation]) {
    expect(total(most.map((calls) => mostCostUsd(calls, config)))).toBeGreaterThan(20);
  }
});

test('a larger context makes the estimate larger', () => {
  const config = configOf();
  const costs = [1_000, 20_000].map((context) =>
    total(documentDemand(config, 2_000, context).usual.map((calls) => usualCostUsd(calls, config))),
  );
  expect(costs[1]).toBeGreaterThan(costs[0] ?? 0);
});

test('a model of unknown price has no estimate, but a bound by the dearest of its vendor; where that is unknown, neither', () => {
  const costsOf = (implementer: string) => {
    const config = configOf(implementer);
    const { usual, most } = implementDemand(config, 0, 0);
    const [usualUsd, mostUsd] = [usualCostUsd, mostCostUsd].map((costOf, index) =>
      [usual, most][index]?.filter(({ role }) => role === 'implementer').map((calls) => costOf(calls, config)),
    );
    return { usualUsd, mostUsd };
  };
  expect(costsOf('anthropic:claude-unheard-of')).toEqual({ usualUsd: [null], mostUsd: [expect.any(Number)] });
  expect(costsOf('openai-compatible:local')).toEqual({ usualUsd: [null], mostUsd: [null] });
  expect(costsOf('command:./model')).toEqual({ usualUsd: [0], mostUsd: [0] });
});
