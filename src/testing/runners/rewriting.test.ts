import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { selectedScript } from '../run.ts';
import type { Runner, RunPlace } from '../runner.ts';
import { testScript } from '../runners.ts';
import { withCallsChanged } from '../script.ts';
import { cargo } from './cargo.ts';
import { dotnet, gradle, maven } from './compiled.ts';
import { go } from './go.ts';
import { bun, phpunit } from './junit.ts';
import { node } from './node.ts';
import { jest, mocha, uvu, vitest } from './own-reporters.ts';
import { pytest, unittest } from './python.ts';
import { minitest, rspec } from './ruby.ts';
import { ava, tap } from './tap.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentos-rewriting-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** With the paths of this run taken out. */
async function instrumented(runner: Runner, script: string, coverage = false): Promise<string> {
  const own = await mkdtemp(join(folder, 'run-'));
  const place: RunPlace = {
    script: testScript(script),
    worktree: folder,
    pathInWorktree: (path) => path,
    env: {},
    folder: own,
    caches: '/caches',
    report: null,
    coverage,
    ask: async () => ({ stdout: '', stderr: '', exitCode: 0 }),
  };
  const calls = testScript(script).calls.filter(({ runner: name }) => name === runner.name);
  const changes = calls.map(async (call, index) => [call, (await runner.change?.(call, index, place)) ?? {}] as const);
  return withCallsChanged(script, new Map(await Promise.all(changes))).replaceAll(own, '$R');
}

describe('files are chosen where the runner can', () => {
  test.each<[string, Runner, string[], string]>([
    [
      'tsc && vitest run src --coverage',
      vitest,
      ['a.test.ts', 'fixtures/a.json'],
      'tsc && vitest run --coverage a.test.ts',
    ],
    ['vitest -c x.ts', vitest, ['a.test.ts'], 'vitest -c x.ts a.test.ts'],
    ['jest unit --ci', jest, ['src/__tests__/a.js'], 'jest --ci --runTestsByPath src/__tests__/a.js'],
    ['node --import tsx --test test/', node, ['test/a.test.ts'], 'node --import tsx --test test/a.test.ts'],
    [
      'node --test "test/**/*.test.js"',
      node,
      ['test/deep/a.test.js', 'test/b.json'],
      'node --test test/deep/a.test.js',
    ],
    [
      'python3 -m pytest -q -k slow tests',
      pytest,
      ['tests/test_a.py', 'conftest.py'],
      'python3 -m pytest -q -k slow tests/test_a.py',
    ],
    ['go test -race -run X ./...', go, ['a/b/x_test.go', 'a/b/y_test.go', 'z_test.go'], 'go test -race -run X ./a/b .'],
    ['cargo test --all-features', cargo, ['tests/a.rs', 'tests/common/mod.rs'], 'cargo test --all-features --test a'],
    ['mocha --check-leaks test/ -r x', mocha, ['test/new.js'], 'mocha --check-leaks -r x test/new.js'],
    ['c8 ava && tsd', ava, ['test/new.js'], 'c8 ava test/new.js && tsd'],
    ['tap --no-coverage', tap, ['test/new.js'], 'tap --no-coverage test/new.js'],
    ['uvu -r tsm tests', uvu, ['tests/a.ts'], "uvu -r tsm tests '^(a\\.ts)$'"],
    ['bun test', bun, ['a.test.ts'], 'bun test ./a.test.ts'],
    ['python -m unittest discover -s t', unittest, ['t/test_a.py'], "python -m unittest discover -s t -k '*test_a.*'"],
    ['bundle exec rspec spec', rspec, ['spec/a_spec.rb'], 'bundle exec rspec spec/a_spec.rb'],
    ['rake test', minitest, ['test/a_test.rb', 'test/b_test.rb'], "rake test 'TEST={test/a_test.rb,test/b_test.rb}'"],
    [
      'mvn -q test',
      maven,
      ['m/src/test/java/a/XTest.java'],
      'mvn -q test -Dtest=XTest -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false',
    ],
    ['./gradlew test', gradle, ['src/test/kotlin/XTest.kt'], './gradlew test --tests XTest'],
    ['vendor/bin/phpunit', phpunit, ['tests/XTest.php'], 'vendor/bin/phpunit tests/XTest.php'],
    ['dotnet test', dotnet, ['T/XTests.cs'], "dotnet test --filter 'FullyQualifiedName~.XTests.'"],
    ['cargo test -- --nocapture', cargo, ['crates/x/tests/a.rs'], 'cargo test --test a -- --nocapture'],
  ])('%s', (script, runner, files, expected) => {
    expect(selectedScript(runner, script, files)).toBe(expected);
  });
});

