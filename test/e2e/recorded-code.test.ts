import { execFile, execFileSync } from 'node:child_process';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { WritingPhase } from '../../src/agent/port.ts';
import { parseItemId } from '../../src/core/ids.ts';
import { pathsOf } from '../../src/core/paths.ts';
import { readFrontMatter } from '../../src/documents/header.ts';
import { readLld } from '../../src/documents/lld/document.ts';
import { isTrustworthy, readReview } from '../../src/documents/review/reader.ts';
import { createGit } from '../../src/git/git.ts';
import { headCommit, openCommit } from '../../src/git/repository.ts';
import type { Journal } from '../../src/journal/port.ts';
import type { ModelRequest } from '../../src/models/port.ts';
import { createOfflineProvider, createOfflineWriter } from '../../src/offline/tour.ts';
import { tagged } from '../../src/prompts/tags.ts';
import { createDirectorySource } from '../../src/source/directory.ts';
import { runLld } from '../../src/workflow/lld.ts';
import { testFolder } from '../support/folder.ts';
import { testItem } from '../support/test-item.ts';

const SAMPLE = fileURLToPath(new URL('../../examples/demo/repository', import.meta.url));
const IDENTITY = ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', '-c', 'commit.gpgsign=false'];
const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, NODE_V8_COVERAGE: ___, ...ENVIRONMENT } = process.env;

function git(directory: string, ...args: string[]): string {
  return execFileSync('git', [...IDENTITY, ...args], { cwd: directory, encoding: 'utf8', env: ENVIRONMENT });
}

/** A fresh copy of the sample repository, as one commit. */
async function sampleRepository(): Promise<string> {
  const directory = await testFolder();
  await cp(SAMPLE, directory, { recursive: true });
  git(directory, 'init', '--quiet', '--initial-branch=main', '.');
  git(directory, 'add', '--all');
  git(directory, 'commit', '--quiet', '-m', 'Sample repository');
  return directory;
}

const journal: Journal = {
  location: 'memory',
  step: async ({ name }, run) => ({ value: await run({ id: `${name}#1`, earlierStarts: 0 }), replayed: false }),
  has: () => false,
  steps: () => [],
  last: () => undefined,
  check: () => undefined,
  remove: async () => undefined,
  close: () => undefined,
};
const signal = new AbortController().signal;
const nothing = (): undefined => undefined;

/** The body of the approved LLD, as the workflow makes it from the recordings. */
async function approvedDesign(id: string): Promise<string> {
  const directory = await sampleRepository();
  const paths = pathsOf(directory, join(directory, '.agentos'));
  const at = createGit(directory, ENVIRONMENT as Record<string, string>);
  const provider = createOfflineProvider();
  const issue = await createDirectorySource(paths.issues).read(parseItemId(id));
  const item = testItem({
    workflow: 'lld',
    id: issue.id,
    title: issue.title,
    hash: issue.hash,
    paths,
    journal,
    provider: () => provider,
  });
  const repository = {
    headCommit: () => headCommit(at),
    open: (commit: string) => openCommit(at, commit),
    shownText: async () => null,
    contextFor: async () => '',
  };
  const { status } = await runLld(item, repository, issue);
  expect(status).toBe('succeeded');
  return readFrontMatter(await readFile(paths.lld(parseItemId(id)), 'utf8')).body;
}

async function write(worktree: string, lld: string, id: string, phase: WritingPhase, round: number): Promise<string> {
  const { text, costUsd } = await createOfflineWriter().write({
    step: `${phase}-${round}`,
    worktree,
    system: '',
    task: tagged('lld', lld),
    item: id,
    phase,
    journal,
    signal,
    onProgress: nothing,
    onLine: nothing,
  });
  expect(costUsd).toBe(0);
  return text;
}

interface Suite {
  passed: string[];
  /** Names of tests, and of files that can't be loaded. */
  failed: string[];
  output: string;
}

function runSuite(directory: string, more: string[] = []): Promise<Suite> {
  return new Promise((resolve) => {
    const args = ['--test', '--test-reporter=tap', '--test-reporter-destination=stdout', ...more];
    execFile(process.execPath, args, { cwd: directory, env: ENVIRONMENT, timeout: 60_000 }, (_error, stdout) => {
      const named = (mark: string): string[] =>
        [...stdout.matchAll(new RegExp(`^${mark} \\d+ - (.*)$`, 'gm'))].map(([, name = '']) =>
          name.replace(`${directory}/`, ''),
        );
      resolve({ passed: named('ok'), failed: named('not ok'), output: stdout });
    });
  });
}

