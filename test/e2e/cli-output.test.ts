import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { ISSUE, lldFor } from '../support/models.ts';
import { agentos, PROJECT, type ProgramOptions, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { treeOf } from '../support/tree.ts';

const optionsOf = (repository: TestRepository, env: Record<string, string> = {}): ProgramOptions => ({
  cwd: repository.root,
  env: { HOME: repository.home, ...env },
});

test('a dry run shows the plan and touches nothing at all, not even the state folder', async () => {
  const repository = await testRepository({ 1: ISSUE, 2: '', 10: `# \u001B[31mRed\n${ISSUE}` });
  const before = await treeOf(dirname(repository.root));
  const [people, json, capped] = await Promise.all([
    agentos(['lld', '--all', '--dry-run', '--parallel', '2'], optionsOf(repository)),
    agentos(['lld', '--all', '--dry-run', '--json'], optionsOf(repository)),
    agentos(['lld', '1', '--dry-run', '--parallel', '99', '--json', '--offline'], optionsOf(repository)),
  ]);
  expect(people).toMatchObject({ code: 0, stderr: '' });
  const lines = people?.stdout.split('\n') ?? [];
  expect(lines[0]).toBe(
    'lld: 3 item(s), 2 at a time; drafter anthropic:claude-opus-5, reviewer google:gemini-3.1-pro-preview',
  );
  expect(lines[1]).toBe('  1   new         Add a number');
  expect(lines[2]).toMatch(/^ {2}2 {3}unreadable {2}Issue 2 can't be read: .*2\.md is empty\.$/);
  expect(lines[3]).toBe('  10  new         Red');
  expect(lines[4]).toBe('Context: at most 24000 tokens of the repository per item (agentos context <id>).');
  expect(lines[5]).toMatch(
    /^Probably about \$\d\.\d\d \(by the size of issue and context\), at most \$40\.00 \(--max-cost-per-item\)\.$/,
  );
  expect(lines[6]).toBe('Nothing was started, written or asked.');

  expect(json).toMatchObject({ code: 0, stderr: '' });
  const plan = JSON.parse(json?.stdout ?? '');
  expect(plan).toMatchObject({ workflow: 'lld', parallel: 1 });
  expect(plan).toMatchObject({ costCeilingUsd: 40, pastItems: 0 });
  expect(plan.estimateUsd).toBeGreaterThan(0.1);
  expect(plan.estimateUsd).toBeLessThan(2);
  expect(plan.items[0]).toMatchObject({ id: '1', title: 'Add a number', state: 'new', fromStep: null });
  expect(plan.items.map((item: { state: string }) => item.state)).toEqual(['new', 'unreadable', 'new']);

  expect(capped?.code).toBe(0);
  expect(capped?.stderr).toBe('[COORDINATOR] --parallel 99 is capped at 10.\n');
  expect(JSON.parse(capped?.stdout ?? '')).toMatchObject({ parallel: 10, costCeilingUsd: 0, estimateUsd: 0 });
  expect(await treeOf(dirname(repository.root))).toEqual(before);
});

test('a dry run says from where an interrupted item goes on, and what is done already', async () => {
  const repository = await testRepository({ 42: ISSUE, 43: ISSUE });
  const willing = await scriptedModels(repository);
  await repository.write('../lld.md', lldFor('42'));
  const models = ['--drafter', 'command:cat "$HOME/../lld.md"', '--reviewer', 'command:false'];
  expect((await agentos(['lld', '42', '--max-retries', '0', ...models], optionsOf(repository))).code).toBe(1);
  expect((await agentos(['lld', '43', ...willing.flags], optionsOf(repository))).code).toBe(0);
  const before = await treeOf(repository.root);
  const [people, json] = await Promise.all([
    agentos(['lld', '42', '43', '--dry-run', ...models], optionsOf(repository)),
    agentos(['lld', '42', '43', '--dry-run', '--json', ...models], optionsOf(repository)),
  ]);
  expect(people?.stdout).toMatch(/^ {2}42 {2}resumed from review-1 \(\d step\(s\) reused\) {2}Add a number$/m);
  expect(people?.stdout).toMatch(/^ {2}43 {2}done +Add a number$/m);
  expect(JSON.parse(json?.stdout ?? '').items).toMatchObject([
    { id: '42', state: 'resumed', fromStep: 'review-1' },
    { id: '43', state: 'done', fromStep: null },
  ]);
  expect(await treeOf(repository.root)).toEqual(before);
});

test('--quiet is results only, --verbose is every step and file', async () => {
  const repository = await testRepository({ 1: ISSUE, 2: ISSUE });
  const { flags } = await scriptedModels(repository);
  const quiet = await agentos(['lld', '1', ...flags, '--quiet'], optionsOf(repository));
  expect(quiet.stdout).toMatch(
    /^\[LLD-1\] succeeded \(docs\/lld\/LLD-1\.md, .*\)\n\n1 {2}succeeded {2}.*docs\/lld\/LLD-1\.md\nTotal: 1 item \(1 succeeded\), \$0\.0000, .*\nNext: agentos implement 1\n$/,
  );
  const verbose = await agentos(['lld', '2', ...flags, '--verbose'], optionsOf(repository));
  expect(verbose.stdout).toMatch(/^\[COORDINATOR\] run \d{8}T/m);
  expect(verbose.stdout).toMatch(/^\[LLD-2\] wrote .*001-issue\.md$/m);
  expect(verbose.stdout).toMatch(/^\[LLD-2\] review-1: done in /m);
});

test('with --json stdout is JSON only, a line per event and the summary last, also when something fails', async () => {
  const repository = await testRepository({ 1: ISSUE, 2: '' });
  const { code, stdout, stderr } = await agentos(['lld', '--all', '--offline', '--json'], optionsOf(repository));
  expect(code).toBe(1);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines[0]).toMatchObject({ type: 'run-started', items: ['1', '2'] });
  expect(lines.at(-1)).toMatchObject({
    workflow: 'lld',
    exitCode: 1,
    counts: { total: 2, discuss: 1, failed: 1 },
    retryCommand: 'agentos lld --ids 2 --offline',
    items: [
      { id: '1', status: 'discuss', error: null },
      { id: '2', status: 'failed', error: { code: 'issue-unreadable' } },
    ],
  });
  const [run] = await repository.list('.agentos/runs');
  expect(lines.at(-1)).toEqual(JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`)));
  expect(stderr).toContain('Failed: 2. Retry with: agentos lld --ids 2 --offline');
  const done = await testRepository({});
  const nothing = await agentos(['lld', '--all', '--json'], optionsOf(done));
  expect(JSON.parse(nothing.stdout)).toMatchObject({ counts: { total: 0 }, items: [] });
});

test('colour is for terminals: FORCE_COLOR brings it, NO_COLOR and CI do not', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const settings: [env: Record<string, string>, colour: boolean][] = [
    [{}, false],
    [{ CI: 'true' }, false],
    [{ CI: 'true', FORCE_COLOR: '1' }, true],
    [{ NO_COLOR: '1' }, false],
    [{ FORCE_COLOR: '1' }, true],
    [{ FORCE_COLOR: '0' }, false],
  ];
  const ends = await Promise.all(
    settings.map(([env]) => agentos(['lld', '1', '--offline', '--dry-run'], optionsOf(repository, env))),
  );
  for (const [at, [env, colour]] of settings.entries()) {
    expect(ends[at]).toMatchObject({ code: 0, stderr: '' });
    expect(ends[at]?.stdout.includes('\u001B['), JSON.stringify(env)).toBe(colour);
  }
  const run = await agentos(['lld', '1', '--offline'], optionsOf(repository, { FORCE_COLOR: '1' }));
  expect(run.stdout).toContain('\u001B[36m[LLD-1]\u001B[0m ');
  const error = await agentos(['nonsense'], optionsOf(repository, { FORCE_COLOR: '1' }));
  expect(error.stderr).toMatch(/^\u001B\[31merror:\u001B\[0m Unknown command/);
});

test('a secret variable that a program is shown is masked in all that it prints', async () => {
  const repository = await testRepository({ 42: ISSUE });
  await repository.write('agentos.yaml', 'passEnvironment: [NPM_TOKEN, GREETING]\n');
  const models = ['--drafter', 'command:echo "$NPM_TOKEN, $GREETING" >&2; exit 1', '--reviewer', 'command:false'];
  const { stdout } = await agentos(
    ['lld', '42', '--trust', '--max-retries', '0', ...models],
    optionsOf(repository, { NPM_TOKEN: 'npm_of-the-team', GREETING: 'good morning' }),
  );
  expect(stdout).toContain('[LLD-42] ********, good morning');
  const [run] = await repository.list('.agentos/runs');
  for (const file of ['events.jsonl', 'summary.json', 'logs/lld-42.log'])
    expect(await repository.read(`.agentos/runs/${run}/${file}`)).toContain('********, good morning');
});

test('| head -1 ends quietly, with the exit code that the work has', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const seeds = [0, 1, 2, 3, 4].map((number) => `${PROJECT}/test/fixtures/review/seed-00${number}.md`);
  const commands = [
    ['--help'],
    ['lld', '--help'],
    ['check', ...seeds],
    ['check', '--json', ...seeds],
    ['init', '--print'],
  ];
  for (const args of commands) {
    const shell = spawn(
      'bash',
      ['-c', '"$@" | head -1; echo "${PIPESTATUS[0]}"', 'bash', `${PROJECT}/bin/agentos`, ...args],
      {
        cwd: repository.root,
        env: { PATH: process.env['PATH'], HOME: repository.home },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let printed = '';
    let complaint = '';
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    shell.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    await once(shell, 'close');
    expect(complaint, args.join(' ')).toBe('');
    expect(printed).toMatch(args[0] === 'check' ? /^.+\n1\n$/ : /^.+\n0\n$/);
  }
});

test.runIf(process.platform === 'linux')(
  'a stdout that takes nothing is told in one line, and is no success',
  async () => {
    const repository = await testRepository({});
    const shell = spawn('sh', ['-c', '"$0" init --print > /dev/full', `${PROJECT}/bin/agentos`], {
      cwd: repository.root,
      env: { PATH: process.env['PATH'], HOME: repository.home },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    let complaint = '';
    shell.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    expect(await once(shell, 'close')).toEqual([1, null]);
    expect(complaint).toMatch(/^error: stdout could not be written: the disk is full\.\n[^\n]+\n$/);
  },
);

test('what a stranger’s home holds is not touched by any of it', async () => {
  const repository = await testRepository({ 1: ISSUE });
  for (const args of [
    ['lld', '1', '--offline'],
    ['status'],
    ['logs', '1'],
    ['doctor'],
    ['init'],
    ['check', 'docs/lld/LLD-1.md'],
  ])
    await startAgentos(args, optionsOf(repository)).ended;
  expect(await repository.list('../home')).toEqual([]);
  expect(await repository.list('..')).toEqual(['home', 'repo sitory']);
});
