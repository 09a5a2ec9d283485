import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE, lldFor, review } from '../support/models.ts';
import { agentos, type Ended, PROJECT, type ProgramOptions, startAgentos } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';

const optionsOf = (repository: TestRepository): ProgramOptions => ({
  cwd: repository.root,
  env: { HOME: repository.home },
});

/** A reviewer that waits until the file `go` is there, beside the repository, so that a run stays at its review as long as a test wants. */
const PATIENT = [
  '--drafter',
  'command:cat "$HOME/../lld.md"',
  '--reviewer',
  'command:cd "$HOME/.."; until [ -f go ]; do sleep 0.05; done; cat review.md',
];

async function patientRepository(): Promise<TestRepository> {
  const repository = await testRepository({ 42: ISSUE, 43: ISSUE });
  await repository.write('../lld.md', lldFor('42'));
  await repository.write('../review.md', review({ verdict: 'APPROVED' }));
  return repository;
}

test('status shows the backlog with what each item waits for, then the runs, for people and as JSON', async () => {
  const repository = await testRepository({ 1: ISSUE, 2: ISSUE, 3: ISSUE, 4: '# Later\n', 5: '' });
  const run = (...args: string[]): Promise<Ended> => agentos(args, optionsOf(repository));
  const none = await run('status');
  expect(none).toMatchObject({ code: 0, stderr: '' });
  expect(none.stdout).toMatch(/^Backlog {2}5 item\(s\): 4 issue, 1 unreadable\n {2}1 {2}issue/);
  expect(none.stdout).toContain('No runs yet. Start one with: agentos lld --all');

  const models = await scriptedModels(repository);
  await models.answer('review-lld', '2', review({ verdict: 'DISCUSS', questions: ['Who pays?'] }));
  expect((await run('lld', '1', '2', '5', ...models.flags)).code).toBe(1);
  expect((await run('lld', '2', ...models.flags)).code).toBe(3);
  expect((await run('lld', '3', '--offline')).code).toBe(3);
  const runs = (await repository.list('.agentos/runs')).reverse();
  const { stdout } = await run('status');
  expect(stdout).toMatch(/^ {2}1 {2}lld {9}Add a number +-$/m);
  expect(stdout).toMatch(/^ {2}2 {2}issue {7}Add a number +- +waits for a person: the reviewer asks: Who pays\?$/m);
  expect(stdout).toMatch(
    /^ {2}3 {2}issue .* waits for a model: no model has seen it; run agentos lld 3 with a model$/m,
  );
  expect(stdout).toMatch(/^ {2}4 {2}issue {7}Later/m);
  expect(stdout).toMatch(/^ {2}5 {2}unreadable .*is empty/m);
  expect(stdout.match(/^\S+(?= {2}lld {2}(?:waiting|failed) {2})/gm)).toEqual(runs);
  expect(stdout).toMatch(/ {2}lld {2}waiting .*\n.*\n.* lld {2}waiting .*\n.*\n.* lld {2}failed /);

  const json = JSON.parse((await run('status', '--json')).stdout);
  expect(json.runs.map(({ state }: { state: string }) => state)).toEqual(['waiting', 'waiting', 'failed']);
  expect(json.items[1]).toMatchObject({
    id: '2',
    title: 'Add a number',
    state: 'issue',
    waitsFor: 'person',
    reason: 'the reviewer asks: Who pays?',
    costUsd: 0,
    branch: null,
    lastRun: { runId: runs[1], workflow: 'lld', status: 'discuss' },
  });
  const one = await run('status', '2');
  expect(one).toMatchObject({ code: 0, stderr: '' });
  expect(one.stdout).toContain('docs/lineage/2/003-verdict.md');
  expect(one.stdout).toContain('agentos decide 2 --approve --reason "…" | --revise "…" | --drop');
  expect((await run('decide', '2', '--approve', '--reason', 'We do.')).code).toBe(0);
  const decided = JSON.parse((await run('status', '2', '--json')).stdout);
  expect(decided).toMatchObject({ runs: [], items: [{ id: '2', waitsFor: 'run', lineage: 'docs/lineage/2' }] });

  const oldest = await run('status', runs[2] ?? '', '--json');
  expect(JSON.parse(oldest.stdout)).toEqual({
    runs: [
      {
        runId: runs[2],
        workflow: 'lld',
        startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        state: 'failed',
        items: [
          { id: '1', title: 'Add a number', status: 'succeeded', workflow: 'lld', step: 'review-1', costUsd: 0 },
          { id: '2', title: 'Add a number', status: 'discuss', workflow: 'lld', step: 'decision-1', costUsd: 0 },
          { id: '5', title: '5', status: 'failed', workflow: 'lld', step: null, costUsd: 0 },
        ],
      },
    ],
  });
});

