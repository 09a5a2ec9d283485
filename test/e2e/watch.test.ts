import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE, review, script, vendorEnv } from '../support/models.ts';
import { agentos, type Started, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { startVendor } from '../support/vendor/index.ts';

const placed = (repository: TestRepository) => ({ cwd: repository.root, env: { HOME: repository.home } });
const runsOf = (repository: TestRepository): Promise<string[]> => repository.list('.agentos/runs');
/** Another text with the same meaning to a person. */
const changed = (word: string): string => ISSUE.replace('Callers want', `${word} callers want`);

test('a watch runs what is pending, waits for changes, is the only one, and survives its end', async () => {
  const repository = await testRepository({ 42: ISSUE });
  const models = await scriptedModels(repository);
  const args = ['watch', '--until', 'lld', '--interval', '200ms', '--max-retries', '0', ...models.flags];
  const start = (): Started => {
    const started = startAgentos(args, placed(repository));
    onTestFinished(() => void started.child.kill('SIGKILL'));
    return started;
  };
  const first = start();
  await first.printed('watching issues/ · nothing to do');
  expect(await repository.read('docs/lld/LLD-42.md')).toContain('status: approved');

  const second = await agentos(args, placed(repository));
  expect([second.code, second.stderr]).toEqual([2, expect.stringContaining('is already running in this repository')]);

  // A failure is not tried again at once; another text is.
  await models.answer('lld', '43', 'fails');
  await repository.write('issues/43.md', ISSUE);
  await first.printed('watching issues/ · 43: failed');
  expect(await runsOf(repository)).toHaveLength(2);
  await models.answer(
    'lld',
    '43',
    (await repository.read('docs/lld/LLD-42.md')).split('---\n\n')[1]?.replaceAll('42', '43') ?? '',
  );
  await repository.write('issues/43.md', changed('Some'));
  await first.printed('[LLD-43] succeeded');

  // Killed in the middle: the next one takes over at once, and pays for nothing twice.
  await models.hold('review-lld', '44');
  await repository.write('issues/44.md', ISSUE);
  await first.printed('asked for review-lld 44');
  first.child.kill('SIGKILL');
  await first.ended;
  await models.release('review-lld', '44');
  const third = start();
  await third.printed('[LLD-44] draft: taken from the checkpoint');
  await third.printed('watching issues/ · nothing to do');
  expect(await repository.read('docs/lld/LLD-44.md')).toContain('status: approved');
  expect((await models.calls()).filter((call) => call === 'lld 44')).toHaveLength(1);

  third.child.kill('SIGTERM');
  expect((await third.ended).code).toBe(143);
  expect(await repository.list('.agentos/locks')).toEqual([]);
});

test('Ctrl+C in a run stops the run and the watch', async () => {
  const repository = await testRepository({ 42: ISSUE });
  const models = await scriptedModels(repository);
  await models.hold('lld', '42');
  const watch = startAgentos(['watch', '--until', 'lld', '--json', ...models.flags], placed(repository));
  await watch.printed('asked for lld 42');
  watch.child.kill('SIGINT');
  const { code, stdout } = await watch.ended;
  expect(code).toBe(130);
  const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as {
    exitCode: number;
    items: { status: string }[];
  };
  expect([last.exitCode, last.items[0]?.status]).toEqual([130, 'cancelled']);
});

test('one look ends as a batch does; what waits for a person, failed or was paid for is not run again', async () => {
  const repository = await testRepository({ 42: ISSUE });
  const models = await scriptedModels(repository);
  const once = (...more: string[]) =>
    agentos(['watch', '--once', '--until', 'lld', '--json', ...models.flags, ...more], placed(repository));
  const dry = await once('--dry-run');
  expect(JSON.parse(dry.stdout)).toMatchObject({ workflow: 'run', items: [{ id: '42', state: 'new' }] });
  expect([dry.code, await repository.list('.agentos')]).toEqual([0, []]);

  await models.answer('review-lld', '42', review({ verdict: 'DISCUSS' }));
  expect((await once()).code).toBe(3);
  expect((await once()).code).toBe(3);
  expect(await runsOf(repository)).toHaveLength(1);
  const decided = await agentos(['decide', '42', '--approve', '--reason', 'good'], placed(repository));
  expect(decided.code, decided.stderr).toBe(0);
  expect((await once()).code).toBe(0);
  expect((await once()).code).toBe(0);
  expect(await runsOf(repository)).toHaveLength(2);

  await models.answer('lld', '43', 'fails');
  await repository.write('issues/43.md', ISSUE);
  await repository.write('issues/44.md', ' \n');
  expect((await once('--max-retries', '0')).code).toBe(1);
  const held = await once();
  expect(held.code).toBe(1);
  const [idle, summary] = held.stdout.trimEnd().split('\n');
  expect(JSON.parse(summary ?? '')).toMatchObject({ runId: null, exitCode: 1, items: [] });
  expect(JSON.parse(idle ?? '')).toMatchObject({
    type: 'watch-idle',
    held: [
      { id: '43', status: 'failed', why: 'failed', untilMs: expect.any(Number) },
      { id: '44', status: 'failed', why: expect.stringContaining('is empty'), untilMs: null },
    ],
  });
  expect(await runsOf(repository)).toHaveLength(3);
  // A state that can't be read is no reason to stand still.
  await repository.write('.agentos/watch.json', 'torn');
  expect((await once('--max-retries', '0')).code).toBe(1);
  expect(await runsOf(repository)).toHaveLength(4);
});

test('a pause lasts until it ends, and a day has a budget; a restart forgets neither', async () => {
  let isFull = true;
  const refusal = { status: 429, type: 'rate_limit_error', message: 'Later', retryAfter: 7_200 };
  const vendor = await startVendor({ script: (call) => (isFull ? refusal : script()(call)) });
  onTestFinished(() => vendor.close());
  const repository = await testRepository({ 42: ISSUE });
  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };
  const roles = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
  const once = (usd: string) =>
    agentos(['watch', '--once', '--until', 'lld', '--max-cost-per-day', usd, '--json', ...roles], options);
  expect((await once('10')).code).toBe(75);
  const asked = vendor.calls.length;
  const paused = await once('10');
  expect([paused.code, vendor.calls.length]).toEqual([75, asked]);
  const { held } = JSON.parse(paused.stdout.split('\n')[0] ?? '') as { held: { why: string; untilMs: number }[] };
  expect(held[0]?.why).toBe('waits for quota');
  expect(held[0]?.untilMs).toBeGreaterThan(Date.now() + 6_000_000);

  isFull = false;
  await rm(join(repository.root, '.agentos', 'watch.json'));
  const paid = await once('10');
  expect(paid.code, paid.stderr).toBe(0);
  const { items } = JSON.parse(paid.stdout.trimEnd().split('\n').at(-1) ?? '') as { items: { costUsd: number }[] };
  const paidUsd = items[0]?.costUsd ?? 0;
  expect(paidUsd).toBeGreaterThan(0);
  await repository.write('issues/43.md', ISSUE);
  const calls = vendor.calls.length;
  expect((await once(paidUsd.toFixed(9))).code).toBe(75);
  expect(await runsOf(repository)).toHaveLength(2);
  // Something is left, but not enough for a call: found out once.
  expect((await once((paidUsd + 0.0001).toFixed(9))).code).toBe(1);
  expect((await once((paidUsd + 0.0001).toFixed(9))).code).toBe(75);
  expect(await runsOf(repository)).toHaveLength(3);
  expect(vendor.calls).toHaveLength(calls);
});
