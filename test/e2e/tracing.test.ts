import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseTraceparent } from '../../src/core/traceparent.ts';
import type { CollectedSpan, Collector, CollectorMood } from '../support/collector.ts';
import { callsOf, designedRepository, IMPLEMENTER, implementer, reviewerSaying } from '../support/implement.ts';
import { ISSUE, lldFor, review, roundOf, script, vendorEnv } from '../support/models.ts';
import { workersOf } from '../support/processes.ts';
import { agentos, type ProgramOptions, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { testCollector } from '../support/test-collector.ts';
import { treeOf } from '../support/trace-tree.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
const SECRET = 'collector-secret-0815';
const INCOMING = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const TRACEPARENT = `00-${INCOMING.traceId}-${INCOMING.spanId}-01`;

interface Place {
  vendor: Vendor;
  collector: Collector;
  repository: TestRepository;
  options: ProgramOptions;
}

function traceEnv(collector: Collector): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${SECRET}`,
    OTEL_SERVICE_NAME: 'backlog',
  };
}

async function place(
  ids: string[],
  { mood, env, ...vendorOptions }: VendorOptions & { mood?: CollectorMood; env?: Record<string, string> } = {},
): Promise<Place> {
  const vendor = await startVendor({ script: script(), ...vendorOptions });
  onTestFinished(() => vendor.close());
  const collector = await testCollector(mood);
  const repository = await testRepository(Object.fromEntries(ids.map((id) => [id, ISSUE])));
  const all = { ...vendorEnv(vendor.url), HOME: repository.home, ...traceEnv(collector), ...env };
  return { vendor, collector, repository, options: { cwd: repository.root, env: all } };
}

const textOf = (spans: readonly CollectedSpan[]): string =>
  JSON.stringify(spans, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));

async function runRecords(repository: TestRepository): Promise<{ trace: { traceId: string; spanId: string } }[]> {
  const runs = await repository.list('.agentos/runs');
  return Promise.all(runs.map(async (run) => JSON.parse(await repository.read(`.agentos/runs/${run}/run.json`))));
}

test.each(['http/json', 'http/protobuf'])(
  '%s: a batch is one trace from the caller down to the vendor',
  async (protocol) => {
    const { vendor, collector, options } = await place(['42', '43'], {
      env: { OTEL_EXPORTER_OTLP_PROTOCOL: protocol, TRACEPARENT },
      script: script({
        review: (call) =>
          roundOf(call) === 1
            ? review({ verdict: 'REVISE', tier2: ['**Missing bound:** Section 2.6 names no largest value.'] })
            : review({ verdict: 'APPROVED' }),
      }),
    });
    const { code, stdout, stderr } = await agentos(['lld', '--all', '--parallel', '2', ...MODELS], options);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toContain('Tracing');

    const tree = treeOf(collector.spans, INCOMING.spanId);
    expect(tree.root).toMatchObject({
      traceId: INCOMING.traceId,
      name: 'agentos lld',
      failed: false,
      resource: { 'service.name': 'backlog' },
      attributes: { 'agentos.exit_code': 0, 'agentos.items': 2, 'agentos.parallel': 2 },
    });
    const calls = tree.named('gateway attempt');
    expect(calls).toHaveLength(vendor.calls.length);
    for (const id of ['42', '43']) {
      const item = ['agentos lld', `lld ${id}`, 'attempt 1'];
      const paths = collector.spans.map((span) => tree.path(span).join(' / '));
      const opus = ['chat claude-opus-5', 'gateway attempt'];
      const gemini = ['chat gemini-3-pro-preview', 'gateway attempt'];
      expect(paths).toContain([...item, 'step draft', ...opus].join(' / '));
      expect(paths).toContain([...item, 'step review-1', ...gemini].join(' / '));
      expect(paths).toContain([...item, 'step revise-1', ...opus].join(' / '));
      expect(paths).toContain([...item, 'step review-2', ...gemini].join(' / '));
      expect(paths).toContain([...item, 'step begin', 'git rev-parse'].join(' / '));
    }
    const [draft] = tree.named('chat claude-opus-5');
    expect(draft).toMatchObject({
      kind: 3,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.system': 'anthropic',
        'gen_ai.request.model': 'claude-opus-5',
        'gen_ai.response.model': 'claude-opus-5',
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'gen_ai.usage.cost': expect.any(Number),
        'agentos.role': 'drafter',
      },
    });
    expect(tree.named('chat gemini-3-pro-preview')[0]?.attributes['gen_ai.provider.name']).toBe('gcp.gemini');
    expect(calls[0]?.attributes).toMatchObject({
      'http.response.status_code': 200,
      'agentos.key.id': expect.any(String),
    });
    const [attempt] = tree.named('attempt 1');
    expect(attempt?.events.filter(({ name }) => name === 'verdict').map(({ attributes }) => attributes)).toMatchObject([
      { 'agentos.verdict': 'REVISE', 'agentos.round': 1 },
      { 'agentos.verdict': 'APPROVED', 'agentos.round': 2 },
    ]);

    for (const { headers } of collector.requests) {
      expect(headers['x-api-key']).toBe(SECRET);
      expect(headers['content-type']).toBe(protocol === 'http/json' ? 'application/json' : 'application/x-protobuf');
    }
    const all = textOf(collector.spans);
    for (const secret of [SECRET, 'sk-test-0123456789abcdef', 'A pure function, no state'])
      expect(all.includes(secret), secret).toBe(false);
    // Whose trace it is, is nothing to the vendor.
    for (const { headers } of vendor.calls) expect(headers).not.toHaveProperty('traceparent');
  },
);

test('what prompts and replies say is in the trace when it is asked for, and keys never are', async () => {
  const key = 'sk-test-0123456789abcdef';
  const { collector, options } = await place(['42'], {
    env: { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' },
    script: script({
      review: () => review({ verdict: 'APPROVED' }).replace('with care.', `with care. The key is ${key}.`),
    }),
  });
  expect((await agentos(['lld', '42', ...MODELS], options)).code).toBe(0);
  const tree = treeOf(collector.spans);
  const [draft] = tree.named('chat claude-opus-5');
  const [approval] = tree.named('chat gemini-3-pro-preview');
  const said = (span: CollectedSpan | undefined, name: string) =>
    JSON.parse(String(span?.attributes[name])) as { role: string; parts: { type: string; content: string }[] }[];
  expect(said(draft, 'gen_ai.input.messages')).toMatchObject([{ role: 'user' }]);
  expect(said(draft, 'gen_ai.output.messages')).toMatchObject([
    {
      role: 'assistant',
      finish_reason: 'stop',
      parts: [{ type: 'text', content: expect.stringContaining('# 42 - ') }],
    },
  ]);
  expect(draft?.attributes['gen_ai.system_instructions']).toContain('low-level design');
  expect(said(approval, 'gen_ai.output.messages')[0]?.parts[0]?.content).toContain('The key is ********.');
  expect(textOf(collector.spans)).not.toContain(key);
});

test('other keys, a wait, a retry and a crash are seen in a tree without a gap', async () => {
  let drafts = 0;
  const { vendor, collector, options } = await place(['42'], {
    env: { ANTHROPIC_API_KEYS: 'sk-first-0123456789,sk-second-0123456789', ANTHROPIC_API_KEY: '' },
    script: script({
      draft: () => {
        drafts += 1;
        // Both keys are out of quota, then a fault, then an answer during which the worker is killed.
        if (drafts <= 2) return { status: 429, retryAfter: 1 };
        return drafts === 3 ? { status: 500, message: 'oops' } : { text: lldFor('42'), latencyMs: 1_500 };
      },
    }),
  });
  const program = startAgentos(['lld', '42', ...MODELS], options);
  await vendor.waitForCalls(4);
  process.kill(workersOf(program.child.pid)[0] ?? 0, 'SIGKILL');
  expect((await program.ended).code).toBe(0);

  const tree = treeOf(collector.spans);
  const [item] = tree.named('lld 42');
  expect(item?.failed).toBe(false);
  expect(item?.events.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
    ['retrying', 'provider-overloaded'],
    ['retrying', 'worker-crashed'],
  ]);
  const attempts = tree.named(/^attempt/).toSorted((a, b) => a.name.localeCompare(b.name));
  expect(attempts.map(({ name, failed, attributes }) => [name, failed, attributes['error.type']])).toEqual([
    ['attempt 1', true, 'provider-overloaded'],
    ['attempt 2', true, 'worker-crashed'],
    ['attempt 3', false, undefined],
  ]);
  const callIn = (attempt: CollectedSpan | undefined): CollectedSpan => {
    const call = tree.named('chat claude-opus-5').find((span) => tree.path(span)[2] === attempt?.name);
    if (call === undefined) throw new Error('no call');
    return call;
  };
  const [first, second, third] = attempts.map(callIn);
  if (first === undefined || second === undefined || third === undefined) throw new Error('no calls');
  const below = tree.children(first).toSorted((a, b) => Number(a.startNs - b.startNs));
  expect(below.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
    ['gateway attempt', 429],
    ['gateway attempt', 429],
    ['wait for quota', undefined],
    ['gateway attempt', 500],
  ]);
  expect(new Set(below.slice(0, 2).map(({ attributes }) => attributes['agentos.key.id'])).size).toBe(2);
  expect(first.attributes['error.type']).toBe('provider-overloaded');
  // What the dead worker had open, and what the gateway did for it meanwhile: the next attempt is given that answer.
  expect(tree.path(second)).toEqual(['agentos lld', 'lld 42', 'attempt 2', 'step draft', 'chat claude-opus-5']);
  expect(second).toMatchObject({ failed: true, attributes: { 'error.type': 'worker-crashed' } });
  expect(tree.children(second).map(({ name }) => name)).toEqual(['gateway attempt']);
  expect(tree.children(third)).toEqual([]);
  expect(attempts[2]?.events.map(({ name }) => name)).toContain('answer reused');
});

test('Ctrl+C: the spans leave within the bound; the run that goes on is a new trace with a link to the old one', async () => {
  let isSlow = true;
  const { vendor, collector, repository, options } = await place(['42'], {
    script: script({
      review: () => (isSlow ? { text: 'x', stallAfterChars: 1 } : { text: review({ verdict: 'APPROVED' }) }),
    }),
  });
  const program = startAgentos(['lld', '42', ...MODELS], options);
  await vendor.waitForCalls(2);
  const began = performance.now();
  program.child.kill('SIGINT');
  expect((await program.ended).code).toBe(130);
  expect(performance.now() - began).toBeLessThan(5_000);
  const old = treeOf(collector.spans.splice(0));
  expect(old.root).toMatchObject({ failed: true, attributes: { 'agentos.exit_code': 130 } });
  expect(old.root.events.map(({ name }) => name)).toContain('interrupted');
  expect(old.named('step review-1')[0]?.attributes['error.type']).toBe('interrupted');

  isSlow = false;
  expect((await agentos(['resume'], options)).code).toBe(0);
  const now = treeOf(collector.spans);
  expect(now.root.traceId).not.toBe(old.root.traceId);
  expect(now.root.links).toEqual([{ traceId: old.root.traceId, spanId: old.root.spanId }]);
  expect(now.named('attempt 1')[0]?.events).toContainEqual({
    name: 'step replayed',
    attributes: { 'agentos.step': 'draft' },
  });
  expect(now.named('step draft')).toEqual([]);
  const [first, second] = await runRecords(repository);
  expect(first?.trace).toEqual({ traceId: old.root.traceId, spanId: old.root.spanId });
  expect(second?.trace).toEqual({ traceId: now.root.traceId, spanId: now.root.spanId });
});

test('an implementation: the agent, git and the tests are in the tree and are told where they are in it', async () => {
  const repository = await designedRepository(['42']);
  const collector = await testCollector();
  const state = join(repository.home, '..', 'calls.jsonl');
  const env = { HOME: repository.home, ...traceEnv(collector), TRACEPARENT };
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const args = [
    'implement',
    '42',
    '--implementer',
    implementer({ tests: 'one-missing', mends: 'yes', state }),
    '--reviewer',
    reviewer,
    ...WITHOUT_SANDBOX,
  ];
  const { code, stdout } = await agentos(args, { cwd: repository.root, env });
  expect(stdout).not.toContain('Tracing');
  expect(code).toBe(0);

  const tree = treeOf(collector.spans, INCOMING.spanId);
  const item = ['agentos implement', 'implement 42', 'attempt 1'];
  const agents = tree.named('invoke_agent command');
  expect(agents.map((span) => tree.path(span))).toEqual([
    [...item, 'step tests-1', 'invoke_agent command'],
    [...item, 'step tests-2', 'invoke_agent command'],
    [...item, 'step code-1', 'invoke_agent command'],
  ]);
  const calls = await callsOf(state);
  expect(calls.map((call) => parseTraceparent(call.env['TRACEPARENT']))).toEqual(
    agents.map(({ spanId }) => ({ traceId: INCOMING.traceId, spanId, sampled: true })),
  );
  for (const call of calls) expect(JSON.stringify(call.env)).not.toContain(SECRET);
  const runs = tree.named('test run');
  expect(runs.length).toBeGreaterThanOrEqual(3);
  for (const run of runs) expect(tree.path(run).slice(0, 3)).toEqual(item);
  expect(runs.map(({ attributes }) => attributes['agentos.tests.outcome'])).toEqual(
    expect.arrayContaining(['passed', 'failed']),
  );
  expect(tree.named(/^git (write-tree|commit-tree|diff-tree)$/).length).toBeGreaterThan(3);
  expect(tree.named('chat command').map((span) => tree.path(span).slice(0, 3))).toContainEqual(item);
  const gates = tree.named('attempt 1')[0]?.events.filter(({ name }) => name === 'gate') ?? [];
  expect(gates.map(({ attributes }) => [attributes['agentos.gate'], attributes['agentos.passed']])).toEqual(
    expect.arrayContaining([
      ['tests', false],
      ['tests', true],
      ['red', true],
      ['green', true],
    ]),
  );
});

/** An agent that asks its vendor once and leaves the work to a command. */
const agentProgram = (command: string): string => `#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
const input = readFileSync(0, 'utf8');
const headers = { 'x-api-key': process.env.ANTHROPIC_API_KEY, 'content-type': 'application/json' };
const body = { model: 'claude-opus-5', max_tokens: 100, messages: [{ role: 'user', content: 'How?' }] };
const url = process.env.ANTHROPIC_BASE_URL + '/v1/messages';
await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).text();
spawnSync('sh', ['-c', ${JSON.stringify(command)}], { input });
process.stdout.write(JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'Done.' }));
`;

test("an agent's own calls are below its span, with what they used", async () => {
  const repository = await designedRepository(['42']);
  const collector = await testCollector();
  const vendor = await startVendor({ script: () => ({ text: 'So.', usage: { input: 7, output: 3 } }) });
  onTestFinished(() => vendor.close());
  const bin = join(repository.home, '..', 'bin');
  await mkdir(bin);
  // Beside the agent, where a sandbox shows it wherever the checkout is.
  await copyFile(IMPLEMENTER, join(bin, 'implementer.sh'));
  await writeFile(join(bin, 'claude'), agentProgram(`sh '${join(bin, 'implementer.sh')}'`), { mode: 0o755 });
  await writeFile(join(bin, 'package.json'), '{ "type": "module" }');
  const env = {
    ...vendorEnv(vendor.url),
    ...traceEnv(collector),
    HOME: repository.home,
    PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
  };
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const args = ['implement', '42', '--implementer', 'claude-code', '--reviewer', reviewer];
  const ended = await agentos(args, { cwd: repository.root, env });
  expect(ended.code, ended.stdout).toBe(0);
  const tree = treeOf(collector.spans);
  const item = ['agentos implement', 'implement 42', 'attempt 1'];
  const call = ['invoke_agent claude-code', 'chat claude-opus-5', 'gateway attempt'];
  expect(tree.named('gateway attempt').map((span) => tree.path(span))).toEqual([
    [...item, 'step tests-1', ...call],
    [...item, 'step code-1', ...call],
  ]);
  expect(tree.named('chat claude-opus-5')[0]?.attributes).toMatchObject({
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.response.model': 'claude-opus-5',
    'gen_ai.usage.input_tokens': 7,
    'gen_ai.usage.output_tokens': 3,
    'gen_ai.usage.cost': expect.any(Number),
  });
  expect(tree.named('invoke_agent claude-code')[0]?.attributes['gen_ai.agent.name']).toBe('claude-code');
  const report = repository.git('show', 'agentos/42-add-a-number:docs/reports/42.md');
  expect(report).toContain('| implementer | `claude-code (anthropic:claude-opus-5)` | 2 | 14 | 0 | 6 | 0.0');
});

test.each<CollectorMood | 'down'>(['broken', 'deaf', 'slow', 'down'])(
  'a collector that is %s does not hurt the run',
  async (mood) => {
    const { collector, repository, options } = await place(['42', '43'], { mood: mood === 'down' ? 'fine' : mood });
    if (mood === 'down') await collector.close();
    const { code, stdout, stderr } = await agentos(['lld', '--all', '--parallel', '2', ...MODELS], options);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await repository.list('docs/lld')).toEqual(['LLD-42.md', 'LLD-43.md']);
    expect(stdout.split('Tracing: the collector at').length - 1).toBe(mood === 'slow' ? 0 : 1);
    expect(stdout).not.toContain(SECRET);
  },
);

test('Ctrl+C with a collector that never answers is over within the bound all the same', async () => {
  const { vendor, options } = await place(['42'], {
    mood: 'deaf',
    script: script({ draft: () => ({ text: 'x', stallAfterChars: 1 }) }),
  });
  const program = startAgentos(['lld', '42', ...MODELS], options);
  await vendor.waitForCalls(1);
  const began = performance.now();
  program.child.kill('SIGINT');
  expect((await program.ended).code).toBe(130);
  expect(performance.now() - began).toBeLessThan(5_000);
});

test.each<[string, Record<string, string>]>([
  ['the sampler says no', { OTEL_TRACES_SAMPLER: 'always_off' }],
  ['the caller does not record', { TRACEPARENT: TRACEPARENT.replace(/01$/, '00') }],
  ['there is no endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
])('nothing is sent and nothing is loaded where %s', async (_, env) => {
  const { collector, repository, options } = await place(['42'], { env });
  expect(await loadedFiles(repository, options)).not.toContain('span-exporter.js');
  expect(collector.requests).toEqual([]);
  expect((await runRecords(repository))[0]?.trace).toBeNull();
});

test('with an endpoint the exporter is loaded, and no other part of the program holds OpenTelemetry', async () => {
  const { repository, options } = await place(['42']);
  expect(await loadedFiles(repository, options)).toContain('span-exporter.js');
  const dist = join(import.meta.dirname, '..', '..', 'dist');
  const reached = async (entry: string): Promise<Map<string, string>> => {
    const seen = new Map<string, string>();
    const visit = async (file: string): Promise<void> => {
      if (seen.has(file)) return;
      const text = await readFile(file, 'utf8').catch(() => '');
      seen.set(file, text);
      for (const [, path = ''] of text.matchAll(/\b(?:from|import)\s*\(?["'](\.{1,2}\/[\w./-]+\.js)["']/g))
        await visit(join(file, '..', path));
    };
    await visit(join(dist, entry));
    return seen;
  };
  const holds = async (entry: string): Promise<boolean> =>
    [...(await reached(entry)).values()].some((text) => /BatchSpanProcessor|instrumentationScope/.test(text));
  expect(await holds('span-exporter.js')).toBe(true);
  for (const entry of ['cli.js', 'worker.js', 'index.js']) expect(await holds(entry), entry).toBe(false);
});

/** Names of all scripts that the program itself has loaded by its end, its threads included. */
async function loadedFiles(repository: TestRepository, options: ProgramOptions): Promise<string> {
  const folder = join(repository.home, '..', 'coverage');
  await mkdir(folder);
  const env = { ...options.env, NODE_V8_COVERAGE: folder };
  expect((await agentos(['lld', '42', ...MODELS], { ...options, env })).code).toBe(0);
  const names: string[] = [];
  for (const file of await readdir(folder)) {
    const { result } = JSON.parse(await readFile(join(folder, file), 'utf8')) as { result: { url: string }[] };
    names.push(...result.map(({ url }) => url));
  }
  expect(names.join('\n')).toContain('dist/cli.js');
  return names.join('\n');
}
