import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { ISSUE, script, vendorEnv } from '../support/models.ts';
import { eventually, workersOf } from '../support/processes.ts';
import { startAgentos } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';
import { startVendor } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'anthropic:claude-sonnet-5'];

/** A vendor that answers each call when it is told to. */
async function place(env: Record<string, string> = {}) {
  const held: (() => void)[] = [];
  const vendor = await startVendor({
    script: async (call) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return script()(call);
    },
  });
  onTestFinished(() => vendor.close());
  const repository = await testRepository({ 1: ISSUE });
  const options = {
    cwd: repository.root,
    env: { ...vendorEnv(vendor.url), HOME: repository.home, ...env },
  };
  const start = (...flags: string[]) => {
    const program = startAgentos(['lld', '1', '--json', '--max-retries', '0', ...flags, ...MODELS], options);
    onTestFinished(() => void program.child.kill('SIGKILL'));
    return program;
  };
  return { vendor, start, answer: () => held.shift()?.() };
}

function stateOf(pid: number): string {
  return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? '';
}

const linesOf = (stdout: string): Record<string, unknown>[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Longer than the idle bound, and long enough to be told. */
const SUSPENDED_MS = 7_000;

test('a program that is stopped with its workers for longer than the idle bound goes on as if nothing had been', async () => {
  const { vendor, start, answer } = await place();
  const program = start('--idle-timeout', '4s');
  await vendor.waitForCalls(1);
  const pids = [program.child.pid ?? 0, ...workersOf(program.child.pid)];
  expect(pids.length).toBeGreaterThan(1);
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await sleep(SUSPENDED_MS);
  answer();
  for (const pid of pids) process.kill(pid, 'SIGCONT');
  await Promise.race([vendor.waitForCalls(2), program.ended]);
  answer();
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(vendor.calls).toHaveLength(2);
  const lines = linesOf(stdout);
  const told = lines.filter(({ type }) => type === 'suspended');
  expect(told).toHaveLength(1);
  expect(told[0]?.['forMs']).toBeGreaterThan(SUSPENDED_MS - 2_000);
  expect(lines.filter(({ type }) => type === 'item-retrying')).toEqual([]);
  const finished = lines.find(({ type }) => type === 'item-finished');
  expect(finished).toMatchObject({ status: 'succeeded', attempts: 1 });
});

test('Ctrl+Z stops the workers too, and fg lets all of them go on', async () => {
  const { vendor, start, answer } = await place();
  const program = start();
  await vendor.waitForCalls(1);
  const pids = [program.child.pid ?? 0, ...workersOf(program.child.pid)];
  expect(pids.length).toBeGreaterThan(1);
  for (let time = 0; time < 2; time++) {
    program.child.kill('SIGTSTP');
    await eventually('all are stopped', () => pids.every((pid) => stateOf(pid) === 'T'));
    program.child.kill('SIGCONT');
    await eventually('all go on', () => pids.every((pid) => stateOf(pid) !== 'T'));
  }
  answer();
  await Promise.race([vendor.waitForCalls(2), program.ended]);
  answer();
  expect((await program.ended).code).toBe(0);
});

const [library] = globSync('/usr/lib{,64}/{*/,}faketime/libfaketime.so.1');

test.skipIf(library === undefined)(
  'a date that is set back and forth by hours fails nothing, and no duration is negative',
  async () => {
    const file = join(await testFolder(), 'date');
    const setDate = (offset: string): Promise<void> => writeFile(file, `${offset}\n`);
    await setDate('+0');
    const { vendor, start, answer } = await place({
      LD_PRELOAD: library ?? '',
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    });
    const program = start('--idle-timeout', '20s', '--timeout', '10m');
    await vendor.waitForCalls(1);
    await setDate('-3h');
    answer();
    await Promise.race([vendor.waitForCalls(2), program.ended]);
    await setDate('+5h');
    answer();
    const { code, stdout } = await program.ended;
    expect(code).toBe(0);
    const lines = linesOf(stdout);
    const hours = new Set(lines.flatMap(({ at }) => (typeof at === 'string' ? at.slice(0, 13) : [])));
    expect(hours.size).toBeGreaterThanOrEqual(3);
    const durations = [...stdout.matchAll(/"(?:durationMs|waitedMs)":(-?[\d.]+)/g)].map(([, ms]) => Number(ms));
    expect(durations.length).toBeGreaterThan(5);
    for (const ms of durations) {
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThan(600_000);
    }
  },
);
