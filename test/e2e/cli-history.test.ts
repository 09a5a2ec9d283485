import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE, lldFor, review } from '../support/models.ts';
import { agentos, PROJECT, type ProgramOptions, startAgentos } from '../support/program.ts';
import { expectRefusal } from '../support/refusal.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';

const optionsOf = (repository: TestRepository): ProgramOptions => ({
  cwd: repository.root,
  env: { HOME: repository.home },
});

/** A reviewer that waits until the file `go` is there, so that a run stays at its review as long as a test wants. */
const PATIENT = [
  '--drafter',
  'command:cat lld.md',
  '--reviewer',
  'command:until [ -f go ]; do sleep 0.05; done; cat review.md',
];

async function patientRepository(): Promise<TestRepository> {
  const repository = await testRepository({ 42: ISSUE, 43: ISSUE });
  await repository.write('lld.md', lldFor('42'));
  await repository.write('review.md', review({ verdict: 'APPROVED' }));
  return repository;
}

test('status shows runs and items, newest first, for people and as JSON', async () => {
  const repository = await testRepository({ 42: ISSUE, 43: '# No criteria\n' });
  const none = await agentos(['status'], optionsOf(repository));
  expect(none).toMatchObject({ code: 0, stdout: 'No runs yet. Start one with: agentos lld --all\n' });
  expect(JSON.parse((await agentos(['status', '--json'], optionsOf(repository))).stdout)).toEqual({ runs: [] });

  expect((await agentos(['lld', '42', '--offline'], optionsOf(repository))).code).toBe(0);
  expect((await agentos(['lld', '--all', '--offline'], optionsOf(repository))).code).toBe(3);
  const [older, newer] = await repository.list('.agentos/runs');
  const { stdout } = await agentos(['status'], optionsOf(repository));
  expect(stdout.match(/^\S+(?= {2}lld {2}finished {2})/gm)).toEqual([newer, older]);
  expect(stdout).toMatch(/^ {2}43 {2}discuss .*No criteria/m);
  expect(stdout).toMatch(/^ {2}42 {2}succeeded .*Add a number/m);

  const one = await agentos(['status', older ?? '', '--json'], optionsOf(repository));
  expect(JSON.parse(one.stdout)).toEqual({
    runs: [
      {
        runId: older,
        workflow: 'lld',
        startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        state: 'finished',
        items: [
          { id: '42', title: 'Add a number', status: 'succeeded', workflow: 'lld', step: 'review-1', costUsd: 0 },
        ],
      },
    ],
  });
});

test('resume has nothing to do when every item of the run is done', async () => {
  const repository = await testRepository({ 42: ISSUE });
  await agentos(['lld', '42', '--offline'], optionsOf(repository));
  const ended = await agentos(['resume'], optionsOf(repository));
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toContain('Nothing to do');
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
  await repository.write('lld-42.md', lldFor('42'));
  await repository.write('lld-43.md', lldFor('43'));
  await repository.write('slow.sh', 'until [ -f "$1" ]; do sleep 0.05; done; cat review.md\n');
  const models = ['--drafter', `command:cat lld-${issue}.md`, '--reviewer', `command:sh slow.sh go-${issue}`];
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

  await repository.write('go-42', '');
  const { code, stdout: printed } = await first.ended;
  expect(code).toBe(0);
  expect(printed).toContain('succeeded');
  expect(run.child.exitCode).toBeNull();
  await second.printed('review-1 …');
  await repository.write('go-43', '');
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
    void repository.write('go', '');
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
  await repository.write('go', '');
});
