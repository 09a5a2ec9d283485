import { readFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Summary } from '../../src/core/summary.ts';
import {
  AGENTS_UNDER_TEST,
  type AgentUnderTest,
  agentScript,
  type Deed,
  pathWithAgents,
  whyAgentMissing,
} from '../support/agent-scripts.ts';
import { designedRepository, reviewerSaying } from '../support/implement.ts';
import { vendorEnv } from '../support/models.ts';
import { agentos } from '../support/program.ts';
import { startVendor } from '../support/vendor/index.ts';

const TESTS = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item42 } from '../src/item-42.js';

test('010 adds the number', () => assert.equal(item42(1), 43));
test('020 refuses text', () => assert.throws(() => item42('x'), TypeError));
`;
const CODE = `export function item42(value) {
  if (typeof value !== 'number') throw new TypeError('not a number');
  return value + 42;
}
`;

/** What a model would do with the task that it is given. */
function deedOf({ text }: { text: string }): Deed {
  if (/^Write the tests for issue/m.test(text)) return { files: { 'test/item-42.test.js': TESTS }, words: 'Tests.' };
  return { files: { 'src/item-42.js': CODE }, commands: ['node --test'], words: 'Code.' };
}

for (const agent of AGENTS_UNDER_TEST) {
  const missing = whyAgentMissing(agent);
  if (missing !== null) process.stderr.write(`${agent.spec} is not tested as an implementer: ${missing}\n`);
  describe.skipIf(missing !== null)(
    `agentos implement with the real ${agent.program} as ${agent.spec}`,
    { timeout: 180_000 },
    () => {
      suite(agent);
    },
  );
}

function suite(agent: AgentUnderTest): void {
  const { spec, model } = agent;
  test('turns an approved LLD into a tested branch, paid through the gateway', async () => {
    const vendor = await startVendor({ script: agentScript(agent, deedOf) });
    onTestFinished(() => vendor.close());
    const repository = await designedRepository(['42']);
    const reviewer = await reviewerSaying(repository, 'APPROVED');
    const ended = await agentos(['implement', '42', '--implementer', `${spec}:${model}`, '--reviewer', reviewer], {
      cwd: repository.root,
      env: { ...vendorEnv(vendor.url), HOME: repository.home, PATH: pathWithAgents() },
    });
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);

    const branch = repository.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/agentos/').trim();
    expect(branch).toMatch(/^agentos\/42-/);
    expect(repository.git('show', `${branch}:test/item-42.test.js`).trim()).toBe(TESTS.trim());
    expect(repository.git('show', `${branch}:src/item-42.js`).trim()).toBe(CODE.trim());
    expect(ended.stdout).toContain('[IMPL-42] On with it.');

    const [run] = (await repository.list('.agentos/runs')).toReversed();
    const summary = JSON.parse(
      await readFile(`${repository.root}/.agentos/runs/${run}/summary.json`, 'utf8'),
    ) as Summary;
    const [item] = summary.items;
    const outputTokens = vendor.calls.reduce((sum, call) => sum + (call.usage?.output ?? 0), 0);
    expect(item?.usage.outputTokens).toBe(outputTokens);
    expect(vendor.calls.length).toBeGreaterThan(3);
    expect(vendor.calls.every((call) => call.status === 200)).toBe(true);
  });
}
