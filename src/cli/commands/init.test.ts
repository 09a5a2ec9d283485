import { expect, test } from 'vitest';
import { resolveConfig } from '../../core/config.ts';
import { configFileSchema } from '../../core/config-file.ts';
import { parseConfigFile } from '../../core/config-reader.ts';
import template from './init-template.md';

/** As an editor takes a comment mark from every line; the first one is a mark for editors, not a setting. */
function uncommented(text: string): string {
  const [mark, ...lines] = text.split('\n');
  return [mark, ...lines.map((line) => line.replace(/^# ?/, ''))].join('\n');
}

test('as it is written, agentos.yaml sets nothing', () => {
  expect(parseConfigFile(template, 'agentos.yaml')).toEqual({});
});

test('with every comment mark removed it is valid, and no setting is missing', () => {
  const settings = parseConfigFile(uncommented(template), 'agentos.yaml');
  expect(Object.keys(settings).sort()).toEqual(Object.keys(configFileSchema.shape).sort());
  expect(Object.keys(settings.models ?? {}).sort()).toEqual(
    Object.keys(configFileSchema.shape.models.unwrap().shape).sort(),
  );
  expect(Object.keys(settings.bounds ?? {}).sort()).toEqual(
    Object.keys(configFileSchema.shape.bounds.unwrap().shape).sort(),
  );
});

test('what it shows as default is the default', () => {
  const shown = resolveConfig({}, parseConfigFile(uncommented(template), 'agentos.yaml'), {});
  const real = resolveConfig({}, {}, {});
  const withoutDefault = { globalTimeoutMs: null, maxCostUsd: null, hasChosenCostLimit: false };
  expect(shown.models).toEqual(real.models);
  expect({ ...shown.bounds, ...withoutDefault }).toEqual(real.bounds);
  expect(shown.context.maxTokens).toBe(real.context.maxTokens);
  expect(shown.passEnvironment).toEqual(real.passEnvironment);
});
