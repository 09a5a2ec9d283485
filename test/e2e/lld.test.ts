import { mkdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { approve } from '../support/implement.ts';
import { ISSUE, issueOf, lldFor, review, roundOf, script, vendorEnv } from '../support/models.ts';
import { agentos, startAgentos } from '../support/program.ts';
import { repositoryIn, type TestRepository, testRepository } from '../support/repository.ts';
import { shared } from '../support/shared.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

async function vendorWith(options: VendorOptions): Promise<Vendor> {
  const vendor = await startVendor(options);
  onTestFinished(() => vendor.close());
  return vendor;
}

function envOf(vendor: Vendor, repository: TestRepository): { cwd: string; env: Record<string, string> } {
  return { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };
}

const CLAUDE_AND_GEMINI = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];

const approvedRun = shared(async ({ folder, onEnd }) => {
  const vendor = await startVendor({ script: script() });
  onEnd(() => vendor.close());
  const repository = await repositoryIn(folder, { 42: ISSUE });
  const ended = await agentos(['lld', '42', ...CLAUDE_AND_GEMINI], envOf(vendor, repository));
  return { vendor, repository, ended };
});

test('an issue becomes an approved LLD with front matter and numbered lineage, and the checkpoint is removed', async () => {
  const { vendor, repository, ended } = await approvedRun();
  const { code, stdout } = ended;
  expect(code).toBe(0);
  const lld = await repository.read('docs/lld/LLD-42.md');
  expect(lld).toMatch(/^---\nissue: 42\n/);
  expect(lld).toContain('status: approved');
  expect(lld).toContain('reviewer: google:gemini-3-pro-preview');
  expect(lld).toContain('rounds: 1');
  expect(lld).toMatch(/issueHash: [0-9a-f]{64}/);
  expect(lld).toMatch(/bodyHash: [0-9a-f]{64}/);
  expect(lld).toContain('**Status:** Approved');
  expect(await repository.list('docs/lineage/42')).toEqual([
    '001-issue.md',
    '002-draft.md',
    '003-verdict.md',
    '004-final.md',
  ]);
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);
  // For the next plan of implementations.
  expect(JSON.parse(await repository.read('.agentos/caches/designs.jsonl'))).toMatchObject({
    files: ['src/item-42.js', 'test/item-42.test.js'],
    after: [],
  });
  expect(vendor.calls.map((call) => call.vendor)).toEqual(['anthropic', 'google']);
  expect(stdout).toMatch(/^\[LLD-42\] /m);
  expect(await repository.read('.agentos/.gitignore')).toBe('*\n');
  expect(repository.git('status', '--short', '.agentos')).toBe('');
  expect(await repository.list('../home')).toEqual([]);
});

