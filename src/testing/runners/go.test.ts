import { expect, test } from 'vitest';
import { parseGoEvents } from './go.ts';

const lines = (...events: (object | string)[]): string =>
  events.map((event) => (typeof event === 'string' ? event : JSON.stringify(event))).join('\n');
const of = (Test: string, Action: string, Output?: string) => ({ Action, Package: 'example.com/m/good', Test, Output });

test('tests and subtests are cases of their own, with what they printed', () => {
  const reading = parseGoEvents(
    lines(
      of('TestAdd', 'run'),
      of('TestAdd', 'output', '=== RUN   TestAdd\n'),
      of('TestAdd/two', 'run'),
      of('TestAdd/two', 'output', '=== RUN   TestAdd/two\n'),
      of('TestAdd/two', 'output', '    good_test.go:7: got 3\n'),
      of('TestAdd/two', 'output', '    --- FAIL: TestAdd/two (0.00s)\n'),
      of('TestAdd/two', 'fail'),
      of('TestAdd', 'fail'),
      of('TestSkip', 'run'),
      of('TestSkip', 'skip'),
      of('TestOk', 'run'),
      of('TestOk', 'pass'),
      { Action: 'output', Package: 'example.com/m/good', Output: 'FAIL\n' },
      { Action: 'fail', Package: 'example.com/m/good' },
    ),
    '',
  );
  expect(reading?.cases.map((found) => [found.name, found.outcome, found.message])).toEqual([
    ['TestAdd', 'failed', ''],
    ['TestAdd/two', 'failed', 'good_test.go:7: got 3'],
    ['TestSkip', 'skipped', null],
    ['TestOk', 'passed', null],
  ]);
  expect(reading?.loadFailures).toEqual([]);
});

test('a build that fails, up to Go 1.23: the words are on standard error', () => {
  const stderr = `# example.com/m/bad
bad/b_test.go:3:34: expected operand, found 'EOF'
# example.com/m/field_test [example.com/m/field.test]
field/b_test.go:3:57: undefined: field.New
`;
  const reading = parseGoEvents(
    lines(
      'FAIL\texample.com/m/bad [setup failed]',
      'FAIL\texample.com/m/field [build failed]',
      of('TestOk', 'run'),
      of('TestOk', 'pass'),
    ),
    stderr,
  );
  expect(reading?.loadFailures).toEqual([
    { file: 'example.com/m/bad', message: "bad/b_test.go:3:34: expected operand, found 'EOF'\n" },
    { file: 'example.com/m/field', message: 'field/b_test.go:3:57: undefined: field.New\n\n' },
  ]);
  expect(reading?.cases).toHaveLength(1);
});

test('a build that fails, from Go 1.24 on: the words are events', () => {
  const ImportPath = 'example.com/m/undef [example.com/m/undef.test]';
  const Package = 'example.com/m/undef';
  const reading = parseGoEvents(
    lines(
      { ImportPath, Action: 'build-output', Output: `# ${ImportPath}\n` },
      { ImportPath, Action: 'build-output', Output: 'undef/b_test.go:3:28: undefined: Missing\n' },
      { ImportPath, Action: 'build-fail' },
      { Action: 'start', Package },
      { Action: 'output', Package, Output: `FAIL\t${Package} [build failed]\n` },
      { Action: 'fail', Package, FailedBuild: ImportPath },
    ),
    '',
  );
  expect(reading).toEqual({
    cases: [],
    loadFailures: [{ file: Package, message: `# ${ImportPath}\nundef/b_test.go:3:28: undefined: Missing\n` }],
  });
});

test('a package that fails without a failed test failed by itself', () => {
  const Package = 'example.com/m/mainexit';
  const reading = parseGoEvents(
    lines({ Action: 'output', Package, Output: 'exit status 3\n' }, { Action: 'fail', Package }),
    '',
  );
  expect(reading?.loadFailures).toEqual([{ file: Package, message: 'exit status 3\n' }]);
});

test('a test that never ended has failed', () => {
  const reading = parseGoEvents(lines(of('TestHang', 'run'), { Action: 'fail', Package: 'example.com/m/good' }), '');
  expect(reading?.cases).toMatchObject([{ name: 'TestHang', outcome: 'failed' }]);
  expect(reading?.loadFailures).toEqual([]);
});

test('packages without test files make an empty report; a command that failed before makes none', () => {
  const Package = 'example.com/m/notest';
  const empty = { cases: [], loadFailures: [] };
  expect(parseGoEvents(lines({ Action: 'skip', Package }), '')).toEqual(empty);
  expect(parseGoEvents('', 'go: warning: "./..." matched no packages\nno packages to test\n')).toEqual(empty);
  expect(parseGoEvents('', 'go: cannot find main module')).toBeNull();
});
