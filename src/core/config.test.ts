import { expect, test } from 'vitest';
import { resolveConfig } from './config.ts';

test('without anything the defaults hold', () => {
  const { models, bounds, context, keys, endpoints } = resolveConfig({}, {}, {});
  expect(models).toEqual({
    drafter: 'anthropic:claude-opus-5',
    reviewer: 'google:gemini-3.1-pro-preview',
    implementer: 'anthropic:claude-opus-5',
  });
  expect(bounds).toEqual({
    maxRounds: 3,
    maxRetries: 3,
    timeoutMs: 3_600_000,
    globalTimeoutMs: null,
    idleTimeoutMs: 300_000,
    callTimeoutMs: 1_200_000,
    maxQuotaWaitMs: 3_600_000,
    maxCostUsd: null,
    maxCostPerItemUsd: 20,
    hasChosenCostLimit: false,
  });
  expect({ context, keys, endpoints }).toEqual({
    context: { maxTokens: 24_000, exclude: [] },
    keys: [],
    endpoints: {},
  });
});

test('the file wins over the defaults, each setting by itself', () => {
  const file = { models: { reviewer: 'offline' }, bounds: { timeout: '90s', maxCostUsd: 2, callTimeout: '1m' } };
  const { models, bounds } = resolveConfig({}, file, {});
  expect(models).toMatchObject({ drafter: 'anthropic:claude-opus-5', reviewer: 'offline' });
  expect(bounds).toMatchObject({ timeoutMs: 90_000, maxCostUsd: 2, callTimeoutMs: 60_000, maxRounds: 3 });
  expect(bounds).toMatchObject({ maxCostPerItemUsd: 20, hasChosenCostLimit: true });
});

test('flags win over the file, also with a value such as 0', () => {
  const file = { models: { drafter: 'offline' }, bounds: { maxRetries: 5, timeout: '90s', maxRounds: 9 } };
  const { models, bounds } = resolveConfig({ drafter: 'openai:gpt-5', maxRetries: 0, timeoutMs: 7 }, file, {});
  expect(models.drafter).toBe('openai:gpt-5');
  expect(bounds).toMatchObject({ maxRetries: 0, timeoutMs: 7, maxRounds: 9 });
});

test('--offline takes every role, over flags and file', () => {
  const { models } = resolveConfig({ offline: true, drafter: 'openai:x' }, { models: { reviewer: 'openai:y' } }, {});
  expect(models).toEqual({ drafter: 'offline', reviewer: 'offline', implementer: 'offline' });
});

test('an endpoint comes from the file before the environment; an empty variable names none', () => {
  const env = {
    OPENAI_BASE_URL: ' https://env.example/v1 ',
    ANTHROPIC_BASE_URL: 'https://env.example',
    GOOGLE_GEMINI_BASE_URL: '',
  };
  const { endpoints } = resolveConfig({}, { endpoints: { anthropic: 'https://file.example' } }, env);
  expect(endpoints).toEqual({ anthropic: 'https://file.example', openai: 'https://env.example/v1' });
});

test('keys are read from the variables that the file names', () => {
  const { keys, keyVariables } = resolveConfig({}, { keys: { 'openai-compatible': ['LOCAL'] } }, { LOCAL: 'k-local' });
  expect(keys.map((key) => [key.vendor, key.id])).toEqual([['openai-compatible', 'LOCAL']]);
  expect(keyVariables).toEqual({ 'openai-compatible': ['LOCAL'] });
});
