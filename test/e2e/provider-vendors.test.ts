import { afterEach, describe, expect, it } from 'vitest';
import type { Role } from '../../src/core/config.ts';
import { AgentosError, type Problem, type RetryClass } from '../../src/core/errors.ts';
import { parseModelSpec, type VendorSpec } from '../../src/core/model-spec.ts';
import { Secret } from '../../src/core/secret.ts';
import type { ModelReply, ModelRequest, ModelRound } from '../../src/models/port.ts';
import { createVendorProvider } from '../../src/models/vendor.ts';
import { throughGateway } from '../support/gateway.ts';
import { type Answer, startVendor, type Vendor } from '../support/vendor/index.ts';

const KEY = 'sk-test-1234567890abcdef';

const FORMATS = [
  {
    provider: 'anthropic',
    wire: 'anthropic',
    model: 'claude-sonnet-4-5',
    snapshot: 'claude-sonnet-4-5-20250929',
    other: 'claude-haiku-4-5',
  },
  {
    provider: 'google',
    wire: 'google',
    model: 'gemini-3-pro-preview',
    snapshot: 'gemini-3-pro-001',
    other: 'gemini-3-flash',
  },
  { provider: 'openai', wire: 'openai-responses', model: 'gpt-5', snapshot: 'gpt-5-2025-08-07', other: 'gpt-5-mini' },
  {
    provider: 'openai-compatible',
    wire: 'openai-chat',
    model: 'org/model:70b',
    snapshot: 'org/model:70b',
    other: 'org/model:7b',
  },
] as const;

let vendor: Vendor | undefined;

afterEach(async () => {
  await vendor?.close();
  vendor = undefined;
});

interface Ask {
  answer: Answer | Answer[];
  role?: Role;
  signal?: AbortSignal;
  idleTimeoutMs?: number;
  ceilingMs?: number;
  onProgress?: ModelRequest['onProgress'];
  endpoint?: string;
  /** Through a gateway that passes on what the vendor refuses; otherwise the vendor is asked itself. */
  throughGateway?: boolean;
  chunkChars?: number;
  tools?: ModelRound['tools'];
  latencyMs?: number;
}

async function ask(format: { provider: string; model: string }, ask: Ask): Promise<ModelReply> {
  const answers = Array.isArray(ask.answer) ? ask.answer : [ask.answer];
  vendor = await startVendor({
    script: (call) => answers[call.index] ?? answers.at(-1) ?? {},
    ...(ask.chunkChars === undefined ? {} : { chunkChars: ask.chunkChars }),
  });
  const spec = parseModelSpec(`${format.provider}:${format.model}`) as VendorSpec;
  const direct = { token: new Secret(KEY), endpoint: ask.endpoint ?? vendor.url };
  const provider = createVendorProvider({
    spec,
    ...(ask.throughGateway === true ? await throughGateway(vendor, spec, KEY) : direct),
    idleTimeoutMs: ask.idleTimeoutMs ?? 20_000,
    ceilingMs: ask.ceilingMs ?? 30_000,
  });
  return provider.complete({
    role: ask.role ?? 'drafter',
    system: 'You write designs.',
    parts: [{ text: 'The template.', repeats: true }, { text: 'The issue.', repeats: true }, { text: 'The findings.' }],
    stepId: 'draft#1',
    signal: ask.signal ?? new AbortController().signal,
    inFolder: () => expect.unreachable('a vendor is no program'),
    ...(ask.tools === undefined ? {} : { conversation: { tools: ask.tools, mayCall: true, turns: [] } }),
    ...(ask.onProgress === undefined ? {} : { onProgress: ask.onProgress }),
  });
}

async function failureOf(reply: Promise<unknown>): Promise<{ problem: Problem; retry: RetryClass }> {
  const error: unknown = await reply.then(
    () => expect.unreachable('it replied'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AgentosError)) throw error;
  expect(JSON.stringify(error.problem)).not.toContain(KEY);
  expect(String(error.cause)).not.toContain(KEY);
  if ('detail' in error.problem) {
    expect(error.problem.detail.length).toBeLessThanOrEqual(300);
    expect(error.problem.detail).not.toMatch(/[\r\n]/);
  }
  return { problem: error.problem, retry: error.retry };
}

