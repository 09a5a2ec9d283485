import { expect, test } from 'vitest';
import { edited, shellCommands, shellQuoted } from './shell-script.ts';

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
    expect(texts(`x ${shellQuoted(word)}`)[0]?.[1]).toBe(word);
});
