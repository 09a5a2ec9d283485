import { describe, expect, test } from 'vitest';
import { anthropic, google, openaiChat, openaiResponses } from './vendor-formats.ts';
import { emptyTally, type Tally, usageOf, type WireFormat } from './wire-format.ts';

function read(format: WireFormat, ...events: Record<string, unknown>[]): Tally {
  const tally = emptyTally();
  for (const event of events) format.read(event, tally);
  return tally;
}

test('Anthropic: the cache counts beside the input, and a later count replaces an earlier one', () => {
  const usage = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 5, output_tokens: 1 };
  const start = { type: 'message_start', message: { model: 'claude-x', usage } };
  const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 77 } };
  const expected = { inputTokens: 115, outputTokens: 77, cacheReadTokens: 100, cacheWriteTokens: 5 };
  expect(read(anthropic, start, delta)).toMatchObject({ usage: expected, answered: 'claude-x', complete: false });
  const again = { ...delta, usage: { ...usage, input_tokens: 20, output_tokens: 80 } };
  expect(read(anthropic, start, again, { type: 'message_stop' })).toMatchObject({
    usage: { inputTokens: 125, outputTokens: 80 },
    complete: true,
    stopReason: 'end_turn',
  });
});

test('Gemini: thoughts are output, what tools put into the prompt is input', () => {
  const usageMetadata = {
    promptTokenCount: 10,
    toolUsePromptTokenCount: 3,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 50,
    cachedContentTokenCount: 4,
  };
  const tally = read(google, { candidates: [{ finishReason: 'STOP' }], usageMetadata, modelVersion: 'gemini-x' });
  expect(tally).toMatchObject({
    usage: { inputTokens: 13, outputTokens: 55, cacheReadTokens: 4 },
    answered: 'gemini-x',
    complete: true,
  });
});

test('Gemini: a prompt that was blocked is answered, with nothing', () => {
  expect(read(google, { promptFeedback: { blockReason: 'SAFETY' } })).toMatchObject({
    stopReason: 'SAFETY',
    complete: true,
  });
});

test('OpenAI: usage that is null in all events but one is not zero', () => {
  const tally = read(
    openaiChat,
    { model: 'gpt-x', choices: [{ delta: {}, finish_reason: null }], usage: null },
    { choices: [{ delta: {}, finish_reason: 'stop' }], usage: null },
  );
  expect(tally).toMatchObject({ usage: null, complete: true, stopReason: 'stop', answered: 'gpt-x' });
});

test('OpenAI: a response that ended early is complete, with the reason', () => {
  const response = {
    model: 'gpt-x',
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    usage: { input_tokens: 7, output_tokens: 9, input_tokens_details: { cached_tokens: 2 } },
  };
  expect(read(openaiResponses, { type: 'response.incomplete', response })).toMatchObject({
    usage: { inputTokens: 7, outputTokens: 9, cacheReadTokens: 2 },
    stopReason: 'max_output_tokens',
    complete: true,
  });
});

describe('an error as an event stands for a status', () => {
  test.each<[format: WireFormat, event: Record<string, unknown>, status: number | null]>([
    [anthropic, { type: 'error', error: { type: 'overloaded_error' } }, 529],
    [anthropic, { type: 'error', error: { type: 'something_new' } }, 500],
    [anthropic, { type: 'message_start' }, null],
    [google, { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }, 429],
    [google, { candidates: [] }, null],
    [openaiChat, { error: { code: 'rate_limit_exceeded' } }, 429],
    [openaiChat, { error: { code: 502, message: 'from a router' } }, 502],
    [openaiChat, { choices: [] }, null],
    [openaiResponses, { type: 'error', code: 'server_is_overloaded' }, 503],
    [openaiResponses, { type: 'response.failed', response: { error: { code: 'rate_limit_exceeded' } } }, 429],
    [openaiResponses, { type: 'response.created', response: { error: null } }, null],
  ])('%#', (format, event, status) => {
    expect(format.errorStatus(event)).toBe(status);
  });
});

test('usage with a number that is no count is not believed', () => {
  const said = (usage: Record<string, unknown>) => usageOf(read(openaiChat, { usage }));
  expect(said({ prompt_tokens: 'many', completion_tokens: 4 })).toBeNull();
  expect(said({ prompt_tokens: 5, completion_tokens: -4 })).toBeNull();
  expect(said({ prompt_tokens: 5, completion_tokens: 1e12 })).toBeNull();
  const usage = { promptTokenCount: 9, toolUsePromptTokenCount: -9, candidatesTokenCount: 1 };
  expect(usageOf(read(google, { usageMetadata: usage }))).toBeNull();
  expect(said({ prompt_tokens: 5, prompt_tokens_details: null })).toMatchObject({ inputTokens: 5, outputTokens: 0 });
});
