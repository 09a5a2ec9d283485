import { expect, test } from 'vitest';
import { parseTap } from './tap.ts';

const read = (text: string) => parseTap(text, (name) => (name.endsWith('.js') ? name : null));

test('points, directives and diagnostics of TAP 13', () => {
  const reading = read(`TAP version 13
# a comment
ok 1 - adds
not ok 2 - subtracts
  ---
  operator: equal
  expected: 1
    nested: 2
  ...
ok 3 - later # SKIP no network
not ok 4 - some day # TODO
ok 5
not ok - no number \\# here in C:\\\\dir
1..6
# fail  2`);
  expect(reading?.cases).toEqual([
    { file: null, name: 'adds', outcome: 'passed', message: null },
    { file: null, name: 'subtracts', outcome: 'failed', message: 'operator: equal\nexpected: 1\n  nested: 2' },
    { file: null, name: 'later', outcome: 'skipped', message: null },
    { file: null, name: 'some day', outcome: 'skipped', message: null },
    { file: null, name: '', outcome: 'passed', message: null },
    { file: null, name: 'no number # here in C:\\dir', outcome: 'failed', message: '' },
  ]);
  expect(reading?.loadFailures).toEqual([]);
});

test('subtests are suites, whichever way they are written', () => {
  const reading = read(`TAP version 14
# Subtest: outer
    # Subtest: inner
        ok 1 - deep
        not ok 2 - bad
          ---
          error: x
          ...
        1..2
    not ok 1 - inner
    1..1
not ok 1 - outer
ok 2 - buffered {
    ok 1 - one
    1..1
}
1..2`);
  expect(reading?.cases.map(({ name, outcome, message }) => [name, outcome, message])).toEqual([
    ['outer > inner > deep', 'passed', null],
    ['outer > inner > bad', 'failed', 'error: x'],
    ['buffered > one', 'passed', null],
  ]);
});

test('a subtest that fails though its points pass is a failed case', () => {
  const reading = read('# Subtest: outer\n    ok 1 - a\n    1..1\nnot ok 1 - outer\n  ---\n  error: hook\n  ...\n1..1');
  expect(reading?.cases.map(({ name, outcome }) => [name, outcome])).toEqual([
    ['outer > a', 'passed'],
    ['outer', 'failed'],
  ]);
});

test('a file as the outermost subtest is the file, and one that fails without tests could not be loaded', () => {
  const reading = read(`# Subtest: test/a.js
    ok 1 - works
    1..1
ok 1 - test/a.js
not ok 2 - test/b.js
  ---
  error: Cannot find module
  ...
1..2`);
  expect(reading).toEqual({
    cases: [{ file: 'test/a.js', name: 'works', outcome: 'passed', message: null }],
    loadFailures: [{ file: 'test/b.js', message: 'error: Cannot find module' }],
  });
});

test('tests that are missing, and a bail-out, are failures', () => {
  expect(read('1..3\nok 1 - a')?.loadFailures).toEqual([
    { file: null, message: 'The plan has 3 tests, but 1 were reported.' },
  ]);
  expect(read('ok 1 - a\nBail out! no database')?.loadFailures).toEqual([
    { file: null, message: 'Bail out! no database' },
  ]);
  expect(read('# Subtest: cut\n    ok 1 - a')?.cases.at(-1)).toMatchObject({ name: 'cut', outcome: 'failed' });
});

test('an empty plan is a report without tests, and other output is none', () => {
  expect(read('1..0 # SKIP nothing to do')).toEqual({ cases: [], loadFailures: [] });
  expect(read('okay, then\nnot okay')).toBeNull();
});

test('in tape, a comment names the test whose points follow', () => {
  const text = `TAP version 13
# 010 seconds
ok 1 should be strictly equal
not ok 2 should throw
  ---
    operator: throws
  ...
# 020 no text # 3
ok 3 should throw

1..3
# tests 3
# pass  2
# fail  1
`;
  const named = parseTap(text, () => null, true)?.cases.map(({ name, outcome }) => `${outcome} ${name}`);
  expect(named).toEqual([
    'passed 010 seconds > should be strictly equal',
    'failed 010 seconds > should throw',
    'passed 020 no text # 3 > should throw',
  ]);
  expect(parseTap(text, () => null)?.cases[0]?.name).toBe('should be strictly equal');
});

test('a subtest whose name is escaped is a suite, though node-tap counts it as a test of its own', () => {
  const reading = read(`TAP version 14
# Subtest: test/paths.js
    # Subtest: file \\\\
        ok 1 - root
        ok 2 - drive
        1..2
    ok 1 - file \\\\ # time=1.2ms
    1..1
ok 1 - test/paths.js # time=3ms
1..1
# { total: 3, pass: 3 }`);
  expect(reading?.cases.map(({ name }) => name)).toEqual(['file \\ > root', 'file \\ > drive']);
});
