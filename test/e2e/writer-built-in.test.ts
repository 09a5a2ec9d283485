import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createBuiltInWriter } from '../../src/agent/built-in.ts';
import type { WriteReply, WriteRequest } from '../../src/agent/port.ts';
import { systemClock } from '../../src/core/clock.ts';
import { AgentosError, type Problem, type RetryClass } from '../../src/core/errors.ts';
import { parseModelSpec, type VendorSpec } from '../../src/core/model-spec.ts';
import type { Usage } from '../../src/core/money.ts';
import { Secret } from '../../src/core/secret.ts';
import type { Journal } from '../../src/journal/port.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { createVendorProvider } from '../../src/models/vendor.ts';
import type { VendorAccess } from '../../src/models/vendors.ts';
import { throughGateway } from '../support/gateway.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { type Answer, startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const KEY = 'sk-test-1234567890abcdef';
const SPECS = [
  'anthropic:claude-sonnet-4-5',
  'google:gemini-3-pro-preview',
  'openai:gpt-5',
  'openai-compatible:org/model:70b',
] as const;

type Options = VendorAccess & Parameters<typeof createBuiltInWriter>[1];

interface Scene {
  repository: TestRepository;
  vendor: Vendor;
  lines: string[];
  /** Signs of life so far. */
  progress: () => number;
  journal: () => Journal;
  write(options?: Partial<Options>, request?: Partial<WriteRequest>): Promise<WriteReply>;
}

/** What the model answers, by the number of results that it has got so far; a function decides for itself. */
type Script = Answer[] | NonNullable<VendorOptions['script']>;

async function scene(spec: string, script: Script, vendorOptions: VendorOptions = {}): Promise<Scene> {
  const repository = await testRepository({});
  const vendor = await startVendor({
    ...vendorOptions,
    script: Array.isArray(script) ? (call) => script[call.toolResults.length] ?? { text: 'Nothing is left.' } : script,
  });
  onTestFinished(() => vendor.close());
  const lines: string[] = [];
  let progress = 0;
  const file = join(repository.home, 'journal.db');
  const journal = (): Journal => {
    const opened = openSqliteJournal(file, { clock: systemClock });
    onTestFinished(() => opened.close());
    return opened;
  };
  return {
    repository,
    vendor,
    lines,
    progress: () => progress,
    journal,
    write: (options = {}, request = {}) => {
      const all: Options = {
        spec: parseModelSpec(spec) as VendorSpec,
        token: new Secret(KEY),
        endpoint: vendor.url,
        maxRounds: 10,
        idleTimeoutMs: 20_000,
        ceilingMs: 60_000,
        costOf: (_, { inputTokens, outputTokens }) => inputTokens + 10 * outputTokens,
        mask: (text) => text.replaceAll(KEY, '***'),
        ...options,
      };
      return createBuiltInWriter(createVendorProvider(all), all).write({
        step: 'code-1',
        worktree: repository.root,
        system: 'You write code.',
        task: 'Make the answer 43.',
        item: '42',
        phase: 'code',
        journal: request.journal ?? journal(),
        signal: new AbortController().signal,
        onProgress: () => {
          progress += 1;
        },
        onLine: (line) => lines.push(line),
        ...request,
      });
    },
  };
}

async function failure(work: Promise<unknown>): Promise<{ problem: Problem; retry: RetryClass }> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AgentosError)) throw new Error(`not an AgentosError: ${String(error)}`);
  return { problem: error.problem, retry: error.retry };
}

const usage = { input: 100, output: 10 };
const LOOK: Answer = { text: 'I look first.', toolCalls: [{ name: 'read', input: { path: 'src/main.js' } }], usage };
const CHANGE: Answer = {
  toolCalls: [
    { name: 'edit', input: { path: 'src/main.js', search: '42', replace: '43' } },
    { name: 'write', input: { path: 'src/new/other.js', content: 'export {};\n' } },
  ],
  usage,
};
const DONE: Answer = { text: 'The answer is 43 now.', usage };
/** One result, then three. */
const ROUNDS: Answer[] = [LOOK, CHANGE, DONE, DONE];

