import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AgentOptions } from '../../src/agent/create.ts';
import { createAgentWriter } from '../../src/agent/programs/call.ts';
import { AgentosError } from '../../src/core/errors.ts';
import { type AgentSpec, parseModelSpec } from '../../src/core/model-spec.ts';
import { Secret } from '../../src/core/secret.ts';
import { testFolder } from '../support/folder.ts';
import { type GatewayUnderTest, openGateway, until } from '../support/gateway.ts';
import { isAlive } from '../support/processes.ts';
import { failureOf, startWriting, type Writing } from '../support/writing.ts';

/*
 * Programs in the agents' place that do what the real ones do only on their worst days.
 */

const DONE = `echo '{"type":"result","subtype":"success","is_error":false,"result":"All done."}'`;
const FOREVER = 'while :; do sleep 0.05; done';

/** Asks the gateway for an answer as Claude Code does, and says what became of it. */
const ASKS = `
node -e '
fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
  method: "POST",
  headers: { "x-api-key": process.env.ANTHROPIC_API_KEY },
  body: JSON.stringify({ model: "claude-sonnet-4-5", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] }),
}).then(async (response) => { await response.text(); console.error("status " + response.status); });
'`;

const PROGRAMS: Readonly<Record<string, string>> = { 'claude-code': 'claude', codex: 'codex', 'gemini-cli': 'gemini' };

interface Started extends Writing {
  place: string;
  opened: GatewayUnderTest;
}

interface Setting extends Partial<AgentOptions> {
  agent?: string;
  gateway?: Parameters<typeof openGateway>[0];
}

