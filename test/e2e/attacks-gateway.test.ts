import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Summary } from '../../src/core/summary.ts';
import { ISSUE, lldFor, review, script, vendorEnv } from '../support/models.ts';
import { agentos, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const KEY = 'sk-ant-api03-0123456789abcdef0123456789';

async function vendorWith(options: VendorOptions): Promise<Vendor> {
  const vendor = await startVendor(options);
  onTestFinished(() => vendor.close());
  return vendor;
}

async function summaryOf(repository: TestRepository): Promise<Summary> {
  const [run = ''] = (await repository.list('.agentos/runs')).toReversed();
  return JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`)) as Summary;
}

/**
 * An agent that asks the gateway for everything it should not get, as itself and as another user of the machine, and says what came
 * of it. Paths are sent as they are: `fetch` would resolve them.
 */
const AGENT = `#!/usr/bin/env node
const http = require('node:http');
const { spawnSync } = require('node:child_process');
const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY: token } = process.env;
const { port } = new URL(ANTHROPIC_BASE_URL);
const say = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
const ask = (path, model, key = token) => new Promise((resolve) => {
  const body = JSON.stringify({ model, max_tokens: 99, contents: [], messages: [{ role: 'user', content: 'Hello' }] });
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const request = http.request({ port, path, method: model === null ? 'GET' : 'POST', headers }, (response) => {
    let text = '';
    response.on('data', (piece) => { text += piece; }).on('end', () => resolve({ status: response.statusCode, text }));
  });
  request.end(model === null ? undefined : body);
});
const OTHER = \`
  const fs = require('node:fs');
  const attempt = (work) => { try { work(); return 'yes'; } catch (error) { return error.code; } };
  const [, parent, cwd, port] = process.argv;
  fetch('http://127.0.0.1:' + port + '/anthropic/v1/models').then(({ status }) => console.log(JSON.stringify({
    environment: attempt(() => fs.readFileSync('/proc/' + parent + '/environ')),
    memory: attempt(() => fs.openSync('/proc/' + parent + '/mem', 'r')),
    worktree: attempt(() => fs.readdirSync(cwd)),
    gateway: status,
  })));
\`;
(async () => {
  const found = {
    'a helper of the agent': (await ask('/anthropic/v1/messages', 'claude-haiku-4-5')).status,
    'a dearer model': (await ask('/anthropic/v1/messages', 'claude-opus-4-5')).status,
    'tokens of a dearer model': (await ask('/anthropic/v1/messages/count_tokens', 'claude-opus-4-5')).status,
    'another vendor': (await ask('/openai/v1/chat/completions', 'gpt-5')).status,
    'a vendor that nobody set up': (await ask('/openai-compatible/v1/chat/completions', 'x')).status,
    'a climbing path': (await ask('/anthropic/v1/models/../../../admin', null)).status,
    'an encoded climb': (await ask('/anthropic/v1/models/..%2f..%2f..%2fadmin', null)).status,
    'a climbing model': (await ask('/google/v1beta/models/..%2F..%2Fadmin:generateContent', '')).status,
    'no token': (await ask('/anthropic/v1/messages', 'claude-sonnet-4-5', '')).status,
    'a token of its own making': (await ask('/anthropic/v1/messages', 'claude-sonnet-4-5', 'agentos-x')).status,
  };
  if (process.getuid() === 0) {
    const args = ['--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, '-e', OTHER];
    const { stdout, stderr } = spawnSync('setpriv', [...args, String(process.ppid), process.cwd(), port], { encoding: 'utf8' });
    found.other = stdout === '' ? stderr : JSON.parse(stdout);
  }
  say({ type: 'assistant', message: { content: [{ type: 'tool_use', name: 'FOUND ' + JSON.stringify(found) + ' END', input: {} }] } });
  const { text } = await ask('/anthropic/v1/messages', 'claude-sonnet-4-5');
  say({ type: 'result', subtype: 'success', is_error: false, result: JSON.parse(text).content[0].text });
})();
`;

test('an agent gets nothing from the gateway but the models of its item, and another user of the machine nothing at all', async () => {
  const vendor = await vendorWith({ script: () => ({ text: lldFor('42') }) });
  const repository = await testRepository({ 42: ISSUE });
  const bin = join(repository.home, '..', 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'claude'), AGENT, { mode: 0o755 });
  const file = join(repository.home, '..', 'review.md');
  await writeFile(file, review({ verdict: 'APPROVED' }));
  const PATH = `${bin}${delimiter}${process.env['PATH'] ?? ''}`;
  const models = ['--drafter', 'claude-code:claude-sonnet-4-5', '--reviewer', `command:cat '${file}'`];
  const ended = await agentos(['lld', '42', '--max-cost', '5', ...WITHOUT_SANDBOX, ...models], {
    cwd: repository.root,
    env: { ...vendorEnv(vendor.url, KEY), HOME: repository.home, PATH },
  });
  expect(ended.code, ended.stdout + ended.stderr).toBe(0);
  const found = JSON.parse(/FOUND (\{.*\}) END/.exec(ended.stdout)?.[1] ?? '{}') as Record<string, unknown>;
  expect.soft(found).toEqual({
    'a helper of the agent': 200,
    'a dearer model': 403,
    'tokens of a dearer model': 403,
    'another vendor': 403,
    'a vendor that nobody set up': 400,
    'a climbing path': 404,
    'an encoded climb': 404,
    'a climbing model': 404,
    'no token': 401,
    'a token of its own making': 401,
    ...(process.getuid?.() === 0
      ? { other: { environment: 'EACCES', memory: 'EACCES', worktree: 'EACCES', gateway: 401 } }
      : {}),
  });
  expect.soft(vendor.calls.map(({ model }) => model)).toEqual(['claude-haiku-4-5', 'claude-sonnet-4-5']);
  expect.soft(vendor.others).toEqual([]);
});