describe.each(SPECS)('with %s', (spec) => {
  test('the model reads, changes and ends; tools are offered, results and progress come back', async () => {
    const made = await scene(spec, ROUNDS, { chunkChars: 7 });
    const reply = await made.write();
    expect(reply).toMatchObject({ text: 'The answer is 43 now.', metered: true, costUsd: 600 });
    expect(reply.usage).toMatchObject({ inputTokens: 300, outputTokens: 30 } satisfies Partial<Usage>);
    expect(await made.repository.read('src/main.js')).toBe('export const answer = 43;\n');
    expect(await made.repository.read('src/new/other.js')).toBe('export {};\n');
    expect(made.lines).toEqual([
      'I look first.',
      'read src/main.js 1–1',
      'edit src/main.js',
      'write src/new/other.js (1 line)',
      'The answer is 43 now.',
    ]);
    expect(made.progress()).toBeGreaterThan(10);
    const [first, second, third] = made.vendor.calls;
    expect(first?.tools).toEqual(['list', 'read', 'search', 'write', 'edit', 'remove']);
    expect(first?.system).toContain('You write code.');
    expect(first?.text).toContain('Make the answer 43.');
    expect(second?.toolResults[0]?.text).toContain('export const answer = 42;');
    expect(third?.toolResults).toHaveLength(3);
    expect(made.vendor.calls).toHaveLength(3);
  });

  test('each call is a step of its own, named to the gateway, and nothing is asked again after all is stored', async () => {
    const made = await scene(spec, ROUNDS);
    const journal = made.journal();
    await journal.step({ name: 'code-1', inputs: {} }, () => made.write({}, { journal }));
    expect(journal.steps().map(({ name }) => name)).toEqual(['code-1.1', 'code-1.2', 'code-1.3', 'code-1']);
    const sent = made.vendor.calls.map(({ headers }) => decodeURIComponent(headers['x-agentos-step'] ?? ''));
    expect(sent).toEqual(
      journal
        .steps()
        .slice(0, 3)
        .map(({ id }) => id),
    );

    restore(made.repository);
    made.lines.length = 0;
    const again = await made.write({}, { journal });
    expect(again).toMatchObject({ text: 'The answer is 43 now.', usage: { inputTokens: 0 }, costUsd: 0 });
    expect(await made.repository.read('src/main.js')).toContain('43');
    expect(made.vendor.calls).toHaveLength(3);
    expect(made.lines).toEqual([]);
  });

  test('after an abort in the middle it goes on with the call that was not answered', async () => {
    const abort = new AbortController();
    const stopped = new AgentosError({ code: 'interrupted', signal: 'SIGTERM' });
    let stall = true;
    const made = await scene(spec, (call) => {
      const answer = ROUNDS[call.toolResults.length] ?? DONE;
      return stall && call.toolResults.length === 3 ? { ...answer, stallAfterChars: 5 } : answer;
    });
    const running = made.write({}, { signal: abort.signal });
    await made.vendor.waitForCalls(3);
    abort.abort(stopped);
    await expect(running).rejects.toBe(stopped);
    await made.vendor.waitFor((calls) => calls[2]?.aborted === true);
    expect(await made.repository.read('src/main.js')).toContain('43');

    restore(made.repository);
    stall = false;
    const reply = await made.write();
    expect(reply).toMatchObject({ text: 'The answer is 43 now.', usage: { inputTokens: 100 }, costUsd: 200 });
    expect(await made.repository.read('src/main.js')).toContain('43');
    expect(await made.repository.read('src/new/other.js')).toBe('export {};\n');
    // Both finished answers were used again; the third question was asked twice, to the letter.
    expect(made.vendor.calls.map(({ toolResults }) => toolResults.length)).toEqual([0, 1, 3, 3]);
    expect(made.vendor.calls[3]?.body).toEqual(made.vendor.calls[2]?.body);
  });

  test('the calls of an answer that was cut off are not made, and the model is told', async () => {
    const made = await scene(spec, [{ ...CHANGE, stop: 'length' }, DONE, DONE]);
    await made.write();
    expect(await made.repository.read('src/main.js')).toContain('42');
    expect(made.vendor.calls[1]?.toolResults[0]?.text).toContain('cut off');
  });

  test('a second answer in a row that is cut off is the end', async () => {
    const made = await scene(spec, () => ({ ...CHANGE, stop: 'length' }));
    const { problem, retry } = await failure(made.write());
    expect({ ...problem, retry }).toMatchObject({ code: 'reply-truncated', outputTokens: 10, retry: 'ceiling' });
    expect(made.vendor.calls).toHaveLength(2);
  });

  test('words that were cut off may be gone on with', async () => {
    const made = await scene(spec, (call) => (call.index === 0 ? { text: 'I begin', stop: 'length' } : DONE));
    expect(await made.write()).toMatchObject({ text: 'The answer is 43 now.' });
    expect(made.vendor.calls[1]?.text).toContain('cut off');
  });

  test('an unknown tool and wrong arguments are results, and cost a round each', async () => {
    const made = await scene(spec, [
      { toolCalls: [{ name: 'bash', input: { command: 'ls' } }] },
      { toolCalls: [{ name: 'read', input: { file: 'src/main.js' } }] },
      DONE,
    ]);
    await made.write();
    const results = made.vendor.calls[2]?.toolResults.map(({ text }) => text) ?? [];
    expect(results[0]).toContain('there is no such tool');
    expect(results[1]).toContain('path');
    expect(made.lines[0]).toContain('bash: there is no such tool');
  });

  test('a model that never ends is ended by the rounds', async () => {
    const made = await scene(spec, () => LOOK);
    const { problem, retry } = await failure(made.write({ maxRounds: 4 }));
    expect({ ...problem, retry }).toEqual({ code: 'agent-rounds', agent: spec, rounds: 4, retry: 'permanent' });
    expect(made.vendor.calls).toHaveLength(4);
  });

  test('with a higher bound it goes on where the lower one ended it', async () => {
    const made = await scene(spec, ROUNDS);
    await failure(made.write({ maxRounds: 2 }));
    restore(made.repository);
    await made.write({ maxRounds: 3 });
    expect(made.vendor.calls).toHaveLength(3);
  });

  test('an answer without anything in it is a failure at first and an end later', async () => {
    const empty = await scene(spec, () => ({ text: '' }));
    expect(await failure(empty.write())).toMatchObject({ problem: { code: 'reply-empty' }, retry: 'transient' });
    expect(empty.journal().steps()).toEqual([]);
    const later = await scene(spec, [LOOK, { text: '' }]);
    expect(await later.write()).toMatchObject({ text: 'I look first.' });
  });

  test('refusals are classified as for every call, and asked once', async () => {
    const made = await scene(spec, () => ({ status: 429, message: 'slow down', retryAfter: 7 }));
    const access = await throughGateway(made.vendor, parseModelSpec(spec) as VendorSpec, KEY);
    expect(await failure(made.write(access))).toMatchObject({ problem: { code: 'provider-quota' }, retry: 'quota' });
    expect(made.vendor.calls).toHaveLength(1);
  });
});

