import type { Fault, Reply, Stop } from './answer.ts';
import { type Dialect, type Frame, type Prompt, pieces, retrySeconds, type StreamShape } from './dialect.ts';
import { asArray, asObject, asString, type JsonObject, textOf } from './json.ts';

const STOP_REASONS: Record<Stop, string> = {
  end: 'end_turn',
  length: 'max_tokens',
  filter: 'refusal',
  tool: 'tool_use',
};

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

function read(body: JsonObject): Prompt {
  const messages = asArray(body['messages']);
  const blocks = messages.map(asObject).flatMap((message) => {
    const content = message['content'];
    const list = typeof content === 'string' ? [{ type: 'text', text: content }] : asArray(content);
    return message['role'] === 'user' ? list.map(asObject) : [];
  });
  return {
    model: asString(body['model']),
    system: textOf(body['system']),
    text: textOf(blocks.filter((block) => block['type'] === 'text')),
    messages,
    tools: asArray(body['tools']).map((tool) => asString(asObject(tool)['name'])),
    toolResults: blocks
      .filter((block) => block['type'] === 'tool_result')
      .map((block) => ({ id: asString(block['tool_use_id']), text: textOf(block['content']) })),
    streaming: body['stream'] === true,
  };
}

function inputUsage(reply: Reply): JsonObject {
  const { input, cacheRead, cacheWrite } = reply.usage;
  return {
    input_tokens: Math.max(0, input - cacheRead - cacheWrite),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: 0 },
    service_tier: 'standard',
  };
}

function message(reply: Reply, content: unknown[], stopReason: string | null, output: number): JsonObject {
  return {
    id: `msg_${reply.serial}`,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: { ...inputUsage(reply), output_tokens: output },
  };
}

function whole(reply: Reply): unknown {
  const content = [
    ...(reply.text === '' ? [] : [{ type: 'text', text: reply.text }]),
    ...reply.toolCalls.map(({ id, name, input }) => ({ type: 'tool_use', id: `toolu_${id}`, name, input })),
  ];
  return message(reply, content, STOP_REASONS[reply.stop], reply.usage.output);
}

function frame(event: JsonObject & { type: string }, chars = 0): Frame {
  return { data: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`, chars };
}

function* stream(reply: Reply, shape: StreamShape): Iterable<Frame> {
  yield frame({ type: 'message_start', message: message(reply, [], null, 1) });
  let index = 0;
  if (reply.text !== '') {
    yield frame({ type: 'content_block_start', index, content_block: { type: 'text', text: '' } });
    yield frame({ type: 'ping' });
    for (const text of pieces(reply.text, shape)) {
      yield frame({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } }, text.length);
    }
    yield frame({ type: 'content_block_stop', index });
    index += 1;
  }
  for (const { id, name, input } of reply.toolCalls) {
    const block = { type: 'tool_use', id: `toolu_${id}`, name, input: {} };
    yield frame({ type: 'content_block_start', index, content_block: block });
    yield frame({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '' } });
    for (const partial of pieces(JSON.stringify(input), { ...shape, breakAt: null })) {
      yield frame({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: partial } });
    }
    yield frame({ type: 'content_block_stop', index });
    index += 1;
  }
  yield frame({
    type: 'message_delta',
    delta: { stop_reason: STOP_REASONS[reply.stop], stop_sequence: null },
    usage: { ...inputUsage(reply), output_tokens: reply.usage.output },
  });
  yield frame({ type: 'message_stop' });
}

function fault(fault: Fault): JsonObject {
  const type = fault.type ?? ERROR_TYPES[fault.status] ?? (fault.status >= 500 ? 'api_error' : 'invalid_request_error');
  return {
    type: 'error',
    error: { type, message: fault.message ?? type, ...(fault.code === undefined ? {} : { code: fault.code }) },
    request_id: 'req_fault',
  };
}

export const anthropic: Dialect = {
  vendor: 'anthropic',
  read,
  whole,
  stream,
  fault,
  faultHeaders: (fault) => (fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) }),
  faultInStream: (error) => frame({ type: 'error', error }).data,
  denied: (denial, time) => ({
    status: 429,
    message:
      denial.dimension === 'concurrency'
        ? 'Number of concurrent connections has exceeded your rate limit. Please try again later.'
        : `This request would exceed the rate limit for your organization of ${denial.limit} ${denial.dimension.replace('-', ' ')} per minute.`,
    ...(denial.retryAfterMs === null ? {} : { retryAfter: retrySeconds(denial.retryAfterMs, time) }),
  }),
  quotaHeaders: (quota, time) => {
    const headers: Record<string, string> = {};
    for (const [dimension, bucket] of Object.entries(quota)) {
      // Token counts are rounded to the nearest thousand, as the vendor does.
      const remaining = dimension === 'requests' ? bucket.remaining : Math.round(bucket.remaining / 1000) * 1000;
      const name = `anthropic-ratelimit-${dimension}`;
      headers[`${name}-limit`] = String(bucket.limit);
      headers[`${name}-remaining`] = String(Math.max(0, Math.floor(remaining)));
      headers[`${name}-reset`] = new Date(time.nowMs + time.scale(bucket.resetMs)).toISOString();
    }
    return headers;
  },
  identity: (group, serial) => ({ 'anthropic-organization-id': group, 'request-id': `req_${serial}` }),
  badKey: { status: 401, message: 'invalid x-api-key' },
  overloaded: { status: 529, message: 'Overloaded' },
};
