import { describe, expect, onTestFinished, test } from 'vitest';
import { type AgentName, agentsFolder, hasAgent, type RunningAgent, startAgent } from '../support/agents.ts';
import { testFolder } from '../support/folder.ts';
import { type GatewayUnderTest, openGateway, REAL_KEY, until } from '../support/gateway.ts';
import { processesWith } from '../support/processes.ts';
import type { Answer } from '../support/vendor/index.ts';

const AGENTS: [agent: AgentName, wire: string][] = [
  ['claude', 'anthropic'],
  ['codex', 'openai-responses'],
  ['gemini', 'google'],
];
const TEXT = 'The answer is forty-two.';
const folder = agentsFolder();

/** Null: it is there. */
function whyMissing(agent: AgentName): string | null {
  if (folder === null)
    return 'set AGENTOS_TEST_AGENTS=1 to install it, or AGENTOS_TEST_AGENTS_DIR to the folder where it is';
  return hasAgent(folder, agent) ? null : `${folder} does not hold it`;
}

for (const [agent, wire] of AGENTS) {
  const missing = whyMissing(agent);
  if (missing !== null) process.stderr.write(`${agent} is not tested: ${missing}\n`);
  describe.skipIf(missing !== null)(`${agent} through the gateway`, { timeout: 120_000 }, () => {
    suite(agent, wire);
  });
}

function suite(agent: AgentName, wire: string): void {
  const run = async ({ gateway, token }: GatewayUnderTest): Promise<RunningAgent> => {
    const place = await testFolder();
    const running = await startAgent(agent, {
      folder: folder ?? '',
      gateway,
      token,
      place,
      prompt: 'What is the answer?',
    });
    onTestFinished(() => running.kill());
    return running;
  };

  test('works, is metered, and no process but ours holds the key', async () => {
    const holders: number[] = [];
    const opened = await openGateway({
      vendor: {
        script() {
          holders.push(...processesWith(REAL_KEY));
          return { text: TEXT };
        },
      },
    });
    const { code, stdout } = await (await run(opened)).ended;
    expect(code).toBe(0);
    expect(stdout).toContain(TEXT);
    expect(holders).toEqual([]);
    expect(opened.vendor.calls.length).toBeGreaterThan(0);
    for (const call of opened.vendor.calls) {
      expect(call).toMatchObject({ vendor: wire, key: REAL_KEY, status: 200 });
      expect(JSON.stringify(call.headers)).not.toContain(opened.token);
    }
    const calls = await opened.calls(opened.vendor.calls.length);
    for (const call of calls) {
      expect(call.usage?.outputTokens).toBeGreaterThan(0);
      expect(call.costUsd).toBeGreaterThan(0);
    }
  });

  test('does not notice that one key has no quota left', async () => {
    let served = 0;
    const script = (): Answer => (served++ === 0 ? { status: 429, message: 'Slow down.' } : { text: TEXT });
    const opened = await openGateway({ vendor: { script }, keys: ['key-a', 'key-b'] });
    const { code, stdout, stderr } = await (await run(opened)).ended;
    expect(code).toBe(0);
    expect(stdout).toContain(TEXT);
    expect(stdout + stderr).not.toContain('Slow down.');
    expect(opened.vendor.calls.slice(0, 2).map((call) => call.key)).toEqual(['key-a', 'key-b']);
  });

  test('stays through a long wait for quota, and asks once', async () => {
    const opened = await openGateway({
      vendor: { script: () => ({ text: TEXT }) },
      bounds: { earlyHeadersMs: 50, keepAliveMs: 50 },
    });
    opened.pool.hold();
    const running = await run(opened);
    await until(() => opened.events.some((event) => event.type === 'quota-waiting'));
    // Many keep-alives later, and longer than Codex was told to bear silence.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    opened.pool.release();
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout).toContain(TEXT);
    expect(opened.pool.requests).toHaveLength(1);
    expect(opened.vendor.calls).toHaveLength(1);
  });

  test('gives its place in the queue back when it dies', async () => {
    const opened = await openGateway();
    opened.pool.hold();
    const running = await run(opened);
    await until(() => opened.pool.queued > 0);
    running.kill();
    await running.ended;
    await until(() => opened.pool.queued === 0);
    expect(opened.vendor.calls).toEqual([]);
  });

  test('is told in words that the budget is used up, and ends', async () => {
    const opened = await openGateway({ budget: { maxCostUsd: 0.000_001 } });
    const { code, stdout, stderr } = await (await run(opened)).ended;
    expect(code).not.toBe(0);
    expect(stdout + stderr).toMatch(/budget|cost|limit/i);
    expect(opened.vendor.calls).toEqual([]);
  });
}