/** Percent of lines by file. */
async function lineCoverage(directory: string): Promise<Record<string, number>> {
  const report = join(directory, 'lcov.info');
  const reporter = ['--test-reporter=lcov', `--test-reporter-destination=${report}`];
  await runSuite(directory, ['--experimental-test-coverage', ...reporter]);
  const records = (await readFile(report, 'utf8')).split('end_of_record').filter((record) => record.includes('SF:'));
  await rm(report);
  const field = (record: string, name: string): string => new RegExp(`^${name}:(.*)$`, 'm').exec(record)?.[1] ?? '';
  return Object.fromEntries(
    records.map((record) => [
      field(record, 'SF').replace(`${directory}/`, ''),
      (Number(field(record, 'LH')) / Number(field(record, 'LF'))) * 100,
    ]),
  );
}

const designs = new Map<string, Promise<string>>();

/** Made once: it is the same every time. */
function designOf(id: string): Promise<string> {
  const design = designs.get(id) ?? approvedDesign(id);
  designs.set(id, design);
  return design;
}

const TOURS = [
  {
    id: '7',
    rounds: 2,
    cannotLoad: 'test/nearest.test.js',
    changed: [
      'README.md',
      'src/index.js',
      'src/nearest.js',
      'src/teas.js',
      'test/nearest.test.js',
      'test/teas.test.js',
    ],
  },
  {
    id: '21',
    rounds: 1,
    cannotLoad: 'test/temperature.test.js',
    changed: [
      'README.md',
      'src/brew.js',
      'src/index.js',
      'src/temperature.js',
      'test/brew.test.js',
      'test/temperature.test.js',
    ],
  },
];

