import { expect, test } from 'vitest';
import { withScriptsExpanded } from './npm-scripts.ts';

test('scripts are followed through all package managers, with their arguments', () => {
  const scripts = { test: 'npm run unit -- --bail', unit: 'vitest run', lint: 'eslint .' };
  expect(withScriptsExpanded('npm test', scripts)).toBe('vitest run --bail');
  expect(withScriptsExpanded('npm t', scripts)).toBe('vitest run --bail');
  for (const call of ['npm run -s unit', 'pnpm unit', 'pnpm run unit', 'yarn unit', 'bun run unit'])
    expect(withScriptsExpanded(`${call} && npm run lint`, scripts)).toBe('vitest run && eslint .');
});

test('what npm runs before a script comes before it', () => {
  const scripts = { pretest: 'npm run build', build: 'tsc', test: 'node --test dist' };
  expect(withScriptsExpanded('npm test', scripts)).toBe('(tsc) && node --test dist');
});

test('several commands stay together where only one stood, and variables reach all of them', () => {
  const scripts = { unit: 'tsc && jest', one: 'jest' };
  expect(withScriptsExpanded('npm run unit || echo bad', scripts)).toBe('(tsc && jest) || echo bad');
  expect(withScriptsExpanded('cross-env CI=1 npm run unit', scripts)).toBe('export CI=1; tsc && jest');
});

test('what can not be followed stays, and a circle ends', () => {
  expect(withScriptsExpanded('npm run other -w pkg && npm ci && bun test', { test: 'x' })).toBe(
    'npm run other -w pkg && npm ci && bun test',
  );
  expect(withScriptsExpanded('npm test', { test: 'npm test' })).toBe('npm test');
  const build = { build: 'tsc && npm run build --workspaces --if-present' };
  expect(withScriptsExpanded('npm run build', build)).toBe('tsc && npm run build --workspaces --if-present');
  expect(withScriptsExpanded('npm run build --if-present -- --force', { build: 'tsc' })).toBe('tsc --force');
});

test('what measures coverage stays around a script of one command', () => {
  const scripts = { unit: 'tape test/*.js', all: 'mocha && ava' };
  expect(withScriptsExpanded('nyc npm run unit && tsd', scripts)).toBe('nyc tape test/*.js && tsd');
  expect(withScriptsExpanded('c8 --100 --reporter lcov -- npm run unit', scripts)).toBe(
    'c8 --100 --reporter lcov -- tape test/*.js',
  );
  expect(withScriptsExpanded('c8 npm run all', scripts)).toBe('c8 npm run all');
  const prepared = { ...scripts, preunit: 'node prepare' };
  expect(withScriptsExpanded('nyc npm run unit', prepared)).toBe('(node prepare) && nyc tape test/*.js');
});

test('scripts that pnpm chooses by a pattern are run one after another', () => {
  const scripts = { test: 'pnpm run /^test:/', 'test:unit': 'vitest run', 'test:lint': 'oxlint', build: 'tsc' };
  expect(withScriptsExpanded('npm test', scripts)).toBe('(vitest run) && (oxlint)');
  const coloured = { ...scripts, test: 'FORCE_COLOR=1 pnpm run /^test:/' };
  expect(withScriptsExpanded('npm test', coloured)).toBe('export FORCE_COLOR=1; (vitest run) && (oxlint)');
});

test('scripts that a runner of scripts is given by name are run one after another', () => {
  const scripts = { lint: 'oxlint', 'test:unit': 'vitest run', 'test:types': 'tsc' };
  for (const call of ['run-s', 'run-p', 'npm-run-all', 'run -p']) {
    expect(withScriptsExpanded(`${call} lint test:unit`, scripts)).toBe('(oxlint) && (vitest run)');
    expect(withScriptsExpanded(`${call} lint other`, scripts)).toBe(`${call} lint other`);
  }
});

test('scripts and patterns that would take very long stay unchanged', () => {
  const calls = Object.fromEntries(
    Array.from({ length: 8 }, (_, at) => [
      `s${at}`,
      Array(30)
        .fill(`npm run s${at + 1}`)
        .join(' && '),
    ]),
  );
  expect(withScriptsExpanded('npm run s0', calls).length).toBeLessThan(1_000_000);
  const names = { [`${'a'.repeat(40)}!`]: 'vitest run' };
  for (const script of ['pnpm run /^(a+)+$/', 'run-s "*a*a*a*a*a*a*a*a*b"'])
    expect(withScriptsExpanded(script, names)).toBe(script);
});