test('resume has nothing to do when every item of the run is done', async () => {
  const repository = await testRepository({ 42: ISSUE });
  const { flags } = await scriptedModels(repository);
  expect((await agentos(['lld', '42', ...flags], optionsOf(repository))).code).toBe(0);
  const ended = await agentos(['resume'], optionsOf(repository));
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toContain('Nothing to do');
  const json = await agentos(['resume', '--json'], optionsOf(repository));
  expect(json).toMatchObject({ code: 0, stderr: ended.stdout });
  expect(JSON.parse(json.stdout)).toMatchObject({ workflow: 'lld', exitCode: 0, items: [] });
  expect(await repository.list('.agentos/runs')).toHaveLength(1);
});

test('logs prints the newest log of an item and ends', async () => {
  const repository = await testRepository({ 42: ISSUE });
  await agentos(['lld', '42', '--offline'], optionsOf(repository));
  const [plain, follow, other] = await Promise.all([
    agentos(['logs', '42'], optionsOf(repository)),
    agentos(['logs', '42', '--follow'], optionsOf(repository)),
    agentos(['logs', '4'], optionsOf(repository)),
  ]);
  const [run] = await repository.list('.agentos/runs');
  expect(plain).toMatchObject({ code: 0, stderr: '' });
  expect(plain?.stdout).toBe(await repository.read(`.agentos/runs/${run}/logs/lld-42.log`));
  expect(follow).toMatchObject({ code: 0, stdout: plain?.stdout });
  if (other) expectRefusal(other, 'There is no log of 4.', 'agentos status');
});

test('logs --follow waits for its item to begin, prints what comes, and ends with the item though the run goes on', async () => {
  const repository = await patientRepository();
  const issue = '$(grep -om1 "issue 4[23]" | tail -c3)';
  await repository.write('../lld-42.md', lldFor('42'));
  await repository.write('../lld-43.md', lldFor('43'));
  await repository.write('../slow.sh', 'until [ -f "$1" ]; do sleep 0.05; done; cat review.md\n');
  const models = [
    '--drafter',
    `command:cat "$HOME/../lld-${issue}.md"`,
    '--reviewer',
    `command:cd "$HOME/.."; sh slow.sh go-${issue}`,
  ];
  const run = startAgentos(['lld', '42', '43', ...models], optionsOf(repository));
  onTestFinished(() => void run.child.kill('SIGKILL'));
  await run.printed('[LLD-42] review-1 …');
  const second = startAgentos(['logs', '43', '--follow'], optionsOf(repository));
  const first = startAgentos(['logs', '42', '--follow'], optionsOf(repository));
  await first.printed('review-1 …');
  const { stdout } = await agentos(['status'], optionsOf(repository));
  expect(stdout).toMatch(/ {2}running {2}/);
  expect(stdout).toMatch(/^ {2}42 {2}running {6}review-1/m);
  expect(stdout).toMatch(/^ {2}43 {2}waiting/m);

  await repository.write('../go-42', '');
  const { code, stdout: printed } = await first.ended;
  expect(code).toBe(0);
  expect(printed).toContain('succeeded');
  expect(run.child.exitCode).toBeNull();
  await second.printed('review-1 …');
  await repository.write('../go-43', '');
  expect((await second.ended).stdout).toContain('Add a number');
  await run.ended;
});

test('logs --follow ends when its reader goes away', async () => {
  const repository = await patientRepository();
  const run = startAgentos(['lld', '42', ...PATIENT], optionsOf(repository));
  onTestFinished(() => void run.child.kill('SIGKILL'));
  await run.printed('review-1 …');
  const shell = spawn('sh', ['-c', `"$0" logs 42 --follow | head -1; echo "$?"`, `${PROJECT}/bin/agentos`], {
    cwd: repository.root,
    env: { PATH: process.env['PATH'], HOME: repository.home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    // Something more to print, so that it notices.
    void repository.write('../go', '');
  });
  await once(shell, 'close');
  expect(printed).toMatch(/^\S+ Add a number\n0\n$/);
  await run.ended;
});

test('a run that was killed is interrupted, not running, and its items say where they were', async () => {
  const repository = await patientRepository();
  const run = startAgentos(['lld', '42', '43', ...PATIENT], optionsOf(repository));
  await run.printed('[LLD-42] review-1 …');
  run.child.kill('SIGKILL');
  await run.ended;
  const { stdout } = await agentos(['status', '--json'], optionsOf(repository));
  expect(JSON.parse(stdout).runs[0]).toMatchObject({
    state: 'interrupted',
    items: [
      { id: '42', status: 'interrupted', step: 'review-1' },
      { id: '43', status: 'waiting', step: null },
    ],
  });
  await repository.write('../go', '');

  // An issue that is gone does not keep the others from being resumed.
  await rm(join(repository.root, 'issues/43.md'));
  const resumed = await agentos(['resume'], optionsOf(repository));
  expect(resumed.code, resumed.stdout).toBe(0);
  expect(resumed.stderr).toBe('Skipping 43: issues/43.md is gone.\n');
});