describe.each(TOURS)('the recorded code of issue $id', ({ id, rounds, cannotLoad, changed }) => {
  const isNew = (name: string): boolean => /^\d{3} /.test(name);

  test('is red, green, and red again without the code', { timeout: 60_000 }, async () => {
    const lld = await designOf(id);
    const worktree = await sampleRepository();
    const before = await runSuite(worktree);
    expect(before).toMatchObject({ failed: [] });
    expect(before.passed).toHaveLength(10);

    for (let round = 1; round <= rounds; round++) await write(worktree, lld, id, 'tests', round);
    git(worktree, 'add', '--all');
    const tests = git(worktree, 'diff', '--cached', '--name-only').trim().split('\n');
    expect(tests).toEqual(changed.filter((path) => path.startsWith('test/')));
    const sources = await Promise.all(tests.map((path) => readFile(join(worktree, path), 'utf8')));
    const names = [...sources.join('\n').matchAll(/^test\('(\d{3} [^']+)'/gm)].map(([, name = '']) => name);
    const { scenarios, files } = readLld(lld);
    expect([...new Set(names.map((name) => name.slice(0, 3)))].toSorted()).toEqual(scenarios.map((row) => row.id));

    const red = await runSuite(worktree);
    expect(red.passed.toSorted()).toEqual(before.passed.toSorted());
    expect(red.failed).toContain(cannotLoad);
    expect(red.output).toContain('ERR_MODULE_NOT_FOUND');
    expect(red.failed.filter((name) => name !== cannotLoad).every(isNew)).toBe(true);

    git(worktree, 'commit', '--quiet', '-m', 'Tests');
    await write(worktree, lld, id, 'code', 1);
    const green = await runSuite(worktree);
    expect(green.failed).toEqual([]);
    expect(green.passed.toSorted()).toEqual([...before.passed, ...names].toSorted());
    const coverage = await lineCoverage(worktree);
    for (const path of changed.filter((file) => file.startsWith('src/'))) expect(coverage[path], path).toBe(100);
    git(worktree, 'add', '--all');
    expect(git(worktree, 'diff', '--cached', '--name-only', 'HEAD~').trim().split('\n')).toEqual(changed);
    expect(changed).toEqual(files.map(({ path }) => path).toSorted());

    git(worktree, 'reset', '--quiet', '--hard');
    const reverse = await runSuite(worktree);
    expect(reverse.passed.toSorted()).toEqual(before.passed.toSorted());
    expect(reverse.failed.toSorted()).toEqual(red.failed.toSorted());
  });

  test('is written once, however often it is asked for, and needs no more rounds', async () => {
    const lld = await designOf(id);
    const worktree = await sampleRepository();
    for (let round = 1; round <= rounds; round++) await write(worktree, lld, id, 'tests', round);
    await write(worktree, lld, id, 'code', 1);
    git(worktree, 'add', '--all');
    await write(worktree, lld, id, 'tests', rounds);
    await write(worktree, lld, id, 'code', 1);
    expect(await write(worktree, lld, id, 'code', 2)).toBe('Nothing more was recorded.');
    expect(git(worktree, 'diff', '--name-only')).toBe('');
  });
});

test('a test that passes without the code is found in round 1 of issue 7, and mended in round 2', async () => {
  const worktree = await sampleRepository();
  await write(worktree, await designOf('7'), '7', 'tests', 1);
  const early = (suite: Suite): string[] => suite.passed.filter((name) => /^\d{3} /.test(name));
  expect(early(await runSuite(worktree))).toEqual(['040 a suggestion for what is no string is a TypeError']);
  await write(worktree, await designOf('7'), '7', 'tests', 2);
  expect(early(await runSuite(worktree))).toEqual([]);
});

test('both changes share files, fit on top of each other, and their branches merge', async () => {
  const worktree = await sampleRepository();
  const build = async (id: string, rounds: number): Promise<void> => {
    for (let round = 1; round <= rounds; round++) await write(worktree, await designOf(id), id, 'tests', round);
    await write(worktree, await designOf(id), id, 'code', 1);
    git(worktree, 'add', '--all');
    git(worktree, 'commit', '--quiet', '-m', id);
  };
  git(worktree, 'switch', '--quiet', '-c', 'seven');
  await build('7', 2);
  git(worktree, 'switch', '--quiet', '-c', 'twenty-one', 'main');
  await build('21', 1);
  git(worktree, 'merge', '--quiet', '--no-edit', 'seven');
  const merged = await runSuite(worktree);
  expect(merged.failed).toEqual([]);
  git(worktree, 'switch', '--quiet', 'seven');
  await build('21', 1);
  expect(git(worktree, 'diff', 'seven', 'twenty-one', '--stat')).toBe('');
});

test('an edited design gets no recorded code, and a changed file no recorded change', async () => {
  const worktree = await sampleRepository();
  const edited = (await designOf('21')).replace('in whole degrees Fahrenheit', 'in Fahrenheit');
  await expect(write(worktree, edited, '21', 'code', 1)).rejects.toMatchObject({
    problem: { code: 'offline-no-code', why: 'not-recorded' },
  });
  await writeFile(join(worktree, 'src/brew.js'), 'export const brew = null;\n');
  await expect(write(worktree, await designOf('21'), '21', 'code', 1)).rejects.toMatchObject({
    problem: { code: 'offline-no-code', why: 'changed', file: 'src/brew.js' },
  });
  expect(git(worktree, 'status', '--porcelain')).toBe(' M src/brew.js\n');
});

const reviewRequest = (texts: Record<string, string>): ModelRequest => ({
  role: 'reviewer',
  system: '',
  parts: Object.entries(texts).map(([tag, text]) => ({ text: tagged(tag, text) })),
  stepId: 'review-1#1',
  inFolder: () => expect.unreachable('the tour is no program'),
  signal,
});

test('the recorded reviewer says of the first tests of issue 7 that 040 is no guard, and nothing of other tests', async () => {
  const worktree = await sampleRepository();
  const lld = await designOf('7');
  await write(worktree, lld, '7', 'tests', 1);
  git(worktree, 'add', '--all');
  const { text } = await createOfflineProvider().complete(
    reviewRequest({ lld, tests: git(worktree, 'diff', '--cached') }),
  );
  const { verdict, findings, problems } = readReview(text);
  expect({ verdict, problems }).toEqual({ verdict: 'REVISE', problems: [] });
  expect(findings.map((finding) => finding.text)).toEqual([expect.stringMatching(/^040: /)]);
  await write(worktree, lld, '7', 'tests', 2);
  git(worktree, 'add', '--all');
  const others = reviewRequest({ lld, tests: git(worktree, 'diff', '--cached') });
  await expect(createOfflineProvider().complete(others)).rejects.toMatchObject({
    problem: { code: 'offline-no-reply' },
  });
});

describe('the recorded code review', () => {
  async function reviewOf(id: string, rounds: number, spoil?: (worktree: string) => Promise<void>): Promise<string> {
    const worktree = await sampleRepository();
    for (let round = 1; round <= rounds; round++) await write(worktree, await designOf(id), id, 'tests', round);
    await write(worktree, await designOf(id), id, 'code', 1);
    await spoil?.(worktree);
    git(worktree, 'add', '--all');
    const request = reviewRequest({ lld: await designOf(id), change: git(worktree, 'diff', '--cached') });
    return (await createOfflineProvider().complete(request)).text;
  }

  test.each(TOURS)('is for the recorded code of issue $id', async ({ id, rounds }) => {
    const text = await reviewOf(id, rounds);
    const review = readReview(text);
    expect(text).toContain('I am the recorded reviewer of the agentos tour');
    expect(review).toMatchObject({ verdict: 'APPROVED', problems: [], preFlight: 'PASSED' });
    expect(isTrustworthy(review)).toBe(true);
    expect(review.findings.map(({ tier }) => tier)).toEqual(id === '7' ? [3] : []);
  });

  test('is for no code that somebody changed', async () => {
    const spoil = (worktree: string): Promise<void> =>
      writeFile(join(worktree, 'src/temperature.js'), "export const formatTemperature = () => '203 °F';\n");
    await expect(reviewOf('21', 1, spoil)).rejects.toMatchObject({ problem: { code: 'offline-no-reply' } });
  });
});
