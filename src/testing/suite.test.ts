import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { detectTests } from './detect.ts';
import type { TestOutcome, TestRun } from './port.ts';
import { joinedRuns } from './suite.ts';

const { signal } = new AbortController();

test('several packages run one after another, each with its own files, and their reports are one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'agentos suite-'));
  try {
    const write = async (path: string, text: string): Promise<void> => {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text);
    };
    for (const [name, value] of [
      ['a', 1],
      ['b', 2],
    ] as const) {
      await write(`packages/${name}/package.json`, '{"type":"module","scripts":{"test":"node --test"}}');
      const body = `import assert from 'node:assert'; import test from 'node:test'; test('${name}', () => assert.equal(${value}, 1));`;
      await write(`packages/${name}/test/x.test.js`, body);
    }
    const suite = await detectTests({
      directory,
      paths: ['packages/a/test/x.test.js', 'packages/b/test/x.test.js'],
      settings: { command: null, runner: null, report: null, coverage: null, files: [], timeoutMs: 60_000 },
      env: { PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}` },
      scratch: join(directory, 'scratch'),
      onLine: () => undefined,
      onProgress: () => undefined,
      onGroup: () => undefined,
    });
    const command = '(cd packages/a && npm test) && (cd packages/b && npm test)';
    expect(suite).toMatchObject({ runner: 'node', command, folders: ['packages/a', 'packages/b'] });
    const brief = ({ cases }: TestRun) => cases.map(({ file, outcome }) => `${outcome} ${file}`);
    const both = await suite.run({ signal });
    expect(both).toMatchObject({ command, outcome: 'failed', exitCode: 1, coverage: null });
    expect(brief(both)).toEqual(['passed packages/a/test/x.test.js', 'failed packages/b/test/x.test.js']);
    const one = await suite.run({ signal, files: ['packages/b/test/x.test.js'] });
    expect(brief(one)).toEqual(['failed packages/b/test/x.test.js']);
    expect([suite.isTestFile('packages/b/test/x.js'), suite.isTestFile('packages/c/src/x.js')]).toEqual([true, false]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

const runOf = (outcome: TestOutcome): TestRun => ({
  command: 'npm test',
  outcome,
  exitCode: outcome === 'passed' ? 0 : 1,
  durationMs: 5,
  cases: [],
  loadFailures: [],
  coverage: null,
  tail: '',
});

test('one run stays as it is', () => {
  const only = runOf('passed');
  expect(joinedRuns([only])).toBe(only);
});

test.each([
  [['passed', 'timed-out', 'failed'], 'timed-out'],
  [['no-tests', 'passed'], 'passed'],
  [['no-tests', 'no-tests'], 'no-tests'],
] as const)('%j together is %s', (outcomes, expected) => {
  expect(joinedRuns(outcomes.map(runOf))).toMatchObject({ outcome: expected, durationMs: 5 * outcomes.length });
});
