import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCommandProvider } from '../../src/agent/command.ts';
import { AgentosError, systemCode } from '../../src/core/errors.ts';
import { type CommandSpec, parseModelSpec } from '../../src/core/model-spec.ts';
import { MAX_REPLY_BYTES, type ModelReply, type ModelRequest } from '../../src/models/port.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentos command ü-'));
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'pass') await rm(folder, { recursive: true });
});

type Ask = Partial<Parameters<typeof createCommandProvider>[1]> &
  Partial<Pick<ModelRequest, 'signal' | 'system' | 'parts' | 'onProgress'>> & { cwd?: string };

function ask(command: string, { signal, system, parts, onProgress, cwd, ...options }: Ask = {}): Promise<ModelReply> {
  const provider = createCommandProvider(parseModelSpec(`command:${command}`) as CommandSpec, {
    env: { PATH: process.env['PATH'] ?? '' },
    idleTimeoutMs: 20_000,
    ceilingMs: 30_000,
    mask: (text) => text,
    ...options,
  });
  return provider.complete({
    role: 'drafter',
    system: system ?? 'The system prompt.',
    parts: parts ?? [{ text: 'First part.', repeats: true }, { text: 'Second part.' }],
    stepId: 'draft#1',
    signal: signal ?? new AbortController().signal,
    ...(onProgress === undefined ? {} : { onProgress }),
    inFolder: (work) => work(cwd ?? folder),
  });
}

async function errorOf(reply: Promise<unknown>): Promise<AgentosError> {
  const error: unknown = await reply.then(
    () => expect.unreachable('it replied'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof AgentosError) return error;
  throw error;
}

async function pidIn(file: string): Promise<number> {
  const pid = Number((await readFile(join(folder, file), 'utf8')).trim());
  expect(pid).toBeGreaterThan(1);
  return pid;
}

/** A killed process whose parent is gone stays a zombie until init looks; a zombie does nothing any more. */
async function expectEnded(pid: number): Promise<void> {
  await expect.poll(() => runs(pid), { timeout: 5_000 }).toBe(false);
}

async function runs(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return false;
    throw error;
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return !/\) Z /.test(stat);
}

const FOREVER = 'while :; do sleep 0.05; done';

describe('a command as a model', () => {
  it('gets the prompt on stdin and replies on stdout', async () => {
    expect(await ask('cat')).toEqual({
      text: 'The system prompt.\n\nFirst part.\n\nSecond part.\n',
      asked: 'command:cat',
      answered: null,
      substituted: false,
      usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
      metered: false,
    });
  });

  it('runs in its folder and sees no other environment than the given one', async () => {
    const { text } = await ask('pwd; env', { env: { PATH: process.env['PATH'] ?? '', GIVEN: 'yes' } });
    expect(text).toContain(folder);
    expect(text).toContain('GIVEN=yes');
    expect(text).not.toContain('HOME=');
  });

  it('may leave its prompt unread, however long that is', async () => {
    const { text } = await ask('exec 0<&-; echo done', { parts: [{ text: 'x'.repeat(2_000_000) }] });
    expect(text).toBe('done\n');
  });

  it('replies in UTF-8, and bytes that are none do no harm', async () => {
    expect((await ask("printf 'gr\\303\\274n \\377 ok'")).text).toBe('grün � ok');
  });

  it('reports the lines of stderr as they come, and life with every piece', async () => {
    const lines: string[] = [];
    let signs = 0;
    const { text } = await ask('echo one >&2; printf "two\\r\\n" >&2; printf three >&2; echo reply', {
      onLine: (line) => lines.push(line),
      onProgress: () => signs++,
    });
    expect({ text, lines }).toEqual({ text: 'reply\n', lines: ['one', 'two', 'three'] });
    expect(signs).toBeGreaterThan(0);
  });

  it('passes an endless line on in pieces', async () => {
    const lines: string[] = [];
    await ask('head -c 25000 /dev/zero | tr "\\0" x >&2; echo reply', { onLine: (line) => lines.push(line) });
    expect(lines.map((line) => line.length)).toEqual([10_000, 10_000, 5_000]);
  });
});

