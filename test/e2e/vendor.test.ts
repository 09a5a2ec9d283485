import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, isStepCount, type LanguageModel, streamText, tool } from 'ai';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const open: Vendor[] = [];
afterEach(async () => {
  for (const vendor of open.splice(0)) await vendor.close();
});

async function start(options: VendorOptions): Promise<Vendor> {
  const vendor = await startVendor(options);
  open.push(vendor);
  return vendor;
}

const apiKey = 'key-1';
const peers: [name: string, model: (url: string) => LanguageModel][] = [
  ['anthropic', (url) => createAnthropic({ baseURL: `${url}/v1`, apiKey })('claude-sonnet-4-5')],
  ['google', (url) => createGoogle({ baseURL: `${url}/v1beta`, apiKey })('gemini-2.5-pro')],
  ['openai-chat', (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat('gpt-5')],
  ['openai-responses', (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses('gpt-5')],
  [
    'openai-chat',
    (url) => createOpenAICompatible({ name: 'other', baseURL: url, apiKey, includeUsage: true })('other-test'),
  ],
];

/** The stream's text and the first error in it, as an SDK sees them. */
async function consume(model: LanguageModel): Promise<{ text: string; error: unknown }> {
  const stream = streamText({ model, prompt: 'Go', maxRetries: 0, onError: () => undefined }).fullStream;
  let text = '';
  let error: unknown = null;
  try {
    for await (const part of stream) {
      if (part.type === 'text-delta') text += part.text;
      if (part.type === 'error') error ??= part.error;
    }
  } catch (thrown) {
    error ??= thrown;
  }
  return { text, error };
}

describe.each(peers)('as %s', (name, model) => {
  const answer = {
    text: 'Zwölf Boxkämpfer 🥊 jagen Viktor quer über den großen Sylter Deich.',
    model: 'snapshot-2026-01-01',
    usage: { input: 1200, output: 34, cacheRead: 1000 },
  };

  test('a streamed reply arrives whole, with model, usage and stop reason', async () => {
    const vendor = await start({ script: () => answer, chunkChars: 5 });
    const result = streamText({ model: model(vendor.url), system: 'Be brief.', prompt: 'Tell me.', maxRetries: 0 });
    expect(await result.text).toBe(answer.text);
    expect(await result.finishReason).toBe('stop');
    expect(await result.usage).toMatchObject({
      inputTokens: 1200,
      outputTokens: 34,
      inputTokenDetails: { cacheReadTokens: 1000 },
    });
    // Gemini's SDK passes `modelVersion` on in another place.
    if (name !== 'google') expect((await result.response).modelId).toBe(answer.model);
    await vendor.waitForFinished(1);
    expect(vendor.calls).toMatchObject([
      {
        vendor: name,
        key: apiKey,
        system: 'Be brief.',
        text: 'Tell me.',
        streaming: true,
        status: 200,
        aborted: false,
      },
    ]);
  });

  test('a reply in one piece says the same', async () => {
    const vendor = await start({ script: () => answer });
    const result = await generateText({ model: model(vendor.url), prompt: 'Tell me.', maxRetries: 0 });
    expect(result.text).toBe(answer.text);
    expect(result.usage).toMatchObject({ inputTokens: 1200, outputTokens: 34 });
    expect(vendor.calls[0]?.streaming).toBe(false);
  });

  test.each([
    ['length', 'length'],
    ['filter', 'content-filter'],
  ] as const)('the stop reason %s is understood', async (stop, finishReason) => {
    const vendor = await start({ script: () => ({ text: 'half', stop }) });
    const streamed = streamText({ model: model(vendor.url), prompt: 'Go', maxRetries: 0 });
    expect(await streamed.finishReason).toBe(finishReason);
    expect((await generateText({ model: model(vendor.url), prompt: 'Go', maxRetries: 0 })).finishReason).toBe(
      finishReason,
    );
  });

  test.each([true, false])(
    'a scripted tool call is made and its result comes back (streaming: %s)',
    async (streaming) => {
      const vendor = await start({
        chunkChars: 4,
        script: (call) =>
          call.toolResults.length === 0
            ? { text: 'Let me look.', toolCalls: [{ name: 'weather', input: { city: 'Oslo', days: 3 } }] }
            : { text: `It is ${call.toolResults[0]?.text}` },
      });
      const weather = tool({
        inputSchema: z.object({ city: z.string(), days: z.number() }),
        execute: ({ city, days }) => `wet in ${city} for ${days} days`,
      });
      const settings = { prompt: 'Weather?', tools: { weather }, stopWhen: isStepCount(3), maxRetries: 0 };
      const result = streaming
        ? streamText({ model: model(vendor.url), ...settings })
        : await generateText({ model: model(vendor.url), ...settings });
      expect(await result.text).toContain('wet in Oslo for 3 days');
      expect(vendor.calls.map((call) => call.tools)).toEqual([['weather'], ['weather']]);
    },
  );

  test('an error has the status and words of the vendor', async () => {
    const vendor = await start({ script: () => ({ status: 429, message: 'slow down, please', retryAfter: 7 }) });
    const error: unknown = await generateText({ model: model(vendor.url), prompt: 'Go', maxRetries: 0 }).catch(
      (thrown: unknown) => thrown,
    );
    expect(APICallError.isInstance(error) && { status: error.statusCode, message: error.message }).toEqual({
      status: 429,
      message: 'slow down, please',
    });
  });

  test('an error inside a stream comes after the text before it', async () => {
    const type = name === 'google' ? 'UNAVAILABLE' : 'overloaded_error';
    const vendor = await start({
      script: () => ({ text: 'one two three', errorInStream: { type, message: 'too much', afterChars: 7 } }),
    });
    const { text, error } = await consume(model(vendor.url));
    expect(text).toBe('one two');
    expect(String(error instanceof Error ? error.message : JSON.stringify(error))).toContain('too much');
    expect(vendor.calls[0]).toMatchObject({ status: 200, finished: false, aborted: false });
  });

  test('a stream that is cut off is an error after exactly the text before the cut', async () => {
    const vendor = await start({ script: () => ({ text: 'one two three', cutAfterChars: 7 }) });
    const { text, error } = await consume(model(vendor.url));
    expect(text).toBe('one two');
    expect(error).not.toBeNull();
    await vendor.waitFor((calls) => calls[0]?.status === 200);
    expect(vendor.calls[0]).toMatchObject({ finished: false, aborted: false });
  });

  test('a stream that stalls stays open until the caller leaves', async () => {
    const vendor = await start({ script: () => ({ text: 'one two three', stallAfterChars: 7 }) });
    const left = new AbortController();
    const stream = streamText({
      model: model(vendor.url),
      prompt: 'Go',
      maxRetries: 0,
      abortSignal: left.signal,
      onError: () => undefined,
    }).fullStream;
    let text = '';
    for await (const part of stream) {
      if (part.type !== 'text-delta') continue;
      text += part.text;
      if (text === 'one two') left.abort();
    }
    expect(text).toBe('one two');
    await vendor.waitFor((calls) => calls[0]?.aborted === true);
    expect(vendor.calls[0]?.finished).toBe(false);
  });

  test('an unknown key is refused', async () => {
    const vendor = await start({ keys: ['another'] });
    const error: unknown = await generateText({ model: model(vendor.url), prompt: 'Go', maxRetries: 0 }).catch(
      (thrown: unknown) => thrown,
    );
    expect(APICallError.isInstance(error) && error.statusCode).toBe(name === 'google' ? 400 : 401);
    expect(vendor.counters.total).toMatchObject({ requests: 1, badKey: 1, ok: 0 });
  });
});