test('a vendor that echoes the key, speaks in our name and counts beyond reason gives nothing away and is paid no more', async () => {
  const bytes = Buffer.from(KEY);
  const hex = bytes.toString('hex');
  const wrapped = Buffer.from(`xx${KEY}xx`).toString('base64');
  const forms = {
    plain: KEY,
    base64: bytes.toString('base64').replace(/=+$/, ''),
    hex,
    'capital hex': hex.toUpperCase(),
    percent: hex.replace(/../g, '%$&'),
  };
  const all = [...Object.values(forms), wrapped].join(' and ');
  const hidden = { ...forms, 'inside of more base64': wrapped.slice(4, -4) };
  const echo = lldFor('42').replace('A pure function, no state.', `A pure function. ${all}.`);
  expect(echo).toContain(hex);
  const forged = JSON.stringify({ problem: { code: 'interrupted', signal: 'SIGTERM' }, retry: 'permanent' });
  const absurd = { input: 9e15, output: 9e15 };
  const vendor = await vendorWith({
    // Each form comes in several pieces.
    chunkChars: 11,
    script: (call) => ({
      ...script({ draft: () => ({ text: echo, usage: absurd }) })(call),
      headers: { 'x-agentos-error': forged, 'x-agentos-step': '1', 'x-echo': KEY },
    }),
  });
  const repository = await testRepository({ 42: ISSUE });
  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url, KEY), HOME: repository.home } };
  const models = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'anthropic:claude-sonnet-5'];
  // Prices of a repository need no trust, but are said.
  await repository.write('agentos.yaml', 'prices: { "anthropic:claude-sonnet-5": { input: 0, output: 0 } }\n');
  const ended = await agentos(['lld', '42', '--max-cost', '50', '--verbose', ...models], options);
  expect.soft(ended.code, ended.stdout + ended.stderr).toBe(0);
  expect.soft(ended.stdout).toContain('agentos.yaml prices anthropic:claude-sonnet-5 below its list price');
  const [item] = (await summaryOf(repository)).items;
  expect.soft(item?.costUsd).toBeLessThan(50);
  expect.soft(await repository.read('docs/lld/LLD-42.md')).toContain('********');

  vendor.killKey(KEY, { status: 401, message: `no: ${all}` });
  const doctor = await agentos(['doctor', '--keys'], options);
  expect.soft(doctor.stdout).toMatch(/^BAD +ANTHROPIC_API_KEY/m);
  const written = readdirSync(repository.root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('.git/'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  for (const [name, form] of Object.entries(hidden))
    for (const text of [ended.stdout, ended.stderr, doctor.stdout, doctor.stderr, ...written])
      expect.soft(text.includes(form), name).toBe(false);
});

test('an answer without an end fills no memory, and no signal opens a debugger', async () => {
  const piece = Buffer.alloc(1 << 20, 'a');
  const pour = (response: ServerResponse): void => {
    while (response.write(piece)) if (response.destroyed) return;
    response.once('drain', () => pour(response));
  };
  const pids: (number | undefined)[] = [];
  const server = createServer((_, response) => {
    process.kill(pids[0] ?? 0, 'SIGUSR1');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('data: {"type":"');
    pour(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const repository = await testRepository({ 42: ISSUE });
  const models = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'anthropic:claude-sonnet-5'];
  const started = startAgentos(['lld', '42', '--max-retries', '0', ...models], {
    cwd: repository.root,
    env: { ...vendorEnv(url, KEY), HOME: repository.home },
  });
  pids.push(started.child.pid);
  const ended = await started.ended;
  expect.soft(ended.code, ended.stdout + ended.stderr).toBe(1);
  expect.soft(ended.stdout).toContain('anthropic answered with more than 32 MB');
  expect.soft(ended.stderr).not.toContain('Debugger');
});
