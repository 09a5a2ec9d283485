import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Summary } from '../../src/core/summary.ts';
import {
  AGENTS_UNDER_TEST,
  type AgentUnderTest,
  agentScript,
  pathWithAgents,
  whyAgentMissing,
} from '../support/agent-scripts.ts';
import { designedRepository, implementer } from '../support/implement.ts';
import { ISSUE, lldFor, review, taskOf, vendorEnv } from '../support/models.ts';
import { agentos, PROJECT, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const APPROVED = review({ verdict: 'APPROVED' });

/** A folder outside of the repository for what scripts write down. */
async function notesOf(repository: TestRepository): Promise<{ folder: string; read(name: string): Promise<string> }> {
  const folder = join(repository.home, '..', 'notes');
  await mkdir(folder);
  await writeFile(join(folder, 'lld.md'), lldFor('42'));
  await writeFile(join(folder, 'review.md'), APPROVED);
  return { folder, read: async (name) => (await readFile(join(folder, name), 'utf8')).trim() };
}

async function vendorWith(script: NonNullable<VendorOptions['script']>): Promise<Vendor> {
  const vendor = await startVendor({ script });
  onTestFinished(() => vendor.close());
  return vendor;
}

async function summaryOf(repository: TestRepository): Promise<Summary> {
  const [run] = (await repository.list('.agentos/runs')).toReversed();
  return JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`)) as Summary;
}

/** No worktree but the user's own, and nothing of ours where they were. */
async function expectNoWorktree(repository: TestRepository): Promise<void> {
  expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(await repository.list(join(repository.work, 'worktrees'))).toEqual([]);
  expect(await repository.list(join(repository.work, 'worktree-state'))).toEqual([]);
}

describe('commands as drafter and reviewer', () => {
  test('work in a worktree at the base commit, without keys; what one writes there, the other does not see', async () => {
    const repository = await testRepository({ 42: ISSUE });
    const notes = await notesOf(repository);
    await repository.write('src/main.js', 'export const answer = 0; // not committed\n');
    await repository.write('local.txt', 'not committed');
    const drafter = [
      `cat > '${notes.folder}/prompt'`,
      `env > '${notes.folder}/env'; pwd > '${notes.folder}/pwd'; git rev-parse HEAD > '${notes.folder}/head'`,
      `cat src/main.js > '${notes.folder}/main'; ls > '${notes.folder}/files'`,
      'echo 1 > scratch.txt; echo 2 > src/main.js; git checkout --quiet --orphan other',
      `mkdir locked && echo 3 > locked/file && chmod 555 locked; echo drafting >&2; cat '${notes.folder}/lld.md'`,
    ].join('; ');
    const reviewer = [
      `git status --short > '${notes.folder}/status'; git rev-parse --abbrev-ref HEAD > '${notes.folder}/branch'`,
      `cat src/main.js > '${notes.folder}/main-2'; cat '${notes.folder}/review.md'`,
    ].join('; ');
    const models = ['--drafter', `command:${drafter}`, '--reviewer', `command:${reviewer}`, ...WITHOUT_SANDBOX];
    const ended = await agentos(['lld', '42', ...models], {
      cwd: repository.root,
      env: { HOME: repository.home, ANTHROPIC_API_KEY: 'sk-must-not-be-seen' },
    });
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(await notes.read('prompt')).toContain('Add a number');
    expect(await notes.read('env')).not.toContain('sk-must-not-be-seen');
    expect(await notes.read('pwd')).toContain('/worktrees/reading-');
    expect(await notes.read('head')).toBe(repository.git('rev-parse', 'HEAD'));
    expect(await notes.read('files')).toBe('issues\nsrc\ntest');
    expect([await notes.read('main'), await notes.read('main-2')]).toEqual(Array(2).fill('export const answer = 42;'));
    expect([await notes.read('status'), await notes.read('branch')]).toEqual(['', 'HEAD']);
    expect(ended.stdout).toContain('[LLD-42] drafting');
    expect(ended.stdout).toMatch(/discarded: .*scratch\.txt/);
    expect(await repository.read('src/main.js')).toContain('not committed');
    await expectNoWorktree(repository);
  });

  test('fail the item with a new file in the checkout, which stays; the paid draft is not asked for again', async () => {
    const repository = await testRepository({ 42: ISSUE });
    const notes = await notesOf(repository);
    const drafter = `command:echo x >> '${repository.root}/stray.txt'; cat '${notes.folder}/lld.md'`;
    const reviewer = `command:cat '${notes.folder}/review.md'`;
    const models = ['--drafter', drafter, '--reviewer', reviewer, ...WITHOUT_SANDBOX];
    const place = { cwd: repository.root, env: { HOME: repository.home } };
    const first = await agentos(['lld', '42', ...models], place);
    expect(first.code).toBe(1);
    expect(first.stdout).toContain('stray.txt');
    expect((await agentos(['lld', '42', ...models], place)).code).toBe(0);
    expect(await repository.read('stray.txt')).toBe('x\n');
  });

  test('leave a worktree behind when everything is killed, which the next run removes', async () => {
    const repository = await testRepository({ 42: ISSUE });
    const notes = await notesOf(repository);
    const reviewer = `command:cat '${notes.folder}/review.md'`;
    const place = { cwd: repository.root, env: { HOME: repository.home } };
    const program = startAgentos(
      ['lld', '42', '--drafter', 'command:echo wai""ts >&2; sleep 60', '--reviewer', reviewer],
      place,
    );
    await program.printed('waits');
    program.child.kill('SIGKILL');
    await program.ended;
    expect(repository.git('worktree', 'list').split('\n')).toHaveLength(2);
    const cleaned = await agentos(['clean', '--dry-run'], place);
    expect(cleaned.stdout).toMatch(/reading-1\b.*nothing in it is needed/);
    const { code } = await agentos(
      ['lld', '42', '--drafter', `command:cat '${notes.folder}/lld.md'`, '--reviewer', reviewer],
      place,
    );
    expect(code).toBe(0);
    await expectNoWorktree(repository);
  });

  test('review the code of an implementation in its state, with the base as HEAD', async () => {
    const repository = await designedRepository(['42']);
    const notes = await notesOf(repository);
    const reviewer = `command:git diff --stat HEAD > '${notes.folder}/diff'; cat '${notes.folder}/review.md'`;
    const models = ['--implementer', implementer(), '--reviewer', reviewer, ...WITHOUT_SANDBOX];
    const ended = await agentos(['implement', '42', ...models], {
      cwd: repository.root,
      env: { HOME: repository.home },
    });
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(await notes.read('diff')).toMatch(/src\/item-42\.js.*test\/item-42\.test\.js/s);
    await expectNoWorktree(repository);
  });
});

/**
 * In the agent's place: asks the gateway, and hands on the answer as its last message. Like the real one it takes the
 * repository's settings unless it is told to take the user's only, and reads no guide of the repository then.
 */
const CLAUDE = `#!/usr/bin/env node
const fs = require('node:fs');
const prompt = fs.readFileSync(0, 'utf8');
const sources = process.argv[process.argv.indexOf('--setting-sources') + 1];
if (sources !== 'user') Object.assign(process.env, JSON.parse(fs.readFileSync('.claude/settings.json', 'utf8')).env);
const key = { 'x-api-key': process.env.ANTHROPIC_API_KEY };
const ask = async (url, model) => (await fetch(url, { method: 'POST', headers: key, body: JSON.stringify({ ...body, model, max_tokens: 9 }) })).status;
const say = (event) => console.log(JSON.stringify(event));
fs.appendFileSync(process.env.NOTES + '/calls', JSON.stringify({ args: process.argv.slice(2), env: process.env }) + '\\n');
const body = { model: 'claude-sonnet-4-5', max_tokens: 100, system: process.argv.at(-1), messages: [{ role: 'user', content: prompt }] };
fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', {
  method: 'POST', headers: key, body: JSON.stringify(body),
}).then(async (response) => {
  const openai = process.env.ANTHROPIC_BASE_URL.replace(/anthropic$/, 'openai') + '/v1/chat/completions';
  const statuses = [await ask(process.env.ANTHROPIC_BASE_URL + '/v1/messages', 'claude-haiku-4-5'), await ask(openai, 'gpt-5')];
  fs.writeFileSync(process.env.NOTES + '/statuses', statuses.join());
  const { content, error } = await response.json();
  if (error) return say({ type: 'result', subtype: 'success', is_error: true, result: error.message });
  const text = content[0].text;
  say({ type: 'assistant', message: { content: [{ type: 'tool_use', name: 'Read', input: { file_path: 'src/main.js' } }] } });
  say({ type: 'user', message: { content: [{ type: 'tool_result', content: 'answer = 42; ' + key['x-api-key'] }] } });
  say({ type: 'assistant', message: { content: [{ type: 'text', text }] } });
  say({ type: 'result', subtype: 'success', is_error: false, result: text });
});
`;

describe('an agent as drafter and reviewer', () => {
  test('answers through the gateway with its last message; a quota is a pause; nothing of the document is log', async () => {
    let full = true;
    const vendor = await vendorWith((call) => {
      if (taskOf(call) !== 'review') return { text: lldFor('42') };
      return full ? { status: 429, type: 'rate_limit_error', message: 'Later', retryAfter: 3_600 } : { text: APPROVED };
    });
    const repository = await testRepository({ 42: ISSUE });
    const notes = await notesOf(repository);
    const bin = join(repository.home, '..', 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'claude'), CLAUDE);
    await chmod(join(bin, 'claude'), 0o755);
    await repository.write('agentos.yaml', 'passEnvironment: [NOTES]\n');
    await repository.write('.claude/settings.json', JSON.stringify({ env: { ANTHROPIC_BASE_URL: vendor.url } }));
    await repository.write('AGENTS.md', 'AGENTS-RULE\n');
    repository.git('add', '.');
    repository.git('commit', '--quiet', '-m', 'Settings');
    const env = {
      ...vendorEnv(vendor.url),
      HOME: repository.home,
      NOTES: notes.folder,
      PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
    };
    const models = ['--drafter', 'claude-code:claude-sonnet-4-5', '--reviewer', 'claude-code', ...WITHOUT_SANDBOX];
    const args = ['lld', '42', '--trust', ...models];
    const first = await agentos(args, { cwd: repository.root, env });
    expect(first.code, first.stdout + first.stderr).toBe(75);
    expect(first.stdout).toContain('[LLD-42] Read src/main.js');
    expect(first.stdout).not.toContain('Acceptance');
    full = false;
    const second = await agentos(args, { cwd: repository.root, env });
    expect(second.code, second.stdout + second.stderr).toBe(0);

    const [item] = (await summaryOf(repository)).items;
    expect(item?.costUsd).toBeGreaterThan(0);
    const [answer, helper] = vendor.calls.slice(-2);
    expect(item?.usage.outputTokens).toBe((answer?.usage?.output ?? 0) + (helper?.usage?.output ?? 0));
    const drafts = vendor.calls.filter((call) => taskOf(call) === 'draft' && call.model === 'claude-sonnet-4-5');
    expect(drafts).toHaveLength(1);
    const calls = (await notes.read('calls')).split('\n').map((line) => JSON.parse(line) as { args: string[] });
    expect(calls[0]?.args).toEqual(expect.arrayContaining(['--tools', 'Read,Grep,Glob']) as string[]);
    expect(JSON.stringify(calls)).not.toContain(
      Object.values(vendorEnv(vendor.url)).find((value) => /key/.test(value)),
    );
    expect(await repository.list(join(repository.work, 'homes'))).toEqual([]);
    await expectNoWorktree(repository);

    // Nothing went past the gateway, and its token is good for the models of this item.
    expect(new Set(vendor.calls.map(({ key }) => key)).size).toBe(1);
    expect(await notes.read('statuses')).toBe('200,403');
    expect(calls[0]?.args.at(-1)).toContain('AGENTS-RULE');
    const logged = await agentos(['logs', '42', '--agent'], { cwd: repository.root, env });
    expect(logged.stdout.split('\n')[0]).toMatch(/^== review-1 by claude-code, /);
    expect(logged.stdout).toContain('> Read src/main.js\n  < answer = 42; ********\n');
    expect(logged.stdout).toMatch(/APPROVED[^]*\n== ended with exit code 0\n$/);
    const [run] = (await repository.list('.agentos/runs')).toReversed();
    expect(await repository.list(`.agentos/runs/${run}/transcripts/lld-42`)).toEqual(['001-review-1.jsonl.gz']);
  });

  test('that answers without using the gateway fails the item', async () => {
    const repository = await testRepository({ 42: ISSUE });
    const bin = join(repository.home, '..', 'bin');
    await mkdir(bin);
    const event = JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'An answer.' });
    await writeFile(join(bin, 'claude'), `#!/bin/sh\necho '${event}'\n`);
    await chmod(join(bin, 'claude'), 0o755);
    const PATH = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
    const env = { ...vendorEnv('http://127.0.0.1:9'), HOME: repository.home, PATH };
    const args = ['lld', '42', '--drafter', 'claude-code', '--reviewer', 'claude-code'];
    const { code, stdout } = await agentos(args, { cwd: repository.root, env });
    expect(code).toBe(1);
    expect(stdout).toContain('claude-code did not use the gateway, so its answer is rejected');
  });

  test('that is not installed is named before anything starts', async () => {
    const repository = await testRepository({ 42: ISSUE });
    const env = { ...vendorEnv('http://127.0.0.1:9'), HOME: repository.home };
    const args = ['lld', '42', '--drafter', 'openai:gpt-5', '--reviewer', 'codex'];
    const { code, stderr } = await agentos(args, { cwd: repository.root, env });
    expect(code).toBe(2);
    expect(stderr).toContain('npm install -g @openai/codex');
  });
});

