import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { designedRepository } from '../support/implement.ts';
import { type Call, CODE, MODELS_WITH_TOOLS, modelWithTools } from '../support/model-with-tools.ts';
import { vendorEnv } from '../support/models.ts';
import { agentos, startAgentos } from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';
import { type Answer, startVendor, type Vendor } from '../support/vendor/index.ts';

async function scene(script: (call: Call) => Answer): Promise<{
  vendor: Vendor;
  repository: TestRepository;
  options: { cwd: string; env: Record<string, string> };
}> {
  const vendor = await startVendor({ script });
  onTestFinished(() => vendor.close());
  const repository = await designedRepository(['42']);
  return {
    vendor,
    repository,
    options: { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } },
  };
}

test('a plain model writes tests and code with the built-in tools, and its reviewer looks at the branch, paid through the gateway', async () => {
  const { vendor, repository, options } = await scene((call) =>
    call.tools.includes('find_symbol') && call.toolResults.length === 0
      ? { toolCalls: [{ name: 'find_symbol', input: { name: 'item42' } }] }
      : modelWithTools(call),
  );
  const ended = await agentos(['implement', '42', '--json', ...MODELS_WITH_TOOLS], options);
  expect(ended.code, ended.stderr).toBe(0);
  const branch = 'agentos/42-add-a-number';
  expect(`${repository.git('show', `${branch}:src/item-42.js`)}\n`).toBe(CODE);
  // Four rounds for the tests, four for the code, two for the review, which has the change before its eyes all the time.
  expect(vendor.calls).toHaveLength(10);
  const [looked, reviewed] = vendor.calls.slice(-2);
  expect(looked?.text).toContain('<change>');
  expect(reviewed?.text).toContain('<change>');
  expect(reviewed?.toolResults[0]?.text).toContain('src/item-42.js:1: export function item42(value) {');
  const summary = JSON.parse(ended.stdout.trim().split('\n').at(-1) ?? '');
  expect(summary.items[0].costUsd).toBeGreaterThan(0);
  const report = repository.git('show', `${branch}:docs/reports/42.md`);
  expect(report).toContain(
    '| Role | Model | Calls | Uncached input tokens | Cached input tokens | Output tokens | USD |',
  );
  expect(report).toMatch(/^\| implementer \| `anthropic:claude-opus-5` \| 8 \| \d+ \| \d+ \| \d+ \| \d/m);
  const { stdout: done } = await agentos(['logs', '42', '--agent'], options);
  expect(done.match(/^== .*(?=,)/gm)).toEqual(
    ['tests-1', 'code-1'].map((step) => `== ${step} by anthropic:claude-opus-5`),
  );
  expect(done).toMatch(/^> write src\/item-42\.js\n {2}\| export function item42/m);
  expect(repository.git('log', '-1', '--format=%(trailers)', `${branch}~1`)).toBe('Implemented-by: claude-opus-5');
});

/** It fails in other words each time, and leaves a file. */
const RESTLESS_TESTS = `import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { item42 } from '../src/item-42.js';

writeFileSync('left-by-a-test.txt', 'x');
test('010 adds the number', () => assert.equal(item42(1), 43, \`at \${process.hrtime.bigint()} in \${process.cwd()}/\`));
test('020 refuses text', () => assert.throws(() => item42('x'), TypeError));
`;

