import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CommandOptions } from '../../src/agent/command.ts';
import { createCommandWriter } from '../../src/agent/command.ts';
import { type CommandSpec, parseModelSpec } from '../../src/core/model-spec.ts';
import { NO_USAGE } from '../../src/core/money.ts';
import { testFolder } from '../support/folder.ts';
import { eventually, isAlive, processesWith } from '../support/processes.ts';
import { failureOf, startWriting, type Writing } from '../support/writing.ts';

interface Started extends Writing {
  worktree: string;
  groups: [leader: number, ended: boolean][];
}

async function start(
  command: string,
  options: Partial<CommandOptions> & {
    signal?: AbortSignal;
    task?: string;
    onLine?: (line: string) => void;
  } = {},
): Promise<Started> {
  const { signal, task, onLine, ...given } = options;
  const worktree = await testFolder();
  const groups: [number, boolean][] = [];
  const writer = createCommandWriter(parseModelSpec(`command:${command}`) as CommandSpec, {
    env: { PATH: process.env['PATH'] ?? '' },
    idleTimeoutMs: 20_000,
    ceilingMs: 30_000,
    mask: (text) => text,
    onGroup: (leader, ended) => groups.push([leader, ended]),
    ...given,
  });
  const told = { worktree, system: 'The system.', task: task ?? 'The task.' };
  const writing = startWriting(writer, {
    ...told,
    ...(signal === undefined ? {} : { signal }),
    ...(onLine === undefined ? {} : { onLine }),
  });
  return Object.assign(writing, { worktree, groups });
}

async function pidIn(folder: string, file: string): Promise<number> {
  const pid = Number((await readFile(join(folder, file), 'utf8')).trim());
  expect(pid).toBeGreaterThan(1);
  return pid;
}

const FOREVER = 'while :; do sleep 0.05; done';

describe('a command as implementer', () => {
  test('gets the whole task on stdin and works in the worktree', async () => {
    const { reply, worktree, groups } = await start('cat > got.txt; pwd > where.txt');
    expect(await reply).toEqual({ text: '', answered: null, usage: NO_USAGE, metered: false, costUsd: null });
    expect(readFileSync(join(worktree, 'got.txt'), 'utf8')).toBe('The system.\n\nThe task.\n');
    expect(readFileSync(join(worktree, 'where.txt'), 'utf8')).toBe(`${worktree}\n`);
    expect(groups.map(([, ended]) => ended)).toEqual([false, true]);
  });

  test('may print nothing at all', async () => {
    const { reply, lines } = await start('cat > /dev/null');
    await reply;
    expect(lines).toEqual([]);
  });

  test('has each line of both its streams in the log, and each is a sign of life', async () => {
    const writing = await start('echo one; echo two >&2; printf three');
    await writing.reply;
    expect(writing.lines.toSorted()).toEqual(['one', 'three', 'two']);
    expect(writing.signs).toBeGreaterThan(0);
  });

  test('sees the environment it is given, and its own tag', async () => {
    const { reply, lines } = await start('env', { env: { PATH: process.env['PATH'] ?? '', COLOUR: 'green' } });
    await reply;
    expect(lines).toContain('COLOUR=green');
    expect(lines.some((line) => line.startsWith('AGENTOS_CALL='))).toBe(true);
    expect(lines.some((line) => line.startsWith('HOME='))).toBe(false);
  });

  test('that closes its stdin works all the same', async () => {
    const { reply, worktree } = await start('exec 0<&-; echo done > done.txt', { task: 'x'.repeat(2_000_000) });
    await reply;
    expect(existsSync(join(worktree, 'done.txt'))).toBe(true);
  });

  test('that prints 20 MB is read to the end without keeping it', async () => {
    let lines = 0;
    const { reply } = await start(`head -c 20000000 /dev/zero | tr '\\0' 'x' | fold -w 1000; echo; echo end`, {
      onLine: () => {
        lines += 1;
      },
    });
    await reply;
    expect(lines).toBeGreaterThanOrEqual(20_001);
  });
});

describe('a command that fails', () => {
  test('may be tried again, with what it said last', async () => {
    const { reply } = await start('echo working; echo "it broke" >&2; exit 3');
    const error = await failureOf(reply);
    expect(error).toMatchObject({ retry: 'transient', problem: { code: 'command-failed', exitCode: 3, signal: null } });
    expect(JSON.stringify(error.problem)).toContain('it broke');
  });

  test.each([
    ['that is not there', 'no-such-program-anywhere', 127],
    ['that may not be run', 'touch plain; ./plain', 126],
  ])('because of a program %s is not tried again', async (_what, command, exitCode) => {
    const { reply } = await start(command);
    expect(await failureOf(reply)).toMatchObject({
      retry: 'permanent',
      problem: { code: 'command-failed', exitCode },
    });
  });

  test('by a signal says which', async () => {
    const { reply } = await start('kill -SEGV $$');
    expect(await failureOf(reply)).toMatchObject({
      retry: 'transient',
      problem: { code: 'command-failed', exitCode: null, signal: 'SIGSEGV' },
    });
  });
});

describe('a command that does not end', () => {
  test('and says nothing is ended as idle, with all that it started', async () => {
    const { reply, worktree } = await start(`sh -c 'echo $$ > pid; ${FOREVER}' & ${FOREVER}`, { idleTimeoutMs: 500 });
    expect(await failureOf(reply)).toMatchObject({ retry: 'idle', problem: { code: 'call-idle', afterMs: 500 } });
    expect(isAlive(await pidIn(worktree, 'pid'))).toBe(false);
  });

  test('but says something is ended at its ceiling', async () => {
    const { reply, lines } = await start('while :; do echo on; sleep 0.05; done', {
      idleTimeoutMs: 10_000,
      ceilingMs: 700,
    });
    expect(await failureOf(reply)).toMatchObject({ retry: 'ceiling', problem: { code: 'call-ceiling' } });
    expect(lines).toContain('on');
  });

  test('is ended when the caller gives up, with its reason', async () => {
    const giveUp = new AbortController();
    const { reply } = await start(`echo begun; ${FOREVER}`, {
      signal: giveUp.signal,
      onLine: () => giveUp.abort(new Error('enough')),
    });
    await expect(reply).rejects.toThrow('enough');
  });
});

describe.runIf(existsSync('/proc'))('what a command leaves running', () => {
  const LEAVES = `setsid sh -c 'echo $$ > pid; ${FOREVER}' > /dev/null 2>&1 & while ! [ -s pid ]; do sleep 0.01; done`;

  test('is ended with it, also in a session of its own', async () => {
    const { reply, worktree } = await start(LEAVES);
    await reply;
    const pid = await pidIn(worktree, 'pid');
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
  });

  test('is ended when the command fails, too', async () => {
    const { reply, worktree } = await start(`${LEAVES}; exit 1`);
    await failureOf(reply);
    const pid = await pidIn(worktree, 'pid');
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
  });

  test('by another call goes on', async () => {
    const first = await start(`echo ready; ${FOREVER}`, { idleTimeoutMs: 5_000 });
    await eventually('the first runs', () => first.lines.includes('ready'));
    await (await start('true')).reply;
    const [leader] = first.groups[0] ?? [0];
    expect(isAlive(leader)).toBe(true);
    await eventually('what it started still runs', () => processesWith(first.worktree).length > 0);
    process.kill(-leader, 'SIGKILL');
    expect(await failureOf(first.reply)).toMatchObject({ problem: { signal: 'SIGKILL' } });
  });
});