/** What an agent wrote down, a JSON line each. */
async function noted(file: string): Promise<Record<string, unknown>[]> {
  return (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('an agent that speaks ACP', () => {
  const ACP_AGENT = join(PROJECT, 'test', 'support', 'acp-agent.mjs');
  const decisions = (notes: Record<string, unknown>[]): unknown[] =>
    notes.filter((entry) => 'allowed' in entry).map((entry) => [entry['kind'], entry['path'], entry['allowed']]);

  test('drafts and reviews in a session of its own: reading is allowed, writing and what is outside are not', async () => {
    const repository = await testRepository({ 42: ISSUE });
    const notes = await notesOf(repository);
    const agent = (role: string, reply: string): string =>
      `acp:node '${ACP_AGENT}' '${notes.folder}/${role}' '${notes.folder}/${reply}'`;
    const models = ['--drafter', agent('drafter', 'lld.md'), '--reviewer', agent('reviewer', 'review.md')];
    const args = ['lld', '42', ...models, ...WITHOUT_SANDBOX];
    const env = { HOME: repository.home, ANTHROPIC_API_KEY: 'sk-must-not-be-seen' };
    const plan = await agentos([...args, '--dry-run'], { cwd: repository.root, env });
    expect(plan.stdout).toContain('Not metered: acp:node');
    const ended = await agentos(args, { cwd: repository.root, env });
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(ended.stdout).toMatch(/\[LLD-42\] read src\/main\.js/);
    expect(ended.stdout).toMatch(/draft: answered in .*, not metered/);
    expect(ended.stdout).not.toContain('Acceptance');
    const drafter = await noted(join(notes.folder, 'drafter'));
    expect(drafter[0]).toMatchObject({ mcpServers: [], env: { ANTHROPIC_API_KEY: expect.not.stringMatching(/^sk-/) } });
    expect(drafter[1]?.['prompt']).toContain('Add a number');
    const refused = [
      ['read', '/src/main.js', true],
      ['edit', '/made.txt', false],
      ['edit', '/../stray.txt', false],
    ];
    expect([decisions(drafter), decisions(await noted(join(notes.folder, 'reviewer')))]).toEqual([refused, refused]);
    await expectNoWorktree(repository);
  });

  test('asks for a helper of a vendor without any price: not under a limit', async () => {
    const vendor = await startVendor({ script: () => ({ text: 'Hello' }) });
    onTestFinished(() => vendor.close());
    const repository = await testRepository({ 42: ISSUE });
    const settings = [
      `endpoints: { openai-compatible: "${vendor.url}/v1" }`,
      'keys: { openai-compatible: [LOCAL_KEY] }',
    ];
    await repository.write('agentos.yaml', settings.join('\n'));
    const notes = await notesOf(repository);
    const calls = join(notes.folder, 'calls');
    const drafter = `acp:node '${ACP_AGENT}' '${calls}' '${notes.folder}/lld.md' local`;
    const reviewer = `command:cat '${notes.folder}/review.md'`;
    const models = ['--trust', '--drafter', drafter, '--reviewer', reviewer, ...WITHOUT_SANDBOX];
    const env = { HOME: repository.home, ...vendorEnv(vendor.url), LOCAL_KEY: 'sk-local-0123456789' };
    const options = { cwd: repository.root, env };
    const helpers = async (): Promise<unknown[]> => (await noted(calls)).filter((entry) => 'helper' in entry);

    const limited = await agentos(['lld', '42', '--max-cost', '5', ...models], options);
    expect(limited.code, limited.stdout + limited.stderr).toBe(0);
    const said = expect.stringContaining('under prices in agentos.yaml');
    expect(await helpers()).toEqual([{ helper: 402, said }]);
    expect(vendor.calls).toEqual([]);

    for (const made of ['docs', '.agentos']) await rm(join(repository.root, made), { recursive: true });
    const free = await agentos(['lld', '42', ...models], options);
    expect(free.code, free.stdout + free.stderr).toBe(0);
    expect(await helpers()).toMatchObject([{ helper: 402 }, { helper: 200 }]);
    expect(vendor.calls).toHaveLength(1);
  });

  test('as implementer may write in its worktree only, and is ended with its call', async () => {
    const repository = await designedRepository(['42']);
    const notes = await notesOf(repository);
    const agent = `acp:node '${ACP_AGENT}' '${notes.folder}/calls' '${notes.folder}/review.md'`;
    const ended = await agentos(
      ['implement', '42', '--implementer', agent, '--reviewer', 'command:cat', '--max-rounds', '2', ...WITHOUT_SANDBOX],
      {
        cwd: repository.root,
        env: { HOME: repository.home },
      },
    );
    // It wrote no test.
    expect(ended.code, ended.stdout + ended.stderr).toBe(1);
    expect(decisions(await noted(join(notes.folder, 'calls'))).slice(0, 3)).toEqual([
      ['read', '/src/main.js', true],
      ['edit', '/made.txt', true],
      ['edit', '/../stray.txt', false],
    ]);
    const alive = (await noted(join(notes.folder, 'calls'))).flatMap((entry) =>
      'others' in entry ? [entry['others']] : [],
    );
    expect(alive.length).toBeGreaterThan(1);
    expect(alive.flat()).toEqual([]);
  });
});

/** In the agent's place: says what it sees of the environment, and that it is alone. */
const LOGGED_IN = `#!/usr/bin/env node
const fs = require('node:fs');
const prompt = fs.readFileSync(0, 'utf8');
const { HOME, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, CLAUDE_CONFIG_DIR, NOTES } = process.env;
const login = fs.readFileSync(HOME + '/.claude/login', 'utf8');
const say = (entry) => fs.appendFileSync(NOTES + '/calls', JSON.stringify(entry) + '\\n');
say({ is: 'began', login, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, CLAUDE_CONFIG_DIR });
setTimeout(() => {
  say({ is: 'ended' });
  const isReview = /review\\s+low-level designs/i.test(process.argv.join(' ') + prompt);
  const text = fs.readFileSync(NOTES + (isReview ? '/review.md' : '/lld.md'), 'utf8');
  const result = /issue 43\\b/i.test(prompt) ? text.replaceAll('42', '43') : text;
  console.log(JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result }));
}, 100);
`;

test('an agent with its own login sees the home of the person and no key, one call at a time', async () => {
  const repository = await testRepository({ 42: ISSUE, 43: ISSUE });
  const notes = await notesOf(repository);
  const bin = join(repository.home, '..', 'bin');
  await mkdir(bin);
  await mkdir(join(repository.home, '.claude'));
  await writeFile(join(repository.home, '.claude', 'login'), 'a login');
  await writeFile(join(bin, 'claude'), LOGGED_IN);
  await chmod(join(bin, 'claude'), 0o755);
  await repository.write('agentos.yaml', 'passEnvironment: [NOTES]\nagents:\n  claude-code:\n    login: agent\n');
  const env = {
    HOME: repository.home,
    NOTES: notes.folder,
    ANTHROPIC_API_KEY: 'sk-must-not-be-seen',
    PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
  };
  const args = [
    'lld',
    '42',
    '43',
    '--trust',
    '--parallel',
    '2',
    '--drafter',
    'claude-code',
    '--reviewer',
    'claude-code',
    ...WITHOUT_SANDBOX,
  ];
  const ended = await agentos(args, { cwd: repository.root, env });
  const calls = await noted(join(notes.folder, 'calls'));
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
  expect(calls).toHaveLength(8);
  expect(calls.map(({ is }) => is)).toEqual(calls.map((_, index) => (index % 2 === 0 ? 'began' : 'ended')));
  expect(calls[0]).toEqual({ is: 'began', login: 'a login' });
  expect(ended.stdout).toMatch(/answered in .*, not metered/);
});

for (const agent of AGENTS_UNDER_TEST) {
  const missing = whyAgentMissing(agent);
  if (missing !== null) process.stderr.write(`${agent.spec} is not tested as a drafter: ${missing}\n`);
  describe.skipIf(missing !== null)(
    `agentos lld with the real ${agent.program} as ${agent.spec}`,
    { timeout: 180_000 },
    () => {
      realAgent(agent);
    },
  );
}

function realAgent(agent: AgentUnderTest): void {
  const { spec, model } = agent;
  test('drafts and reviews what it has read, changes nothing, and is paid through the gateway', async () => {
    const repository = await testRepository({ 42: ISSUE });
    const seen = new Map<string, string>();
    const vendor = await vendorWith(
      agentScript(agent, (call) => {
        const isReview = /You\s+review\s+low-level designs/.test(call.system + call.text);
        seen.set(isReview ? 'review' : 'draft', call.toolResults.map(({ text }) => text).join('\n'));
        return {
          reads: ['src/main.js'],
          files: isReview ? {} : { 'src/main.js': 'export const answer = 13;\n' },
          words: isReview ? APPROVED : lldFor('42'),
        };
      }),
    );
    const args = ['lld', '42', '--drafter', `${spec}:${model}`, '--reviewer', `${spec}:${model}`];
    const ended = await agentos(args, {
      cwd: repository.root,
      env: { ...vendorEnv(vendor.url), HOME: repository.home, PATH: pathWithAgents() },
    });
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(seen.get('draft')).toContain('answer = 42');
    // The draft's change, if its agent could make one, is gone.
    expect(seen.get('review')).toContain('answer = 42');
    expect(repository.git('status', '--porcelain', '--', 'src')).toBe('');
    expect(await repository.read('docs/lld/LLD-42.md')).toContain('status: approved');
    const [item] = (await summaryOf(repository)).items;
    expect(item?.usage.outputTokens).toBe(vendor.calls.reduce((sum, call) => sum + (call.usage?.output ?? 0), 0));
    expect(item?.costUsd).toBeGreaterThan(0);
  });
}
