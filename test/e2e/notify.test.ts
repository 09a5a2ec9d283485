import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { ISSUE, review } from '../support/models.ts';
import { agentos, PROJECT, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { openTmux, tmuxIsMissing } from '../support/tmux.ts';

const optionsOf = ({ root, home }: TestRepository) => ({ cwd: root, env: { HOME: home } });
const asks = review({ verdict: 'DISCUSS', questions: ['Who pays?'] });

test('--notify gets the summary when an item needs a person and when the run ends; status --watch follows from elsewhere', async () => {
  const repository = await testRepository({ 1: ISSUE, 2: ISSUE });
  const models = await scriptedModels(repository);
  await models.answer('review-lld', '1', asks);
  await models.hold('review-lld', '2');
  const watch = startAgentos(['status', '--watch'], optionsOf(repository));
  await watch.printed('No run is under way');
  // Not in the checkout: a file that appears there is an agent's, as far as the run can tell.
  const file = join(repository.home, '..', 'told.jsonl');
  const notify = ['--notify', `cat >> '${file}'`];
  const run = startAgentos(['lld', '--all', '--parallel', '2', ...models.flags, ...notify], optionsOf(repository));
  const told = async (): Promise<unknown[]> =>
    (await repository.read(file).catch(() => ''))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  await vi.waitFor(async () => expect(await told()).toHaveLength(1), { timeout: 20_000 });
  expect(await told()).toMatchObject([
    {
      occasion: 'needs-person',
      counts: { total: 1, discuss: 1 },
      items: [{ id: '1', question: { decide: expect.stringContaining('agentos decide 1') } }],
    },
  ]);
  await models.release('review-lld', '2');
  expect(await run.ended).toMatchObject({ code: 3 });
  expect(await told()).toMatchObject([
    {},
    { occasion: 'ended', exitCode: 3, counts: { total: 2, discuss: 1, succeeded: 1 } },
  ]);
  await watch.printed('The run ended with exit code 3: 2 item(s) (1 succeeded, 1 discuss)');
  expect(watch.stdout()).toContain('[LLD-2] review 1: APPROVED');
  watch.child.kill('SIGINT');
  expect(await watch.ended).toMatchObject({ code: 130, stderr: '' });
  // Of a run that is over, once.
  const [runId = ''] = await repository.list('.agentos/runs');
  const over = await agentos(['status', runId, '--watch', '--json'], optionsOf(repository));
  expect(over).toMatchObject({ code: 0, stdout: '' });
  expect(over.stderr).toContain('The run ended with exit code 3');
});

test('a --notify command that fails is a warning; one that hangs is stopped, soon after a signal', async () => {
  const repository = await testRepository({ 1: ISSUE });
  const models = await scriptedModels(repository);
  const failing = await agentos(
    ['lld', '1', ...models.flags, '--notify', 'echo no luck >&2; exit 7'],
    optionsOf(repository),
  );
  expect(failing).toMatchObject({ code: 0, stderr: '' });
  expect(failing.stdout).toContain('[COORDINATOR] The --notify command ended with 7: no luck');
  await repository.write('issues/2.md', ISSUE);
  await models.hold('lld', '2');
  const hanging = startAgentos(['lld', '2', ...models.flags, '--notify', 'sleep 1000'], optionsOf(repository));
  await hanging.printed('asked for lld 2');
  hanging.child.kill('SIGINT');
  const { code, stdout } = await hanging.ended;
  expect(code).toBe(130);
  expect(stdout).toContain('The --notify command did not end within 1.5 s and was stopped.');
  expect(stdout).toContain('Not finished: 2.');
});

test.skipIf(tmuxIsMissing)(
  'on a terminal the desktop is told when an item needs a person, by its own program',
  async () => {
    const repository = await testRepository({ 1: ISSUE, 2: ISSUE });
    const models = await scriptedModels(repository);
    await models.answer('review-lld', '1', asks);
    await models.hold('review-lld', '2');
    const folder = join(repository.home, '..');
    const bin = join(folder, 'bin');
    await mkdir(bin);
    await repository.write(join(bin, 'notify-send'), `#!/bin/sh\nprintf '%s\\n' "$@" >> '${join(bin, 'told')}'\n`);
    await chmod(join(bin, 'notify-send'), 0o755);
    const terminal = openTmux(folder, 100, 30, { PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    const flags = models.flags.map((flag) => `"${flag}"`).join(' ');
    const lines = [`cd '${repository.root}'`, `'${join(PROJECT, 'bin', 'agentos')}' lld --all --parallel 2 ${flags}`];
    await repository.write(join(folder, 'go'), `${lines.join('\n')}\n`);
    terminal.type('-l', `. '${join(folder, 'go')}'`);
    terminal.type('Enter');
    await vi.waitFor(async () => expect(await repository.read(join(bin, 'told'))).toContain('lld: 1 needs you'), {
      timeout: 20_000,
    });
    await models.release('review-lld', '2');
    await terminal.until((screen) => expect(screen.join('\n')).toContain('Total: 2 items'));
  },
);
