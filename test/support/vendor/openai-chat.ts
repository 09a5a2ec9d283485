import type { Reply, Stop } from './answer.ts';
import { type Dialect, type Frame, type Prompt, pieces, type StreamShape } from './dialect.ts';
import { asArray, asObject, asString, type JsonObject, textOf } from './json.ts';
import { openaiShared, openaiUsage } from './openai.ts';

const FINISH_REASONS: Record<Stop, string> = {
  end: 'stop',
  length: 'length',
  filter: 'content_filter',
  tool: 'tool_calls',
};

function read(body: JsonObject): Prompt {
  const messages = asArray(body['messages']);
  const turns = messages.map(asObject);
  const textBy = (...roles: string[]): string =>
    turns
      .filter((turn) => roles.includes(asString(turn['role'])))
      .map((turn) => textOf(turn['content']))
      .join('\n');
  return {
    model: asString(body['model']),
    system: textBy('system', 'developer'),
    text: textBy('user'),
    messages,
    tools: asArray(body['tools']).map((tool) => asString(asObject(asObject(tool)['function'])['name'])),
    toolResults: turns
      .filter((turn) => turn['role'] === 'tool')
      .map((turn) => ({ id: asString(turn['tool_call_id']), text: textOf(turn['content']) })),
    streaming: body['stream'] === true,
  };
}

function usage(reply: Reply): JsonObject {
  const { input, output, total, cached } = openaiUsage(reply);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  };
}

function envelope(reply: Reply, object: string): JsonObject {
  return {
    id: `chatcmpl-${reply.serial}`,
    object,
    created: Math.floor(reply.createdMs / 1000),
    model: reply.model,
    service_tier: 'default',
    system_fingerprint: 'fp_loopback',
  };
}

function toolCall({ id, name, input }: Reply['toolCalls'][number], args = JSON.stringify(input)): JsonObject {
  return { id: `call_${id}`, type: 'function', function: { name, arguments: args } };
}

function whole(reply: Reply): unknown {
  const calls = reply.toolCalls.map((call) => toolCall(call));
  const message = {
    role: 'assistant',
    content: reply.text === '' && calls.length > 0 ? null : reply.text,
    refusal: null,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: FINISH_REASONS[reply.stop] };
  return { ...envelope(reply, 'chat.completion'), choices: [choice], usage: usage(reply) };
}

function* stream(reply: Reply, shape: StreamShape, body: JsonObject): Iterable<Frame> {
  const metered = asObject(body['stream_options'])['include_usage'] === true;
  const base = { ...envelope(reply, 'chat.completion.chunk'), ...(metered ? { usage: null } : {}) };
  const frame = (delta: JsonObject, finish: string | null = null, chars = 0): Frame => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    return { data: `data: ${JSON.stringify({ ...base, choices })}\n\n`, chars };
  };
  yield frame({ role: 'assistant', content: reply.toolCalls.length > 0 && reply.text === '' ? null : '' });
  for (const content of pieces(reply.text, shape)) yield frame({ content }, null, content.length);
  for (const [index, call] of reply.toolCalls.entries()) {
    yield frame({ tool_calls: [{ index, ...toolCall(call, '') }] });
    for (const part of pieces(JSON.stringify(call.input), { ...shape, breakAt: null })) {
      yield frame({ tool_calls: [{ index, function: { arguments: part } }] });
    }
  }
  yield frame({}, FINISH_REASONS[reply.stop]);
  if (metered) {
    yield { data: `data: ${JSON.stringify({ ...base, choices: [], usage: usage(reply) })}\n\n`, chars: 0 };
  }
  yield { data: 'data: [DONE]\n\n', chars: 0 };
}

export const openaiChat: Dialect = {
  ...openaiShared,
  vendor: 'openai-chat',
  read,
  whole,
  stream,
  faultInStream: ({ type, message }) =>
    `data: ${JSON.stringify({ error: { message, type, param: null, code: null } })}\n\n`,
};