test('what the gateway says of the budget comes through as it was raised', async () => {
  const problem = { code: 'over-budget', spentUsd: 2, limitUsd: 1, scope: 'item' };
  const header = JSON.stringify({ problem, retry: 'permanent' });
  const made = await scene(SPECS[0], [LOOK, { status: 402, headers: { 'x-agentos-error': header } }]);
  expect(await failure(made.write())).toEqual({ problem, retry: 'permanent' });
  expect(made.journal().steps()).toHaveLength(1);
});

test('a call without a sign of life ends at its idle bound', async () => {
  const made = await scene(SPECS[0], () => ({ text: 'one two three', stallAfterChars: 7 }));
  expect(await failure(made.write({ idleTimeoutMs: 300 }))).toMatchObject({
    problem: { code: 'call-idle' },
    retry: 'idle',
  });
});

test('neither the log nor the model sees what is masked', async () => {
  const made = await scene(SPECS[0], [
    { text: `Is it ${KEY}?`, toolCalls: [{ name: 'search', input: { text: 'token' } }] },
    { text: `It is ${KEY}.` },
  ]);
  await made.repository.write('src/token.js', `const token = '${KEY}';\n`);
  expect(await made.write()).toMatchObject({ text: 'It is ***.' });
  expect(made.lines.join('\n')).not.toContain(KEY);
  expect(made.vendor.calls[1]?.toolResults[0]?.text).toBe("src/token.js:1: const token = '***';");
});