describe('everything is run where it can not', () => {
  test.each<[string, Runner, string[]]>([
    ['vitest run a && vitest run b', vitest, ['a.test.ts']],
    ['vitest run', vitest, ['fixtures/a.json']],
    ['tsc && node --test dist/test', node, ['test/a.test.ts']],
    ['make test', pytest, ['tests/test_a.py']],
    ['cd packages/a && vitest run', vitest, ['packages/a/x.test.ts']],
    ['pnpm --filter a exec vitest run', vitest, ['packages/a/x.test.ts']],
    ['npm exec -w a -- mocha', mocha, ['packages/a/test/x.js']],
    ['vitest run', vitest, ['../b/x.test.ts']],
    ['tsc && mocha "dist/test/**/*.js"', mocha, ['test/a.ts']],
    ['go test ./...', go, ['a/testdata/x_test.go']],
    ['cargo test', cargo, ['tests/a.rs', 'src/lib.rs']],
  ])('%s', (script, runner, files) => {
    expect(selectedScript(runner, script, files)).toBe(script);
  });
});

describe('reporters get into the right command', () => {
  test('vitest: watching and other reporters are taken out', async () => {
    const script = await instrumented(
      vitest,
      'npm run build && vitest watch --passWithNoTests --reporter=dot --outputFile out.json src',
    );
    expect(script).toBe(
      'npm run build && vitest src --run --passWithNoTests --reporter=default --reporter=$R/reporter-0.mjs',
    );
  });

  test('vitest: --run is not given twice', async () => {
    expect((await instrumented(vitest, 'tsc && vitest --run src')).match(/--run\b/g)).toHaveLength(1);
  });

  test('vitest: without a provider there is no coverage', async () => {
    expect(await instrumented(vitest, 'vitest run', true)).not.toContain('coverage');
  });

  test('jest: options come before the patterns, and every call has a report of its own', async () => {
    expect(await instrumented(jest, 'jest --watch a && NODE_ENV=test jest b', true)).toBe(
      'jest --coverageReporters=lcovonly --coverageDirectory=$R/coverage-0 --coverage --reporters=default ' +
        '--reporters=$R/reporter-0.cjs --cacheDirectory=/caches/jest --passWithNoTests --ci a && NODE_ENV=test jest ' +
        '--coverageReporters=lcovonly --coverageDirectory=$R/coverage-1 --coverage --reporters=default ' +
        '--reporters=$R/reporter-1.cjs --cacheDirectory=/caches/jest --passWithNoTests --ci b',
    );
  });

  test('node: its own reporters are replaced, and the readable one goes to standard output', async () => {
    const script = await instrumented(node, 'tsc && node --import tsx --test --test-reporter dot "src/**/*.test.ts"');
    expect(script).toMatch(
      /^tsc && node --test-reporter=spec --test-reporter-destination=stdout --test-reporter=file:\/\/\S+\/reporter-0\.mjs --test-reporter-destination=\$R\/reporter-0\.mjs\.out --import tsx --test "src\/\*\*\/\*\.test\.ts"$/,
    );
  });

  test('go: -json and the profile', async () => {
    expect(await instrumented(go, 'go vet ./... && go test -race ./...', true)).toBe(
      'go vet ./... && go test -json -coverprofile=$R/profile-0.out -coverpkg=./... -race ./...',
    );
  });

  test('cargo: all targets are run', async () => {
    expect(await instrumented(cargo, 'cargo fmt --check && cargo test')).toBe(
      'cargo fmt --check && cargo test --no-fail-fast',
    );
  });
});
