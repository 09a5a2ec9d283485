import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { WriteRequest } from '../port.ts';
import { createOfflineWriter } from './writer.ts';

const NASTY = 'A "quoted" \\ back`slash` ${x} %s */ \u2028 é';

function designOf(files: string[]): string {
  return [
    '# 42 - Feature: Remember the last tea',
    '## 2. Proposed Changes',
    '### 2.1 Files Changed',
    '| File | Change Type | Description |',
    '|------|-------------|-------------|',
    ...files.map((file) => `| \`${file}\` | Add | new |`),
    '## 3. Requirements',
    '1. It keeps the tea.',
    '## 10. Verification & Testing',
    '| ID | Scenario | Type | Input | Expected Output | Pass Criteria | Requirements |',
    '|----|----------|------|-------|-----------------|---------------|--------------|',
    "| 010 | It keeps the tea | Auto | `keep('Assam')` | `'Assam'` | The result equals `'Assam'` | REQ-1 |",
    `| 020 | ${NASTY} | Auto | ${NASTY} | ${NASTY} | ${NASTY} | REQ-1 |`,
    '',
  ].join('\n');
}

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agentos-scaffold-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

function requestFor(worktree: string, files: string[], more: Partial<WriteRequest['material']> = {}): WriteRequest {
  return {
    step: 'tests-1',
    stepId: 'tests#1',
    worktree,
    system: '',
    task: '',
    material: { phase: 'tests', issue: '42', lld: designOf(files), round: 1, ...more },
    journal: {
      location: 'memory',
      step: async (_key, run) => ({ value: await run({ id: 'step', earlierStarts: 0 }), replayed: false }),
      steps: () => [],
      remove: () => undefined,
      close: () => undefined,
    },
    signal: new AbortController().signal,
    onProgress: () => undefined,
    onLine: () => undefined,
  };
}

function output(program: string, args: string[], cwd: string): Promise<string> {
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env, timeout: 60_000 }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}

function has(program: string, args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

test.each([
  ['an ES module', '{"type":"module"}', 'test/last.test.js'],
  ['CommonJS', '{}', 'test/last.test.js'],
  ['TypeScript', '{"type":"module"}', 'test/last.test.ts'],
])('the scaffold in %s fails under Node’s runner once for each scenario', async (_, manifest, path) => {
  const worktree = await folderWith({ 'package.json': manifest });
  const { text } = await createOfflineWriter().write(requestFor(worktree, ['src/last.js', path]));
  expect(text).toContain('A scaffold, made by rules');
  const printed = await output(process.execPath, ['--test', '--test-reporter=tap', path], worktree);
  expect(printed).toMatch(/^not ok 1 - 010 It keeps the tea$/m);
  expect(printed).toMatch(/^not ok 2 - 020 A "quoted"/m);
  expect(printed).toMatch(/^# tests 2$/m);
  expect(printed).toContain('not written yet: 010 It keeps the tea');
});

const pytest = has('python3', ['-m', 'pytest', '--version']);
test.skipIf(!pytest)('the scaffold in Python fails under pytest once for each scenario', async () => {
  const worktree = await folderWith({});
  await createOfflineWriter().write(requestFor(worktree, ['tea/last.py', 'tests/test_last.py']));
  const printed = await output('python3', ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-rf'], worktree);
  expect(printed).toContain('FAILED tests/test_last.py::test_010_it_keeps_the_tea');
  expect(printed).toContain('2 failed');
});

const go = has('go', ['version']);
test.skipIf(!go)('the scaffold in Go fails in the package that is there, once for each scenario', async () => {
  const worktree = await folderWith({ 'go.mod': 'module tea\n', 'tea/tea.go': 'package leaf\n' });
  await createOfflineWriter().write(requestFor(worktree, ['tea/last.go', 'tea/last_test.go']));
  const printed = await output('go', ['test', './...'], worktree);
  expect(printed).toContain('--- FAIL: Test_010_it_keeps_the_tea');
  expect(printed).toContain('--- FAIL: Test_020_a_quoted');
  expect(await output('gofmt', ['-l', '.'], worktree)).toBe('');
});

test.each([
  ['{"devDependencies":{"vitest":"5"}}', "import { test } from 'vitest';"],
  ['{"devDependencies":{"jest":"30"}}', null],
])('with %s the tests are that runner’s', async (manifest, line) => {
  const worktree = await folderWith({ 'package.json': '{}', 'packages/tea/package.json': manifest });
  await createOfflineWriter().write(requestFor(worktree, ['packages/tea/src/last.test.ts']));
  const text = await readFile(join(worktree, 'packages/tea/src/last.test.ts'), 'utf8');
  expect(text.match(/^(?:import|const) .*$/m)?.[0] ?? null).toBe(line);
});

test('a test file that is there is left alone: the scaffold stands beside it', async () => {
  const worktree = await folderWith({ 'test/last.test.js': 'mine' });
  await createOfflineWriter().write(requestFor(worktree, ['test/last.test.js']));
  expect(await readFile(join(worktree, 'test/last.test.js'), 'utf8')).toBe('mine');
  expect(await readdir(join(worktree, 'test'))).toEqual(['issue-42-scenarios.test.js', 'last.test.js']);
});

test('a design without a test file gets one where its source would be tested', async () => {
  const worktree = await folderWith({});
  await createOfflineWriter().write(requestFor(worktree, ['src/last.js']));
  expect(await readdir(join(worktree, 'test'))).toEqual(['last.test.js']);
});

test('code is refused, and so are tests in a language without rules: nothing is written', async () => {
  const worktree = await folderWith({});
  const writer = createOfflineWriter();
  await expect(writer.write(requestFor(worktree, ['src/last.js'], { phase: 'code' }))).rejects.toMatchObject({
    problem: { code: 'offline-no-code', id: '42', why: 'not-recorded' },
    retry: 'permanent',
  });
  await expect(writer.write(requestFor(worktree, ['src/last.rs', 'tests/last.rs']))).rejects.toMatchObject({
    problem: { code: 'offline-no-code', why: 'language' },
  });
  expect(await readdir(worktree)).toEqual([]);
});

test('rules have no second idea: a further round writes nothing', async () => {
  const worktree = await folderWith({});
  await createOfflineWriter().write(requestFor(worktree, ['test/last.test.js'], { round: 2 }));
  expect(await readdir(worktree)).toEqual([]);
});

test.each(['../out/x.test.js', 'link/x.test.js', '.git/x.test.js', 'test/../../x.test.js'])(
  'a design that names %s writes nothing outside of the worktree',
  async (path) => {
    const outside = await folderWith({});
    const worktree = await folderWith({ '.git/HEAD': 'ref: refs/heads/main\n' });
    await symlink(outside, join(worktree, 'link'));
    await expect(createOfflineWriter().write(requestFor(worktree, [path]))).rejects.toMatchObject({
      problem: { code: 'output-unwritable' },
    });
    expect(await readdir(outside)).toEqual([]);
    expect(await readdir(join(worktree, '.git'))).toEqual(['HEAD']);
  },
);
