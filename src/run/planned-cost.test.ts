import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testRepository } from '../../test/support/repository.ts';
import { resolveConfig } from '../core/config.ts';
import { parseItemId } from '../core/ids.ts';
import { pathsOf } from '../core/paths.ts';
import type { PlannedCost } from '../core/plan.ts';
import { createGit } from '../git/git.ts';
import { type Calls, documentDemand, implementDemand, plannedCost, usualCostUsd } from './planned-cost.ts';
import type { Project } from './project.ts';

const configOf = (implementer?: string) => resolveConfig(implementer === undefined ? {} : { implementer }, {}, {});
const costsOf = (calls: Calls[], config = configOf()): (number | null)[] =>
  calls.map((each) => usualCostUsd(each, config));
const total = (costs: (number | null)[]): number => costs.reduce<number>((sum, usd) => sum + (usd ?? Number.NaN), 0);

describe('every model that is used unless another is named has a price', () => {
  test.each([undefined, 'claude-code', 'codex', 'gemini-cli', 'codex:gpt-5.5'])('implementer %s', (implementer) => {
    expect(costsOf(implementDemand(4_000, 5_000), configOf(implementer))).not.toContain(null);
  });

  test('drafter and reviewer', () => {
    expect(costsOf(documentDemand(4_000, 1_000))).not.toContain(null);
  });
});

test('a design costs cents and an implementation a dollar or so', () => {
  const designUsd = total(costsOf(documentDemand(2_000, 5_000)));
  expect(designUsd).toBeGreaterThan(0.1);
  expect(designUsd).toBeLessThan(0.6);
  const implementationUsd = total(costsOf(implementDemand(8_000, 5_000)));
  expect(implementationUsd).toBeGreaterThan(0.5);
  expect(implementationUsd).toBeLessThan(2);
});

test('a larger context makes the estimate larger', () => {
  const [less = 0, more] = [1_000, 20_000].map((context) => total(costsOf(documentDemand(2_000, context))));
  expect(more).toBeGreaterThan(less);
});

test('a model of unknown price has no estimate', () => {
  const usualOf = (implementer: string) => costsOf(implementDemand(0, 0).slice(0, 1), configOf(implementer));
  expect(usualOf('anthropic:claude-unheard-of')).toEqual([null]);
  expect(usualOf('openai-compatible:local')).toEqual([null]);
  expect(usualOf('command:./model')).toEqual([0]);
});

test('the ceiling is what the limits allow, where a vendor has any price, and nothing where no call is metered', async () => {
  const items = ['1', '2'].map((id) => ({ item: { id: parseItemId(id) }, ahead: [] }));
  const { root, home } = await testRepository({});
  const paths = pathsOf(root, join(root, '.agentos'));
  const git = createGit(root, { PATH: process.env['PATH'] ?? '', HOME: home });
  const planned = (implementer: string, maxCostUsd?: number): Promise<PlannedCost> => {
    const config = resolveConfig({ implementer, maxCostUsd }, {}, {});
    const project = { config, paths, git } as Project;
    return plannedCost(project, items, [{ config, roles: ['implementer'] }]);
  };
  const ofItems = { costCeilingUsd: 40, costCeilingBy: '--max-cost-per-item' };
  expect(await planned('anthropic:claude-opus-5')).toMatchObject(ofItems);
  expect(await planned('anthropic:claude-unheard-of')).toMatchObject(ofItems);
  expect(await planned('codex')).toMatchObject(ofItems);
  expect(await planned('codex', 15)).toMatchObject({ costCeilingUsd: 15, costCeilingBy: '--max-cost' });
  const none = { costCeilingUsd: null, costCeilingBy: null };
  expect(await planned('openai-compatible:local')).toMatchObject({ ...none, unmetered: [] });
  expect(await planned('command:./model')).toMatchObject({ ...none, unmetered: ['command:./model'] });
  expect(await planned('offline')).toMatchObject({ costCeilingUsd: 0, costCeilingBy: null });
});