test('another task is another conversation', async () => {
  const made = await scene(SPECS[0], ROUNDS);
  const journal = made.journal();
  await made.write({}, { journal });
  restore(made.repository);
  await made.write({}, { journal, task: 'Make the answer 43, again.' });
  expect(made.vendor.calls).toHaveLength(6);
});

test('a price that is not known makes the cost unknown, unless nothing was asked', async () => {
  const made = await scene(SPECS[0], ROUNDS);
  const costOf = (): null => null;
  expect(await made.write({ costOf })).toMatchObject({ costUsd: null });
  restore(made.repository);
  expect(await made.write({ costOf })).toMatchObject({ costUsd: 0 });
});

test('a signature of a thought goes back with the call that it belongs to, from the journal too', async () => {
  const made = await scene('google:gemini-3-pro-preview', ROUNDS);
  await failure(made.write({ maxRounds: 1 }));
  restore(made.repository);
  await made.write();
  const signature = Buffer.from('signature 1_0').toString('base64');
  const [, second] = made.vendor.calls;
  expect(JSON.stringify(second?.body)).toContain(signature);
});

describe('as Anthropic streams it', () => {
  type Event = Record<string, unknown> & { type: string };
  const block = (index: number, start: object, ...deltas: object[]): Event[] => [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
  const message = (stopReason: string, ...blocks: Event[][]): Event[] => [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 9, output_tokens: 1 },
      },
    },
    ...blocks.flat(),
    { type: 'message_delta', delta: { stop_reason: stopReason, stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ];
  const write = (json: string): Event[] =>
    block(
      1,
      { type: 'tool_use', id: 'toolu_1', name: 'write', input: {} },
      { type: 'input_json_delta', partial_json: json },
    );
  const done = message('end_turn', block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Done.' }));

  /** Streams these answers, one per call, and keeps the bodies of the calls. */
  async function wire(...answers: Event[][]): Promise<{ url: string; bodies: string[] }> {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const events = answers[bodies.push(Buffer.concat(pieces).toString('utf8')) - 1] ?? [];
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const address = server.address();
    return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, bodies };
  }

  test('half a call is not made, and goes back as an empty one with an error for it', async () => {
    const half = '{"path": "src/main.js", "content": "export const ans';
    const { url, bodies } = await wire(message('max_tokens', write(half)), done);
    const made = await scene(SPECS[0], []);
    expect(await made.write({ endpoint: url })).toMatchObject({ text: 'Done.' });
    expect(await made.repository.read('src/main.js')).toBe('export const answer = 42;\n');
    const { messages } = JSON.parse(bodies[1] ?? '') as { messages: { content: object[] }[] };
    expect(messages[1]?.content).toMatchObject([{ type: 'tool_use', id: 'toolu_1', input: {} }]);
    expect(messages[2]?.content).toMatchObject([{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true }]);
  });

  test('a signed thought goes back unchanged, from the journal too, and what repeats is marked for the cache', async () => {
    const thought = block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Let me ' },
      { type: 'thinking_delta', thinking: 'think.' },
      { type: 'signature_delta', signature: 'c2lnbmVk' },
    );
    const { url, bodies } = await wire(message('tool_use', thought, write('{"path": "a.js", "content": ""}')), done);
    const made = await scene(SPECS[0], []);
    await failure(made.write({ endpoint: url, maxRounds: 1 }));
    await made.write({ endpoint: url });
    const { messages } = JSON.parse(bodies[1] ?? '') as { messages: { content: object[] }[] };
    expect(messages[1]?.content).toMatchObject([
      { type: 'thinking', thinking: 'Let me think.', signature: 'c2lnbmVk' },
      { type: 'tool_use', input: { path: 'a.js', content: '' } },
    ]);
    expect(bodies.map((body) => body.split('"cache_control"').length - 1)).toEqual([2, 3]);
  });
});

/** As the caller does before a step is made again. */
function restore(repository: TestRepository): void {
  repository.git('checkout', '--quiet', '--', '.');
  repository.git('clean', '--quiet', '--force', '-d');
}