test('the run leaves its record, events, summary, log and audit', async () => {
  const { repository } = await approvedRun();
  const [run = '', ...others] = await repository.list('.agentos/runs');
  expect(others).toEqual([]);
  const files = await repository.list(`.agentos/runs/${run}`);
  expect(files).toEqual(['audit', 'events.jsonl', 'logs', 'run.json', 'summary.json']);
  const summary = JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`));
  expect(summary).toMatchObject({
    runId: run,
    workflow: 'lld',
    parallel: 1,
    retryCommand: null,
    counts: { total: 1, succeeded: 1 },
  });
  expect(summary.items[0]).toMatchObject({ id: '42', status: 'succeeded', attempts: 1, error: null });
  expect(summary.items[0].usage.inputTokens).toBeGreaterThan(0);
  expect(summary.items[0].costUsd).toBeGreaterThan(0);
  expect(summary.items[0].outputs).toContain('docs/lld/LLD-42.md');
  expect(await repository.read(`.agentos/runs/${run}/logs/lld-42.log`)).toContain('review 1: APPROVED');
  const audit = await repository.read(`.agentos/runs/${run}/audit/lld-42.jsonl`);
  expect(audit.split('\n').filter((line) => line.includes('"model-answered"'))).toHaveLength(2);
});

test('the reviewer is shown which approved designs touch the same code, the same ones after a resume', async () => {
  let refuses = true;
  const answer = script();
  const vendor = await vendorWith({
    script: (call) => (refuses && call.vendor === 'google' ? { status: 400, message: 'not now' } : answer(call)),
  });
  const repository = await testRepository({ 42: ISSUE });
  const near = (id: string): string =>
    lldFor(id).replace('| `src/item-', '| `src/item-42.js` | Modify | `item42` takes text |\n| `src/item-');
  await approve(repository, '43', near('43'));
  const args = ['lld', '42', ...CLAUDE_AND_GEMINI];
  expect((await agentos(args, envOf(vendor, repository))).code).toBe(1);
  refuses = false;
  await approve(repository, '44', near('44'));
  const { code, stdout } = await agentos(args, envOf(vendor, repository));
  expect(code, stdout).toBe(0);
  expect(vendor.calls.map((call) => call.vendor)).toEqual(['anthropic', 'google', 'google']);
  const [draft, first, second] = vendor.calls.map((call) => call.text);
  expect(draft).not.toContain('<other-designs>');
  expect(first).toMatch(
    /- LLD-43: changes src\/item-42\.js too; both change item42 in .*; uses what this one adds: src/,
  );
  expect(second).toBe(first);
});

test('the lineage has one draft and one verdict of each round, also over a resume; the rest is in the audit', async () => {
  const broken = lldFor('42').replace('| REQ-2 |', '| REQ-9 |');
  const revise = review({
    verdict: 'REVISE',
    tier2: ['**Missing bound:** Section 2.6 says nothing of the largest value.'],
  });
  const vendor = await vendorWith({
    script: script({
      draft: () => broken,
      revise: () => broken.replace('no state.', 'no state, revised.'),
      review: (call) =>
        call.text.includes('<your-review>')
          ? revise
          : roundOf(call) === 1
            ? 'I could not make up my mind.'
            : review({ verdict: 'APPROVED' }),
    }),
  });
  const repository = await testRepository({ 42: ISSUE });
  const run = (rounds: string) =>
    agentos(['lld', '42', '--max-rounds', rounds, ...CLAUDE_AND_GEMINI], envOf(vendor, repository));
  expect((await run('1')).code).toBe(3);
  expect(await repository.list('docs/lineage/42')).toEqual(['001-issue.md', '002-draft.md', '003-verdict.md']);
  const [runId = ''] = await repository.list('.agentos/runs');
  const audit = (await repository.read(`.agentos/runs/${runId}/audit/lld-42.jsonl`)).trim().split('\n');
  expect(audit.map((line) => JSON.parse(line)).filter(({ type }) => type === 'set-aside')).toEqual([
    expect.objectContaining({ what: 'draft', round: 1, text: broken }),
    expect.objectContaining({ what: 'verdict', round: 1, text: 'I could not make up my mind.' }),
  ]);

  expect((await run('2')).code).toBe(0);
  expect(vendor.calls).toHaveLength(7);
  expect(await repository.list('docs/lineage/42')).toEqual([
    '001-issue.md',
    '002-draft.md',
    '003-verdict.md',
    '004-draft.md',
    '005-verdict.md',
    '006-final.md',
  ]);
  expect(await repository.read('docs/lineage/42/002-draft.md')).toBe(lldFor('42'));
  expect(await repository.read('docs/lineage/42/003-verdict.md')).toBe(revise);
});

test('--all takes what is pending: approved issues are passed over until their text changes', async () => {
  const vendor = await vendorWith({ script: script() });
  const repository = await testRepository({ 42: ISSUE, 43: ISSUE, README: 'not an issue' });
  const env = envOf(vendor, repository);
  await approve(repository, '42', lldFor('42'));
  expect((await agentos(['lld', '--all', ...CLAUDE_AND_GEMINI], env)).code).toBe(0);
  expect(vendor.calls.map((call) => [call.vendor, issueOf(call)])).toEqual([
    ['anthropic', '43'],
    ['google', '43'],
  ]);
  expect(await repository.list('docs/lld')).toEqual(['LLD-42.md', 'LLD-43.md']);
  const nothing = await agentos(['lld', '--all', ...CLAUDE_AND_GEMINI], env);
  expect(nothing).toMatchObject({ code: 0 });
  expect(nothing.stdout).toContain('Nothing to do');
  await repository.write('issues/43.md', `${ISSUE}\n- One more criterion.\n`);
  await agentos(['lld', '--all', ...CLAUDE_AND_GEMINI], env);
  expect(vendor.calls).toHaveLength(4);
  expect((await repository.list('docs/lineage/43')).filter((name) => name.endsWith('-final.md'))).toHaveLength(2);
});

test('an LLD that can’t be read fails its item: it is neither drafted nor replaced', async () => {
  const vendor = await vendorWith({ script: script() });
  const repository = await testRepository({ 42: ISSUE });
  const path = join(repository.root, 'docs/lld/LLD-42.md');
  mkdirSync(join(path, '..'), { recursive: true });
  symlinkSync('LLD-42.md', path);
  const { code, stdout } = await agentos(['lld', '42', ...CLAUDE_AND_GEMINI], envOf(vendor, repository));
  expect(stdout).toContain("LLD-42.md can't be read");
  expect(code).toBe(1);
  expect(vendor.calls).toEqual([]);
  expect(readlinkSync(path)).toBe('LLD-42.md');
});

const openaiRun = shared(async ({ folder, onEnd }) => {
  const vendor = await startVendor({
    script: (call) => (call.system.includes('pirate') ? { text: lldFor('42') } : script()(call)),
  });
  onEnd(() => vendor.close());
  const repository = await repositoryIn(folder, { 42: ISSUE });
  await repository.write('agentos.yaml', `endpoints:\n  openai-compatible: ${vendor.url}/v1\n`);
  await repository.write('agentos/prompts/drafter.md', 'Write like a pirate architect.');
  const models = ['--drafter', 'openai:gpt-5', '--reviewer', 'openai-compatible:qwen3-coder'];
  const { code } = await agentos(['lld', '42', '--trust', ...models], envOf(vendor, repository));
  return { vendor, code };
});

test('openai and openai-compatible models work through their own wire formats', async () => {
  const { vendor, code } = await openaiRun();
  expect(code).toBe(0);
  expect(vendor.calls.map((call) => call.vendor)).toEqual(['openai-responses', 'openai-chat']);
});

test('a prompt of the repository takes the place of the built-in one', async () => {
  const { vendor } = await openaiRun();
  expect(vendor.calls[0]?.system).toContain('pirate');
});

test('an overloaded vendor is asked again, within the bound, and only for the step that failed', async () => {
  let reviews = 0;
  const vendor = await vendorWith({
    script: script({
      review: () => {
        reviews += 1;
        return reviews === 1
          ? { status: 529, type: 'overloaded_error', message: 'Overloaded' }
          : review({ verdict: 'APPROVED' });
      },
    }),
  });
  const repository = await testRepository({ 42: ISSUE });
  const models = ['--drafter', 'google:gemini-3-pro-preview', '--reviewer', 'anthropic:claude-opus-5'];
  expect((await agentos(['lld', '42', ...models], envOf(vendor, repository))).code).toBe(0);
  expect(vendor.calls.map((call) => call.vendor)).toEqual(['google', 'anthropic', 'anthropic']);
});

test('a rejected key fails the item once, says so, and leaves nothing half-written', async () => {
  const vendor = await vendorWith({ keys: ['another-key-entirely'], script: script() });
  const repository = await testRepository({ 42: ISSUE });
  const { code, stdout } = await agentos(['lld', '42', ...CLAUDE_AND_GEMINI], envOf(vendor, repository));
  expect(code).toBe(1);
  expect(stdout).toContain('does not accept the key');
  expect(vendor.calls).toHaveLength(1);
  expect(await repository.list('docs/lld')).toEqual([]);
});

test('a quota that does not come back in time is a pause with exit code 75, and the next run goes on', async () => {
  let full = true;
  const vendor = await vendorWith({
    script: script({
      review: () =>
        full
          ? { status: 429, type: 'rate_limit_error', message: 'Later', retryAfter: 3_600 }
          : review({ verdict: 'APPROVED' }),
    }),
  });
  const repository = await testRepository({ 42: ISSUE });
  const models = ['--drafter', 'openai:gpt-5', '--reviewer', 'anthropic:claude-opus-5', '--timeout', '30m'];
  expect((await agentos(['lld', '42', ...models], envOf(vendor, repository))).code).toBe(75);
  full = false;
  expect((await agentos(['lld', '42', ...models], envOf(vendor, repository))).code).toBe(0);
  expect(vendor.calls.map((call) => call.vendor)).toEqual(['openai-responses', 'anthropic', 'anthropic']);
});

test('two runs on one item at the same time: the second is told who has it, and SIGTERM ends the first with 143', async () => {
  const vendor = await vendorWith({ script: script({ draft: () => ({ text: lldFor('42'), stallAfterChars: 10 }) }) });
  const repository = await testRepository({ 42: ISSUE });
  const first = startAgentos(['lld', '42', ...CLAUDE_AND_GEMINI], envOf(vendor, repository));
  await vendor.waitForCalls(1);
  const second = await agentos(['lld', '42', ...CLAUDE_AND_GEMINI], envOf(vendor, repository));
  expect(second.code).toBe(1);
  expect(second.stdout).toContain(`process ${first.child.pid}`);
  expect(vendor.calls).toHaveLength(1);
  first.child.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 143, signal: null });
});

test('Ctrl+C in a call ends with 130 at once, and the same command goes on without a finished call', async () => {
  const vendor = await vendorWith({
    script: script({ review: () => ({ text: review({ verdict: 'APPROVED' }), stallAfterChars: 40 }) }),
  });
  const repository = await testRepository({ 42: ISSUE });
  const program = startAgentos(['lld', '42', ...CLAUDE_AND_GEMINI], envOf(vendor, repository));
  await vendor.waitForCalls(2);
  program.child.kill('SIGINT');
  const { code, signal, stdout } = await program.ended;
  expect({ code, signal }).toEqual({ code: 130, signal: null });
  expect(stdout).toContain('cancelled');
  expect(await repository.list('.agentos/locks')).toEqual([]);

  const healthy = await vendorWith({ script: script() });
  expect((await agentos(['lld', '42', ...CLAUDE_AND_GEMINI], envOf(healthy, repository))).code).toBe(0);
  expect(healthy.calls.map((call) => call.vendor)).toEqual(['google']);
});

test('keys appear in no output, log, lineage, checkpoint or error, even if the vendor echoes them', async () => {
  const key = 'sk-ant-very-secret-0123456789';
  const vendor = await vendorWith({
    script: script({
      draft: () => lldFor('42').replace('no state.', `no state ${key}.`),
      review: () => ({ status: 400, type: 'invalid_request_error', message: `bad key ${key}` }),
    }),
  });
  const repository = await testRepository({ 42: ISSUE });
  const { stdout, stderr } = await agentos(['lld', '42', '--verbose', ...CLAUDE_AND_GEMINI], {
    cwd: repository.root,
    env: { ...vendorEnv(vendor.url, key), HOME: repository.home },
  });
  expect(vendor.calls[0]?.key).toBe(key);
  expect(stdout + stderr).not.toContain(key);
  const found = repository.git('ls-files', '--others', '--ignored', '--exclude-standard', '--', '.agentos').split('\n');
  const untracked = repository.git('ls-files', '--others', '--exclude-standard').split('\n');
  expect(found.length).toBeGreaterThan(3);
  for (const file of [...found, ...untracked]) {
    expect(readFileSync(join(repository.root, file.replace(/^"|"$/g, ''))).includes(key), file).toBe(false);
  }
});

test('the cost limit of an item stops it before the next call, as over-budget', async () => {
  const vendor = await vendorWith({ script: script() });
  const repository = await testRepository({ 42: ISSUE });
  const { code, stdout } = await agentos(
    ['lld', '42', '--max-cost-per-item', '0.0001', ...CLAUDE_AND_GEMINI],
    envOf(vendor, repository),
  );
  expect(code).toBe(1);
  expect(stdout).toContain('over-budget');
  expect(vendor.calls).toHaveLength(0);
});

test('a call without a sign of life is ended by the idle bound and its item is stalled', async () => {
  // The first falls silent, the second never begins.
  const answers = [{ text: lldFor('42'), stallAfterChars: 10 }, { latencyMs: 3_600_000 }];
  const vendor = await vendorWith({ script: script({ draft: () => answers.shift() ?? {} }) });
  const repository = await testRepository({ 42: ISSUE });
  const bounds = ['--idle-timeout', '2s', '--max-retries', '1'];
  const { code, stdout } = await agentos(['lld', '42', ...bounds, ...CLAUDE_AND_GEMINI], envOf(vendor, repository));
  expect(code).toBe(1);
  expect(stdout).toMatch(/^42 +stalled .* call-idle$/m);
  expect(vendor.calls).toHaveLength(2);
});

test('the time bound of an item ends it as timed-out', async () => {
  const vendor = await vendorWith({ script: script({ draft: () => ({ text: lldFor('42'), stallAfterChars: 10 }) }) });
  const repository = await testRepository({ 42: ISSUE });
  const { code, stdout } = await agentos(
    ['lld', '42', '--timeout', '1s', ...CLAUDE_AND_GEMINI],
    envOf(vendor, repository),
  );
  expect(code).toBe(1);
  expect(stdout).toContain('timed-out');
});