describe.each(FORMATS)('$provider', (format) => {
  const { provider, model } = format;

  it('streams a reply, with usage, the model that answered and signs of life', async () => {
    const text = 'A design of several words, and a second line.\nüñí → 終';
    const progress: number[] = [];
    const reply = await ask(format, {
      answer: { text, model: format.snapshot, usage: { input: 1_000, output: 200, cacheRead: 600 } },
      onProgress: ({ outputChars }) => void progress.push(outputChars),
      chunkChars: 5,
    });
    expect(reply).toEqual({
      text,
      asked: model,
      answered: format.snapshot,
      substituted: false,
      metered: true,
      usage: { inputTokens: 1_000, outputTokens: 200, cacheReadTokens: 600, cacheWriteTokens: 0 },
    });
    expect(progress.at(-1)).toBe(text.length);
    expect(new Set(progress).size).toBeGreaterThan(5);
    expect(progress.toSorted((a, b) => a - b)).toEqual(progress);
  });

  it('sends the key, the system prompt and the parts in their order, as a stream, once', async () => {
    await ask(format, { answer: { text: 'Yes.' } });
    expect(vendor?.calls).toHaveLength(1);
    const call = vendor?.calls[0];
    expect(call).toMatchObject({ vendor: format.wire, model, key: KEY, system: 'You write designs.', streaming: true });
    expect(call?.text).toMatch(/The template\.\s+The issue\.\s+The findings\./);
    expect(call?.body).not.toHaveProperty('temperature');
  });

  it('reads an answer that comes in one piece, although a stream was asked for, from chat servers only', async () => {
    const text = 'A design.\nüñí → 終';
    const usage = { input: 1_000, output: 200, cacheRead: 600 };
    const tool = { type: 'function', name: 'read', inputSchema: { type: 'object' } } as const;
    const answer = { text, usage, model: format.snapshot, inOnePiece: true };
    if (format.wire !== 'openai-chat') {
      const { problem, retry } = await failureOf(ask(format, { answer, throughGateway: true }));
      expect({ problem, retry }).toMatchObject({ problem: { code: 'provider-bad-reply' }, retry: 'permanent' });
      expect(vendor?.calls).toHaveLength(1);
      return;
    }
    const reply = await ask(format, { answer, throughGateway: true });
    expect(reply).toMatchObject({ text, answered: format.snapshot, metered: true });
    expect(reply.usage).toMatchObject({ inputTokens: 1_000, outputTokens: 200, cacheReadTokens: 600 });
    await vendor?.close();
    const toolCalls = [{ name: 'read', input: { path: 'a.ts' } }];
    const calling: Answer = { text: 'I look.', toolCalls, stop: 'tool', inOnePiece: true };
    const called = await ask(format, { answer: calling, throughGateway: true, tools: [tool] });
    const [call] = (called.parts ?? []).filter((part) => part.type === 'tool-call');
    expect(called.text).toBe('I look.');
    expect(call).toMatchObject({ toolName: 'read' });
    expect(JSON.parse(call?.input ?? '')).toEqual({ path: 'a.ts' });
  });

  it('reports another model to a drafter, and refuses it for a review if both are listed', async () => {
    const reply = await ask(format, { answer: { text: 'Yes.', model: format.other } });
    expect(reply).toMatchObject({ answered: format.other, substituted: true });
    await vendor?.close();
    const own = await ask(format, { role: 'reviewer', answer: { text: 'Yes.', model: 'name-of-a-proxy' } });
    expect(own).toMatchObject({ answered: 'name-of-a-proxy', substituted: true });
    await vendor?.close();
    if (provider === 'openai-compatible') return;
    expect(await failureOf(ask(format, { role: 'reviewer', answer: { text: 'Yes.', model: format.other } }))).toEqual({
      problem: { code: 'model-downgraded', asked: model, answered: format.other },
      retry: 'permanent',
    });
  });

  it('lets a dated snapshot review', async () => {
    expect(await ask(format, { role: 'reviewer', answer: { text: 'Yes.', model: format.snapshot } })).toMatchObject({
      text: 'Yes.',
    });
  });

  it.each([
    ['a truncated reply', { text: 'Half a', stop: 'length' }, { code: 'reply-truncated', provider }, 'ceiling'],
    ['a refusal', { text: 'I can', stop: 'filter' }, { code: 'reply-filtered', provider }, 'permanent'],
    ['an empty reply', { text: '' }, { code: 'reply-empty', provider }, 'transient'],
    ['a blank reply', { text: ' \n ' }, { code: 'reply-empty', provider }, 'transient'],
    [
      'a connection that breaks',
      { text: 'x'.repeat(200), cutAfterChars: 100 },
      { code: 'provider-bad-reply', provider },
      'transient',
    ],
    ['a connection that breaks at once', { hangup: true }, { code: 'provider-unreachable', provider }, 'transient'],
    ['a page', { html: true, status: 200 }, { code: 'provider-bad-reply', provider }, 'transient'],
    ['a forbidding page', { html: true, status: 403 }, { code: 'provider-bad-reply', provider }, 'transient'],
    [
      'a page of an overloaded proxy',
      { html: true, status: 502 },
      { code: 'provider-bad-reply', provider },
      'transient',
    ],
    [
      'status 401',
      { status: 401, message: `bad key ${KEY}` },
      { code: 'provider-rejected-key', provider, status: 401 },
      'permanent',
    ],
    ['status 403', { status: 403 }, { code: 'provider-rejected-key', provider, status: 403 }, 'permanent'],
    ['status 402', { status: 402 }, { code: 'provider-quota', provider, status: 402, retryAfterMs: null }, 'permanent'],
    [
      'status 404',
      { status: 404, message: 'no such\nmodel' },
      { code: 'provider-refused-request', provider, status: 404 },
      'permanent',
    ],
    [
      'status 400',
      { status: 400, message: 'x'.repeat(1_000) },
      { code: 'provider-refused-request', provider, status: 400 },
      'permanent',
    ],
    ['status 408', { status: 408 }, { code: 'provider-overloaded', provider, status: 408 }, 'transient'],
    ['status 500', { status: 500 }, { code: 'provider-overloaded', provider, status: 500 }, 'transient'],
    [
      'status 503 without a body',
      { status: 503, emptyBody: true },
      { code: 'provider-bad-reply', provider },
      'transient',
    ],
    ['status 529', { status: 529 }, { code: 'provider-overloaded', provider, status: 529 }, 'transient'],
    [
      'status 429',
      { status: 429, retryAfter: 7 },
      { code: 'provider-quota', provider, status: 429, retryAfterMs: 7_000 },
      'quota',
    ],
    [
      'a used-up account',
      { status: 429, code: 'insufficient_quota', type: 'insufficient_quota' },
      { code: 'provider-quota', provider, retryAfterMs: null },
      'permanent',
    ],
  ] as [string, Answer, Partial<Problem>, RetryClass][])('names %s', async (_, answer, problem, retry) => {
    const failure = await failureOf(ask(format, { answer, throughGateway: true }));
    expect(failure).toMatchObject({ problem, retry });
    expect(vendor?.calls).toHaveLength(1);
  });

  it('shows the words of the vendor', async () => {
    const { problem } = await failureOf(
      ask(format, { answer: { status: 404, message: 'no such\nmodel' }, throughGateway: true }),
    );
    expect(problem).toMatchObject({ detail: expect.stringMatching(/no such model$/) });
  });

  it('does not follow a redirect, and names where it leads', async () => {
    const elsewhere = await startVendor();
    try {
      const answer = { redirectTo: `${elsewhere.url}/v1/messages` };
      const failure = await failureOf(ask(format, { answer, throughGateway: true }));
      expect(failure).toMatchObject({ problem: { code: 'provider-bad-reply' }, retry: 'permanent' });
      expect(failure.problem).toMatchObject({ detail: expect.stringContaining(new URL(elsewhere.url).host) });
      expect([...elsewhere.calls, ...elsewhere.others]).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });

  it('says that nobody listens', async () => {
    const gone = await startVendor();
    await gone.close();
    const failure = await failureOf(ask(format, { answer: {}, endpoint: gone.url }));
    expect(failure).toMatchObject({ problem: { code: 'provider-unreachable', provider }, retry: 'transient' });
    expect(failure.problem).toMatchObject({ detail: expect.stringContaining('ECONNREFUSED') });
  });

  it('gives up on a stream that goes silent, and leaves', async () => {
    const failure = await failureOf(
      ask(format, { answer: { text: 'x'.repeat(400), stallAfterChars: 100 }, idleTimeoutMs: 150 }),
    );
    expect(failure).toEqual({
      problem: { code: 'call-idle', what: `${provider}:${model}`, afterMs: 150 },
      retry: 'idle',
    });
    await vendor?.waitFor((calls) => calls.every((call) => call.aborted));
  });

  it('ends a call at its ceiling although it is alive', async () => {
    const answer = { text: 'x'.repeat(20_000), chunkDelayMs: 20 };
    const failure = await failureOf(ask(format, { answer, ceilingMs: 300, idleTimeoutMs: 10_000, chunkChars: 10 }));
    expect(failure).toEqual({
      problem: { code: 'call-ceiling', what: `${provider}:${model}`, afterMs: 300 },
      retry: 'ceiling',
    });
    await vendor?.waitFor((calls) => calls.every((call) => call.aborted));
  });

  it('outlives its idle bound while pieces keep coming', async () => {
    const answer = { text: 'x'.repeat(100), chunkDelayMs: 60 };
    const reply = await ask(format, { answer, idleTimeoutMs: 600, chunkChars: 5 });
    expect(reply.text).toHaveLength(100);
  });

  it('stops when the caller gives up, with the reason of the caller', async () => {
    const controller = new AbortController();
    const reason = new AgentosError({ code: 'interrupted', signal: 'SIGINT' });
    const reply = ask(format, {
      answer: { text: 'x'.repeat(400), stallAfterChars: 100 },
      signal: controller.signal,
      onProgress: ({ outputChars }) => outputChars > 0 && controller.abort(reason),
    });
    await expect(reply).rejects.toBe(reason);
    await vendor?.waitFor((calls) => calls.every((call) => call.aborted));
  });

  it('asks nobody when the caller has given up before', async () => {
    const reason = new AgentosError({ code: 'interrupted', signal: 'SIGTERM' });
    await expect(ask(format, { answer: {}, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(vendor?.calls).toEqual([]);
  });
});

const IN_STREAM: [string, string, string, Partial<Problem>, RetryClass][] = [
  ['anthropic', 'claude-sonnet-4-5', 'overloaded_error', { code: 'provider-overloaded', status: null }, 'transient'],
  ['anthropic', 'claude-sonnet-4-5', 'rate_limit_error', { code: 'provider-quota', status: null }, 'quota'],
  ['anthropic', 'claude-sonnet-4-5', 'invalid_request_error', { code: 'provider-refused-request' }, 'permanent'],
  ['anthropic', 'claude-sonnet-4-5', 'unheard_of', { code: 'provider-bad-reply' }, 'transient'],
  ['google', 'gemini-3-pro', 'UNAVAILABLE', { code: 'provider-overloaded' }, 'transient'],
  ['google', 'gemini-3-pro', 'RESOURCE_EXHAUSTED', { code: 'provider-quota' }, 'quota'],
  ['openai', 'gpt-5', 'server_error', { code: 'provider-overloaded' }, 'transient'],
  ['openai', 'gpt-5', 'insufficient_quota', { code: 'provider-quota', retryAfterMs: null }, 'permanent'],
  ['openai-compatible', 'm', 'server_error', { code: 'provider-overloaded' }, 'transient'],
  ['openai-compatible', 'm', 'rate_limit_exceeded', { code: 'provider-quota' }, 'quota'],
];

describe('an error inside a stream that began well', () => {
  for (const afterChars of [0, 60]) {
    it.each(IN_STREAM)(
      `of %s %s is classified by its type after ${afterChars} characters: %s`,
      async (provider, model, type, problem, retry) => {
        const answer = { text: 'x'.repeat(100), errorInStream: { type, message: 'It went wrong.', afterChars } };
        const failure = await failureOf(ask({ provider, model }, { answer }));
        expect(failure).toMatchObject({ problem, retry });
      },
    );
  }
});

describe('what only one vendor does', () => {
  it('Anthropic is asked to cache the system prompt and the repeating parts, and tells what it wrote', async () => {
    const usage = { input: 1_000, output: 20, cacheRead: 100, cacheWrite: 800 };
    const reply = await ask(FORMATS[0], { answer: { text: 'Yes.', usage } });
    expect(reply.usage).toEqual({ inputTokens: 1_000, outputTokens: 20, cacheReadTokens: 100, cacheWriteTokens: 800 });
    const mark = { cache_control: { type: 'ephemeral' } };
    expect(vendor?.calls[0]?.body).toMatchObject({
      max_tokens: 64_000,
      system: [{ text: 'You write designs.', ...mark }],
      messages: [{ content: [{ text: 'The template.' }, { text: 'The issue.', ...mark }, { text: 'The findings.' }] }],
    });
    expect(JSON.stringify(vendor?.calls[0]?.body).match(/cache_control/g)).toHaveLength(2);
  });

  it('OpenAI is asked to store nothing', async () => {
    await ask(FORMATS[2], { answer: { text: 'Yes.' } });
    expect(vendor?.calls[0]?.body).toMatchObject({ store: false });
  });

  it('a daily quota of Gemini is a long pause, not the few seconds beside it', async () => {
    const quotaId = 'GenerateRequestsPerDayPerProjectPerModel-FreeTier';
    const { problem, retry } = await failureOf(
      ask(FORMATS[1], { answer: { status: 429, retryAfter: 0, quotaId }, throughGateway: true }),
    );
    expect(retry).toBe('quota');
    expect(problem.code === 'provider-quota' && problem.retryAfterMs).toBeGreaterThan(0);
  });

  it('a blank base URL in the environment harms nobody', async () => {
    process.env['ANTHROPIC_BASE_URL'] = '';
    expect(await ask(FORMATS[0], { answer: { text: 'Yes.' } })).toMatchObject({ text: 'Yes.' });
    expect(process.env).not.toHaveProperty('ANTHROPIC_BASE_URL');
  });
});
