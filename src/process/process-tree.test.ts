import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { eventually, isAlive } from '../../test/support/processes.ts';
import { endTagged, endUntagged, processStat } from './process-tree.ts';
import { runTaggedProgram } from './program.ts';

const hasProc = existsSync('/proc/self/stat');
/** Gives a program a terminal of its own. */
const SCRIPT = '/usr/bin/script';

/** Ends by itself when its input does. */
async function standingIn(cwd: string): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', 'echo ready; read line'], {
    cwd,
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  return child;
}

async function endsByItself(child: ChildProcess): Promise<boolean> {
  const exit = once(child, 'exit');
  child.stdin?.end();
  return (await exit)[1] === null;
}

const tickOf = (child: ChildProcess): number => processStat(child.pid ?? 0)?.start ?? Number.NaN;

test.skipIf(!hasProc)('what a program leaves behind without its environment and its group ends with it', async () => {
  const worktree = await testFolder();
  const { exitCode } = await runTaggedProgram({
    command: `mkdir sub; (cd sub; exec env -i setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1) &
      until test -s sub/pid; do sleep 0.01; done`,
    cwd: worktree,
    env: { PATH: process.env['PATH'] ?? '' },
    signal: new AbortController().signal,
    timeoutMs: 20_000,
  });
  expect(exitCode).toBe(0);
  const pid = Number(await readFile(join(worktree, 'sub', 'pid'), 'utf8'));
  expect(pid).toBeGreaterThan(1);
  await eventually('the stray has ended', () => !isAlive(pid));
});

test.skipIf(!hasProc)('what began earlier, or stands elsewhere, is not touched', async () => {
  const folder = await testFolder();
  for (const name of ['worktree', 'worktree-2']) await mkdir(join(folder, name));
  const worktree = join(folder, 'worktree');
  const earlier = await standingIn(worktree);
  const elsewhere = await standingIn(join(folder, 'worktree-2'));
  await eventually('the clock has gone on', () => {
    const probe = spawn('true', { stdio: 'ignore' });
    return tickOf(probe) > Math.max(tickOf(earlier), tickOf(elsewhere));
  });
  const stray = await standingIn(worktree);
  const ended = once(stray, 'exit');
  await endUntagged(worktree, Math.max(tickOf(earlier), tickOf(elsewhere)) + 1);
  expect(await ended).toEqual([null, 'SIGKILL']);
  expect(await endsByItself(earlier)).toBe(true);
  await endUntagged(worktree, 0);
  expect(await endsByItself(elsewhere)).toBe(true);
});

test.skipIf(!hasProc || !existsSync(SCRIPT))('a shell with a terminal is never touched', async () => {
  const worktree = await testFolder();
  const shell = spawn(SCRIPT, ['-qfec', `cd '${worktree}' && echo pid=$$ && read line && echo went-on`, '/dev/null'], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let said = '';
  shell.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await eventually('the shell stands there', () => said.includes('pid='));
  await endUntagged(worktree, 0);
  const exit = once(shell, 'close');
  shell.stdin.write('\n');
  await exit;
  expect(said).toContain('went-on');
});

test.skipIf(!existsSync('/proc/self/environ'))(
  'what carries the tag in the named variable ends, and nothing else',
  async () => {
    const tag = `leftovers-${process.pid}`;
    const start = async (variable: string, value: string) => {
      const env = { PATH: process.env['PATH'] ?? '', [variable]: value };
      const child = spawn('sh', ['-c', 'echo ready; read line'], {
        env,
        detached: true,
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      await once(child.stdout, 'data');
      return child;
    };
    const wanted = await start('AGENTOS_CALL', `${tag}-1`);
    const others = [await start('AGENTOS_WORKER', `${tag}-1`), await start('AGENTOS_CALL', `other-${tag}`)];
    const ended = once(wanted, 'exit');
    await endTagged(tag, 'AGENTOS_CALL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    for (const child of others) {
      const exit = once(child, 'exit');
      child.stdin.end();
      expect((await exit)[1]).toBeNull();
    }
  },
);