test('the agent runs the tests while it writes; killed between two rounds, it resumes without paying for one again', async () => {
  const isTests = (call: Call): boolean => /^Write the tests for issue/m.test(call.text);
  const runTests = (files?: string[]): Answer => ({ toolCalls: [{ name: 'run_tests', input: { files } }] });
  const write = (path: string, content: string): Answer => ({
    toolCalls: [{ name: 'write', input: { path, content } }],
  });
  const file = 'test/item-42.test.js';
  let stall: (() => void) | null = null;
  const reached = new Promise<void>((resolve) => {
    stall = resolve;
  });
  const { vendor, repository, options } = await scene((call) => {
    if (!call.tools.includes('write')) return modelWithTools(call);
    const deeds = isTests(call)
      ? [write(file, RESTLESS_TESTS), runTests([file]), runTests(['../x.test.js']), runTests(['src/main.js'])]
      : [write('src/item-42.js', CODE.replace('+', '-')), runTests(), write('src/item-42.js', CODE), runTests()];
    if (!isTests(call) && call.toolResults.length === 2 && stall !== null) {
      stall();
      stall = null;
      return { text: 'Let me think about it.', stallAfterChars: 5 };
    }
    return deeds[call.toolResults.length] ?? { text: 'Done.' };
  });
  const started = startAgentos(['implement', '42', ...MODELS_WITH_TOOLS], options);
  await reached;
  started.child.kill('SIGKILL');
  await once(started.child, 'close');
  // Five rounds for the tests; of the code, two are finished and the third was under way.
  expect(vendor.calls).toHaveLength(8);
  const [red = '', outside = '', noTest = ''] = vendor.calls[4]?.toolResults.slice(1).map(({ text }) => text) ?? [];
  expect(red).toMatch(/0 passed, \d failed|could not be loaded/);
  expect(red).toContain('item-42.js');
  expect(outside).toContain('leads out of the repository');
  expect(noTest).toContain('src/main.js is not the name of a test file');
  const failed = vendor.calls[7]?.toolResults[1]?.text ?? '';
  expect(failed).toMatch(
    /2 passed, 1 failed\.\s+Failed: "010 adds the number" \(test\/item-42\.test\.js\)\s+.*at \d+ in/,
  );
  expect(failed).not.toContain(repository.root);

  const again = await agentos(['implement', '42', '--json', ...MODELS_WITH_TOOLS], options);
  expect(again.code, again.stdout).toBe(0);
  // The third round of the code once more, to the letter; two further ones, and the review.
  expect(vendor.calls).toHaveLength(12);
  expect(vendor.calls[8]?.body).toEqual(vendor.calls[7]?.body);
  expect(vendor.calls[10]?.toolResults[3]?.text).toContain('3 passed, 0 failed.');
  const ran = again.stdout
    .trim()
    .split('\n')
    .map((line): { type: string; step: string } => JSON.parse(line))
    .filter(({ type }) => type === 'tests-ran');
  expect(ran.map(({ step }) => step)).toEqual(['code-1-run-2', 'green-1', 'reverse-1']);
  const branch = 'agentos/42-add-a-number';
  expect(`${repository.git('show', `${branch}:src/item-42.js`)}\n`).toBe(CODE);
  expect(repository.git('ls-tree', '-r', '--name-only', branch)).not.toContain('left-by-a-test');
});

test('an agent that never comes to an end is ended by its bound of rounds', async () => {
  const { vendor, repository, options } = await scene((call) =>
    /review implementations|code review|review the change|reviews? code/i.test(call.system)
      ? modelWithTools(call)
      : { toolCalls: [{ name: 'list', input: {} }] },
  );
  await repository.write('agentos.yaml', 'implement: { maxAgentRounds: 5 }\n');
  const ended = await agentos(['implement', '42', ...MODELS_WITH_TOOLS], options);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toContain('was not done after 5 rounds');
  expect(vendor.calls).toHaveLength(5);
});

test('money ends an item before it costs more, and a higher bound goes on', async () => {
  const { vendor, options } = await scene((call) => ({
    ...modelWithTools(call),
    usage: { input: 100_000, output: 100 },
  }));
  const ended = await agentos(['implement', '42', '--max-cost-per-item', '1.5', ...MODELS_WITH_TOOLS], options);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toContain('over-budget');
  const paid = vendor.calls.length;
  // What it had paid for before counts, also within the call of the agent that it is in.
  const same = await agentos(['implement', '42', '--max-cost-per-item', '1.5', ...MODELS_WITH_TOOLS], options);
  expect(same.stdout).toContain('over-budget');
  expect(vendor.calls).toHaveLength(paid);
  expect((await agentos(['implement', '42', '--max-cost-per-item', '100', ...MODELS_WITH_TOOLS], options)).code).toBe(
    0,
  );
  expect(vendor.calls.length).toBe(9);
  expect(paid).toBeLessThan(9);
});