async function start(
  script: string | null,
  { agent = 'claude-code', gateway, ...options }: Setting = {},
): Promise<Started> {
  const place = await testFolder();
  const opened = await openGateway(gateway);
  const [bin, worktree] = [join(place, 'bin'), join(place, 'worktree')];
  await mkdir(bin);
  await mkdir(worktree);
  if (script !== null) {
    const program = join(bin, PROGRAMS[agent.replace(/:.*/, '')] ?? agent);
    await writeFile(program, `#!/bin/sh\n${script}\n`);
    await chmod(program, 0o755);
  }
  const writer = createAgentWriter(parseModelSpec(agent) as AgentSpec, {
    env: { PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` },
    home: join(place, 'home'),
    endpointOf: (vendor) => opened.gateway.endpointOf(vendor),
    token: new Secret(opened.token),
    idleTimeoutMs: 20_000,
    ceilingMs: 60_000,
    mask: (text) => text.replaceAll('hunter2', '********'),
    ...options,
  });
  return Object.assign(startWriting(writer, { worktree }), { place, opened });
}

test('a command that is not there is named by the shell, and not taken for the shell', async () => {
  const { reply } = await start(null, { agent: 'acp:no-such-agent --acp' });
  const error = await failureOf(reply);
  expect(error).toMatchObject({ retry: 'permanent', problem: { code: 'agent-failed', agent: 'acp', exitCode: 127 } });
  expect(JSON.stringify(error.problem)).toContain('no-such-agent');
});

describe.each([
  ['claude-code', 'claude', '@anthropic-ai/claude-code'],
  ['codex', 'codex', '@openai/codex'],
  ['gemini-cli', 'gemini', '@google/gemini-cli'],
])('%s', (agent, program, name) => {
  test('that is not installed is named, with the way to get it', async () => {
    const { reply } = await start(null, { agent, env: { PATH: '/nowhere' } });
    expect(await failureOf(reply)).toMatchObject({
      retry: 'permanent',
      problem: { code: 'agent-missing', agent, program, install: `npm install -g ${name}` },
    });
  });

  test('that ends before it began would do so again', async () => {
    const { reply } = await start('echo "error: unknown option --json" >&2; exit 1', { agent });
    const error = await failureOf(reply);
    expect(error).toMatchObject({ retry: 'permanent', problem: { code: 'agent-failed', agent, exitCode: 1 } });
    expect(JSON.stringify(error.problem)).toContain('unknown option');
  });

  test('that ends without a result has failed, whatever its exit code says', async () => {
    const { reply } = await start(`echo '{"type":"init"}'`, { agent });
    expect(await failureOf(reply)).toMatchObject({
      retry: 'transient',
      problem: {
        code: 'agent-failed',
        agent,
        exitCode: 0,
        detail: expect.stringContaining('without a result') as string,
      },
    });
  });

  test('that is killed may be tried again', async () => {
    const { reply } = await start(`[ "$1" = sandbox ] && exit 0; echo '{"type":"init"}'; kill -KILL $$`, { agent });
    expect(await failureOf(reply)).toMatchObject({
      retry: 'transient',
      problem: { code: 'agent-failed', exitCode: null, signal: 'SIGKILL' },
    });
  });
});

describe('an agent', () => {
  test('that answers without using the gateway has failed', async () => {
    const { reply } = await start(DONE);
    expect(await failureOf(reply)).toMatchObject({
      retry: 'permanent',
      problem: { code: 'agent-unmetered', agent: 'claude-code' },
    });
  });

  test('starts each call without the settings that an earlier one left in its home', async () => {
    const script = `[ -e "$CLAUDE_CONFIG_DIR/settings.json" ] && echo found; mkdir -p "$CLAUDE_CONFIG_DIR"
echo '{"env":{}}' > "$CLAUDE_CONFIG_DIR/settings.json"
${ASKS}
${DONE}`;
    const { place, reply } = await start(script);
    await reply;
    const again = await start(script, { home: join(place, 'home') });
    await again.reply;
    expect(again.lines).not.toContain('found');
  });

  test('is charged for its own calls, not for those before it', async () => {
    const script = (): { text: string; usage: { input: number; output: number } } => ({
      text: 'Hi',
      usage: { input: 1_000, output: 10 },
    });
    const first = await start(`${ASKS}\n${DONE}`, { gateway: { vendor: { script } } });
    await first.reply;
    const { gateway, token } = first.opened;
    const spentUsd = gateway.spentUsd('7');
    const second = await start(`${ASKS}\n${ASKS}\n${DONE}`, {
      endpointOf: (vendor) => gateway.endpointOf(vendor),
      token: new Secret(token),
    });
    const reply = await second.reply;
    expect(reply).toMatchObject({ answered: 'claude-sonnet-4-5', usage: { inputTokens: 2_000, outputTokens: 20 } });
    expect(spentUsd).toBeGreaterThan(0);
    expect(reply.costUsd).toBeCloseTo(2 * spentUsd, 10);
  });

  test('with a model that has no price has no known cost', async () => {
    const { reply } = await start(`${ASKS.replace('claude-sonnet-4-5', 'a-new-model')}\n${DONE}`);
    expect(await reply).toMatchObject({ costUsd: null, answered: 'a-new-model' });
  });

  test('may write events of any length, and lines that are none', async () => {
    const { reply, lines } = await start(
      `echo 'Warning: hello'
printf '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"file_path":"a.ts","content":"'
head -c 300000 /dev/zero | tr '\\0' 'x'; sleep 0.1; head -c 300000 /dev/zero | tr '\\0' 'y'
echo '"}}]}}'
${ASKS}
${DONE}`,
    );
    await reply;
    expect(lines).toEqual(['Warning: hello', 'Write a.ts', 'status 200']);
  });

  test('that prints secrets has them masked in the log, in its words and in its failure', async () => {
    const { reply, lines, opened } = await start(
      `echo "key $ANTHROPIC_API_KEY hunter2"; echo '{"type":"init"}'; echo "$ANTHROPIC_API_KEY hunter2" >&2; exit 1`,
    );
    const error = await failureOf(reply);
    const shown = JSON.stringify([lines, error.problem]);
    expect(shown).toContain('********');
    expect(shown).not.toContain(opened.token);
    expect(shown).not.toContain('hunter2');
  });

  test.runIf(existsSync('/proc'))('leaves nothing running', async () => {
    const { reply, place } = await start(
      `setsid sh -c 'echo $$ > pid; ${FOREVER}' > /dev/null 2>&1 &
while ! [ -s pid ]; do sleep 0.01; done
${ASKS}
${DONE}`,
    );
    await reply;
    const pid = Number(await readFile(join(place, 'worktree', 'pid'), 'utf8'));
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
  });

  test('that neither speaks nor asks is ended as idle', async () => {
    const { reply } = await start(FOREVER, { idleTimeoutMs: 600 });
    expect(await failureOf(reply)).toMatchObject({ retry: 'idle', problem: { code: 'call-idle' } });
  });

  test('that waits for the gateway is not idle, however long', async () => {
    const idleTimeoutMs = 1_500;
    const running = await start(`echo starts; until [ -e go ]; do sleep 0.02; echo waits; done\n${ASKS}\n${DONE}`, {
      idleTimeoutMs,
    });
    running.opened.pool.hold();
    await writeFile(join(running.place, 'worktree', 'go'), '');
    await until(() => running.opened.pool.queued === 1);
    const signsBefore = running.signs;
    await new Promise((resolve) => setTimeout(resolve, 2 * idleTimeoutMs));
    expect(running.signs).toBeGreaterThan(signsBefore);
    running.opened.pool.release();
    expect(await running.reply).toMatchObject({ text: 'All done.' });
  });
});

describe('an agent that the gateway refuses', () => {
  const quota = new AgentosError(
    { code: 'provider-quota', provider: 'anthropic', detail: 'used up', retryAfterMs: 5_000, status: 429 },
    { retry: 'quota' },
  );

  test.each([
    ['quota', { refuse: quota }, 'provider-quota', 'quota'],
    ['budget', { budget: { maxCostUsd: 0.000_001 } }, 'over-budget', 'permanent'],
  ])('for want of %s fails with that, not with its own words', async (_what, gateway, code, retry) => {
    const { reply, lines } = await start(`echo '{"type":"init"}'\n${ASKS}\necho "API Error" >&2; exit 1`, { gateway });
    expect(await failureOf(reply)).toMatchObject({ retry, problem: { code } });
    expect(lines).toContain('API Error');
  });

  test('does not get the time to ask for ever', async () => {
    const { reply } = await start(`${ASKS}\nwhile :; do sleep 0.05; echo again; done`, { gateway: { refuse: quota } });
    expect(await failureOf(reply)).toMatchObject({ retry: 'quota', problem: { code: 'provider-quota' } });
  });

  test('but goes on and comes to an end has not failed', async () => {
    let calls = 0;
    const script = (): { status: number; message: string } | { text: string } =>
      calls++ === 0 ? { status: 400, message: 'no such tool' } : { text: 'Hi' };
    const { reply } = await start(`${ASKS}\n${ASKS}\n${DONE}`, { gateway: { vendor: { script } } });
    expect(await reply).toMatchObject({ text: 'All done.' });
  });

  test('of its last attempt’s sins nothing is left', async () => {
    const first = await start(`${ASKS}\nexit 1`, { gateway: { refuse: quota } });
    await failureOf(first.reply);
    const { gateway, token } = first.opened;
    const second = await start(`echo '{"type":"init"}'; exit 1`, {
      endpointOf: (vendor) => gateway.endpointOf(vendor),
      token: new Secret(token),
    });
    expect(await failureOf(second.reply)).toMatchObject({ retry: 'transient', problem: { code: 'agent-failed' } });
  });
});

describe('Codex', () => {
  const asks = ASKS.replace('ANTHROPIC_BASE_URL + "/v1/messages"', 'ENDPOINT').replace(
    'ANTHROPIC_API_KEY',
    'AGENTOS_TOKEN',
  );
  const TELLS = `printf '%s\\n' "$*" >> calls; cat > /dev/null
ENDPOINT=$(sed -n 's/^base_url = "\\(.*\\)\\/openai\\/v1"/\\1\\/anthropic\\/v1\\/messages/p' "$CODEX_HOME/config.toml"); export ENDPOINT
${asks} 2> /dev/null
echo '{"type":"turn.completed"}'`;
  const argumentsOf = async ({ place }: Started): Promise<string> =>
    await readFile(join(place, 'worktree', 'calls'), 'utf8');

  test('runs its commands in its sandbox', async () => {
    const running = await start(`[ "$1" = sandbox ] && exit 0\n${TELLS}`, { agent: 'codex:gpt-9' });
    await running.reply;
    expect(await argumentsOf(running)).toMatch(/^exec --json .*--sandbox workspace-write .*-m gpt-9 -\n$/);
    expect(running.lines).toEqual([]);
  });

  test('does without where the kernel has none, and says so', async () => {
    const running = await start(`[ "$1" = sandbox ] && exit 1\n${TELLS}`, { agent: 'codex' });
    await running.reply;
    expect(await argumentsOf(running)).toContain('--sandbox danger-full-access');
    expect(running.lines.join()).toContain('without one');
  });

  test('finds the gateway in its settings, and no key', async () => {
    const running = await start(`[ "$1" = sandbox ] && exit 0\n${TELLS}`, { agent: 'codex', caches: '/shared caches' });
    await running.reply;
    const settings = await readFile(join(running.place, 'home', '.codex', 'config.toml'), 'utf8');
    expect(settings).toContain(`base_url = "${running.opened.gateway.endpointOf('openai')}/v1"`);
    expect(settings).not.toContain(running.opened.token);
    expect(settings).toContain(`"${join(running.place, 'home')}", "/shared caches"`);
  });
});