describe('a command that fails', () => {
  it('is named with its exit code and the last it said', async () => {
    const error = await errorOf(ask('echo early >&2; echo "no credit left" >&2; exit 3'));
    expect(error.retry).toBe('transient');
    expect(error.problem).toEqual({
      code: 'command-failed',
      command: 'echo early >&2; echo "no credit left" >&2; exit 3',
      exitCode: 3,
      signal: null,
      detail: 'early | no credit left',
    });
  });

  it('is not tried again when there is no such program', async () => {
    const error = await errorOf(ask('no-such-program-here'));
    expect(error).toMatchObject({ retry: 'permanent', problem: { code: 'command-failed', exitCode: 127 } });
  });

  it('is not tried again when its folder is missing', async () => {
    const error = await errorOf(ask('echo hello', { cwd: join(folder, 'missing') }));
    expect(error).toMatchObject({ retry: 'permanent', problem: { code: 'command-failed', exitCode: null } });
  });

  it('is named with the signal that ended it', async () => {
    const error = await errorOf(ask('kill -KILL $$'));
    expect(error).toMatchObject({
      retry: 'transient',
      problem: { code: 'command-failed', exitCode: null, signal: 'SIGKILL' },
    });
  });

  it('has not replied when it said nothing', async () => {
    expect(await errorOf(ask('echo; echo " "'))).toMatchObject({ retry: 'transient', code: 'reply-empty' });
  });

  it('is ended when its reply does not end', async () => {
    const error = await errorOf(ask('echo $$ > pid; yes'));
    expect(error).toMatchObject({
      retry: 'permanent',
      problem: { code: 'reply-too-large', limitBytes: MAX_REPLY_BYTES },
    });
    await expectEnded(await pidIn('pid'));
  });
});

describe('a command that does not end', () => {
  it('is ended when it gives no sign of life', async () => {
    const error = await errorOf(ask(`echo $$ > pid; echo begin; ${FOREVER}`, { idleTimeoutMs: 200 }));
    expect(error).toMatchObject({ retry: 'idle', problem: { code: 'call-idle', afterMs: 200 } });
    await expectEnded(await pidIn('pid'));
  });

  it('is alive while it writes to stderr', async () => {
    const { text } = await ask('for i in 1 2 3 4 5 6 7 8; do sleep 0.1; echo . >&2; done; echo reply', {
      idleTimeoutMs: 600,
    });
    expect(text).toBe('reply\n');
  });

  it('is ended at its ceiling although it is alive', async () => {
    const error = await errorOf(ask('while :; do echo .; sleep 0.02; done', { ceilingMs: 300 }));
    expect(error).toMatchObject({ retry: 'ceiling', problem: { code: 'call-ceiling', afterMs: 300 } });
  });

  it('gets a moment to clean up, then is ended with everything it started', async () => {
    const controller = new AbortController();
    const reason = new AgentosError({ code: 'interrupted', signal: 'SIGINT' });
    const stubborn = `sh -c 'trap "" TERM; echo $$ > stubborn; ${FOREVER}' &`;
    const orderly = `sh -c 'trap "sleep 0.2; echo yes > cleaned; exit" TERM; echo $$ > orderly; echo ready >&2; ${FOREVER}'`;
    const reply = ask(`${stubborn} while [ ! -s stubborn ]; do sleep 0.02; done; ${orderly}; echo`, {
      signal: controller.signal,
      onLine: () => controller.abort(reason),
    });
    await expect(reply).rejects.toBe(reason);
    expect(await readFile(join(folder, 'cleaned'), 'utf8')).toBe('yes\n');
    await expectEnded(await pidIn('stubborn'));
    await expectEnded(await pidIn('orderly'));
  });

  it('leaves nothing behind when it ends by itself', async () => {
    const { text } = await ask(
      `sh -c 'echo $$ > child; ${FOREVER}' & while [ ! -s child ]; do sleep 0.02; done; echo reply`,
    );
    expect(text).toBe('reply\n');
    await expectEnded(await pidIn('child'));
  });

  it('is not waited for by one that made itself independent and keeps the pipe open', async () => {
    const { text } = await ask(
      `setsid sh -c 'echo $$ > away; ${FOREVER}' & while [ ! -s away ]; do sleep 0.02; done; echo reply`,
    );
    expect(text).toBe('reply\n');
    process.kill(await pidIn('away'), 'SIGKILL');
  });

  it('is not even started when the caller has given up', async () => {
    const reason = new AgentosError({ code: 'interrupted', signal: 'SIGTERM' });
    await expect(ask('echo > started', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await sleep(0);
    await expect(readFile(join(folder, 'started'))).rejects.toThrow('ENOENT');
  });
});
