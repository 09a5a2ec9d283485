import { expect, test } from 'vitest';
import { shellWord } from '../core/lines.ts';
import { testScript } from './runners.ts';
import { edited, plainArguments, shellCommands, withCallReached, withCallsChanged } from './script.ts';

const texts = (script: string): string[][] => shellCommands(script).map((words) => words.map((word) => word.text));

test('a script is cut into its commands at every operator', () => {
  expect(texts('a b && c || d; e | f & (g h)')).toEqual([['a', 'b'], ['c'], ['d'], ['e'], ['f'], ['g', 'h']]);
});

test('quotes and escapes belong to the words, and their places are those in the script', () => {
  const script = `node --test "src/**/*.test.ts" 'a b' c\\ d`;
  expect(texts(script)).toEqual([['node', '--test', 'src/**/*.test.ts', 'a b', 'c d']]);
  const [words = []] = shellCommands(script);
  expect(words.map(({ start, end }) => script.slice(start, end))).toEqual([
    'node',
    '--test',
    '"src/**/*.test.ts"',
    "'a b'",
    'c\\ d',
  ]);
});

test('redirections and their files are no arguments', () => {
  expect(texts('jest --ci > out.txt 2>&1 && cat < in.txt')).toEqual([['jest', '--ci'], ['cat']]);
});

test('a substitution is one word, whatever is in it', () => {
  expect(texts('vitest --dir $(pwd && ls; true) x')).toEqual([['vitest', '--dir', '$(pwd && ls; true)', 'x']]);
});

test('edits change only their places', () => {
  expect(
    edited('abcdef', [
      { start: 4, end: 5, text: 'X' },
      { start: 1, end: 1, text: '--' },
    ]),
  ).toBe('a--bcdXf');
});

test('a quoted word comes back as it was', () => {
  for (const word of ['plain/path.ts', "it's", 'a b', '$HOME', 'src/[id].test.ts', ''])
    expect(texts(`x ${shellWord(word)}`)[0]?.[1]).toBe(word);
});

test.each([
  ['eslint . && (tsc && vitest run) && tsd', 'eslint . ; (tsc ; vitest run) && tsd'],
  ['eslint "a && b" && mocha', 'eslint "a && b" ; mocha'],
  ['test -d x || mkdir x && mocha', 'test -d x || mkdir x && mocha'],
  ['mocha && eslint .', 'mocha && eslint .'],
])('in %s the tests are reached whatever fails in front of them', (script, reached) => {
  const [call] = testScript(script).calls;
  expect(call && withCallReached(script, call)).toBe(reached);
});

const found = (script: string): string[] =>
  testScript(script).calls.map(({ runner, words, head }) => `${runner}:${words[head]?.text}`);

test.each([
  ['vitest', 'vitest:vitest'],
  ['npm run build && npx vitest run --coverage', 'vitest:run'],
  ['NODE_ENV=test cross-env A=b jest --ci', 'jest:jest'],
  ['node --experimental-vm-modules node_modules/jest/bin/jest.js', 'jest:node_modules/jest/bin/jest.js'],
  ['react-scripts test', 'jest:test'],
  [
    'node --expose-gc ./node_modules/vitest/dist/cli-wrapper.js --run',
    'vitest:./node_modules/vitest/dist/cli-wrapper.js',
  ],
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
  'lab',
  'rm -rf node_modules/.bin/jest',
])('%s starts none', (script) => {
  expect(found(script)).toEqual([]);
});

test('what may be the value of an option is no plain argument, and what comes after -- is not touched', () => {
  const [call] = testScript('vitest run a --config a.ts src/x --bail=1 y --run w -- z').calls;
  if (call === undefined) throw new Error('no call');
  expect(plainArguments(call, /^--run$/).map(({ text }) => text)).toEqual(['a', 'src/x', 'y', 'w']);
});

test('arguments are changed in the right command, and nothing else', () => {
  const script = `echo "a  b" && vitest run old > log.txt && echo done`;
  const [call] = testScript(script).calls;
  if (call === undefined) throw new Error('no call');
  const remove = plainArguments(call, /^$/);
  expect(withCallsChanged(script, new Map([[call, { remove, first: ['--a b'], last: ['new'] }]]))).toBe(
    `echo "a  b" && vitest run '--a b' new > log.txt && echo done`,
  );
});

test('a call whose failure is handled does not stop the script; one that can’t be grouped stays as it is', () => {
  const changed = (script: string): string => {
    const { calls } = testScript(script);
    return withCallsChanged(script, new Map(calls.map((call) => [call, { last: ['x'], onFailure: 'note' }])));
  };
  expect(changed('A=1 jest > log && (jest -- y)')).toBe('{ A=1 jest x || note; } > log && ({ jest x -- y || note; })');
  const [piped] = testScript('tape a 2>&1 | tap-spec || x').calls;
  if (piped === undefined) throw new Error('no call');
  expect(withCallsChanged('tape a 2>&1 | tap-spec || x', new Map([[piped, { copy: 'o' }]]))).toBe(
    'tape a 2>&1 | tee o | tap-spec || x',
  );
  expect(withCallsChanged('tape a || x', new Map([[piped, { copy: 'o' }]]))).toBe('tape a || x');
  expect(changed('! jest; exec jest')).toBe('! jest x; exec jest x');
});
