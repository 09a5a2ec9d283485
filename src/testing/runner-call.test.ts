import { expect, test } from 'vitest';
import { plainArguments, withCallsChanged } from './runner-call.ts';
import { testScript } from './runners.ts';

const found = (script: string): string[] =>
  testScript(script).calls.map(({ runner, words, head }) => `${runner}:${words[head]?.text}`);

test.each([
  ['vitest', 'vitest:vitest'],
  ['npm run build && npx vitest run --coverage', 'vitest:run'],
  ['NODE_ENV=test cross-env A=b jest --ci', 'jest:jest'],
  ['node --experimental-vm-modules node_modules/jest/bin/jest.js', 'jest:node_modules/jest/bin/jest.js'],
  ['react-scripts test', 'jest:test'],
  ['tsc && node --test dist/test', 'node:node'],
  ['node --import tsx --test', 'node:node'],
  ['node --experimental-strip-types --test "src/**/*.test.ts"', 'node:node'],
  ['c8 -r lcov node --test', 'node:node'],
  ['tsx --test test/*.ts', 'node:tsx'],
  ['python3 -m pytest -q', 'pytest:pytest'],
  ['uv run --frozen pytest', 'pytest:pytest'],
  ['.venv/bin/pytest tests', 'pytest:.venv/bin/pytest'],
  ['go vet ./... && go test ./...', 'go:test'],
  ['cargo +nightly test --workspace', 'cargo:test'],
])('%s starts a runner', (script, expected) => {
  expect(found(script)).toEqual([expected]);
});

test.each([
  'echo jest',
  'node server.js',
  'go build ./...',
  'eslint vitest.config.ts',
  'mocha',
  'rm -rf node_modules/.bin/jest',
])('%s starts none', (script) => {
  expect(found(script)).toEqual([]);
});

test('values of options are no plain arguments, and what comes after -- is not touched', () => {
  const [call] = testScript('vitest run --config a.ts src/x --bail=1 y -- z').calls;
  if (call === undefined) throw new Error('no call');
  expect(plainArguments(call, new Set(['--config'])).map(({ text }) => text)).toEqual(['src/x', 'y']);
});

test('arguments are changed in the right command, and nothing else', () => {
  const script = `echo "a  b" && vitest run old > log.txt && echo done`;
  const [call] = testScript(script).calls;
  if (call === undefined) throw new Error('no call');
  const remove = plainArguments(call, new Set());
  expect(withCallsChanged(script, new Map([[call, { remove, first: ['--a b'], last: ['new'] }]]))).toBe(
    `echo "a  b" && vitest run '--a b' new > log.txt && echo done`,
  );
});
