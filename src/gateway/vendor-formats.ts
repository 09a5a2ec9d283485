import { type Fields, fieldsOf, listOf, textOf } from '../core/json.ts';
import type { Usage } from '../core/money.ts';
import { countOf, type Failure, limitOf, type Tally, type WireFormat } from './wire-format.ts';

const ANTHROPIC_ERRORS: Readonly<Record<number, string>> = {
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

const ANTHROPIC_STATUSES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(ANTHROPIC_ERRORS).map(([status, type]) => [type, Number(status)]),
);

/**
 * `message_start` has the input and `message_delta` the cumulative output; newer deltas repeat the input. The vendor counts cache
 * reads and writes separately from other input.
 */
function anthropicUsage(said: unknown, before: Usage | null): Usage | null {
  if (said === undefined) return before;
  const usage = fieldsOf(said);
  const known = (name: string, otherwise: number): number =>
    usage[name] === undefined || usage[name] === null ? otherwise : countOf(usage[name]);
  const cacheReadTokens = known('cache_read_input_tokens', before?.cacheReadTokens ?? 0);
  const cacheWriteTokens = known('cache_creation_input_tokens', before?.cacheWriteTokens ?? 0);
  const plainBefore = before === null ? 0 : before.inputTokens - before.cacheReadTokens - before.cacheWriteTokens;
  return {
    inputTokens: known('input_tokens', plainBefore) + cacheReadTokens + cacheWriteTokens,
    outputTokens: known('output_tokens', before?.outputTokens ?? 0),
    cacheReadTokens,
    cacheWriteTokens,
  };
}

function readMessage(message: Fields, tally: Tally): void {
  tally.answered ??= textOf(message['model']) ?? null;
  tally.usage = anthropicUsage(message['usage'], tally.usage);
  tally.stopReason = textOf(message['stop_reason']) ?? tally.stopReason;
}

function anthropicError({ status, message, record }: Failure): Fields {
  const type = ANTHROPIC_ERRORS[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return { type: 'error', error: { type, message, agentos: record } };
}

export const anthropic: WireFormat = {
  name: 'anthropic',
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
  overloadedStatus: 529,
  readRequest: (body) => ({
    model: textOf(body['model']) ?? null,
    streaming: body['stream'] === true,
    maxOutputTokens: limitOf(body['max_tokens']),
  }),
  read(event, tally) {
    switch (event['type']) {
      case 'message_start':
        return readMessage(fieldsOf(event['message']), tally);
      case 'message_delta':
        tally.usage = anthropicUsage(event['usage'], tally.usage);
        tally.stopReason = textOf(fieldsOf(event['delta'])['stop_reason']) ?? tally.stopReason;
        return;
      case 'message_stop':
        tally.complete = true;
        return;
      case 'message':
        readMessage(event, tally);
        tally.complete = true;
        return;
      case 'error':
        tally.failed = true;
    }
  },
  errorStatus(event) {
    if (event['type'] !== 'error') return null;
    return ANTHROPIC_STATUSES[textOf(fieldsOf(event['error'])['type']) ?? ''] ?? 500;
  },
  errorBody: anthropicError,
  errorEvent: (failure) => `event: error\ndata: ${JSON.stringify(anthropicError(failure))}\n\n`,
};

const GOOGLE_STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Its clients read the delay from the body, not from a header. */
function googleError({ status, message, retryAfterMs, record }: Failure): Fields {
  const retryInfo = {
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: `${(retryAfterMs ?? 0) / 1000}s`,
  };
  return {
    error: {
      code: status,
      message,
      status: GOOGLE_STATUSES[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT'),
      ...(retryAfterMs === null ? {} : { details: [retryInfo] }),
      agentos: record,
    },
  };
}

export const google: WireFormat = {
  name: 'google',
  /** Its own clients skip blank lines before an event and nothing else: a comment breaks their stream. */
  keepAlive: '\n',
  overloadedStatus: 503,
  /** The model and whether it streams are in the path. */
  readRequest: (body) => ({
    model: null,
    streaming: false,
    maxOutputTokens: limitOf(fieldsOf(body['generationConfig'] ?? body['generation_config'])['maxOutputTokens']),
  }),
  read(event, tally) {
    if (event['error'] !== undefined) tally.failed = true;
    tally.answered ??= textOf(event['modelVersion']) ?? null;
    if (event['usageMetadata'] !== undefined) {
      const usage = fieldsOf(event['usageMetadata']);
      tally.usage = {
        inputTokens: countOf(usage['promptTokenCount']) + countOf(usage['toolUsePromptTokenCount']),
        outputTokens: countOf(usage['candidatesTokenCount']) + countOf(usage['thoughtsTokenCount']),
        cacheReadTokens: countOf(usage['cachedContentTokenCount']),
        cacheWriteTokens: 0,
      };
    }
    const blocked = textOf(fieldsOf(event['promptFeedback'])['blockReason']);
    const reasons = listOf(event['candidates']).map((candidate) => textOf(candidate['finishReason']));
    for (const reason of [blocked, ...reasons]) {
      if (reason === undefined) continue;
      tally.stopReason = reason;
      tally.complete = true;
    }
  },
  errorStatus(event) {
    if (event['error'] === undefined) return null;
    const { code } = fieldsOf(event['error']);
    return typeof code === 'number' && code >= 400 && code < 600 ? code : 500;
  },
  errorBody: googleError,
  /** Its own clients see an error only in a chunk that is JSON as a whole; others ignore it as an unknown field. */
  errorPreface: (failure) => `${JSON.stringify(googleError(failure))}\n`,
  errorEvent: (failure) => `data: ${JSON.stringify(googleError(failure))}\r\n\r\n`,
};

const OPENAI_ERRORS: Readonly<Record<number, { type: string; code: string }>> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  402: { type: 'insufficient_quota', code: 'insufficient_quota' },
  404: { type: 'invalid_request_error', code: 'not_found' },
  429: { type: 'requests', code: 'rate_limit_exceeded' },
  503: { type: 'server_error', code: 'server_is_overloaded' },
};

function openaiError({ status, message, record }: Failure): Fields {
  const usual = OPENAI_ERRORS[status] ?? { type: status >= 500 ? 'server_error' : 'invalid_request_error', code: null };
  return { message, type: usual.type, param: null, code: usual.code, agentos: record };
}

const OPENAI_STATUSES: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  slow_down: 429,
  server_is_overloaded: 503,
  server_overloaded: 503,
  invalid_prompt: 400,
  context_length_exceeded: 400,
};

/** The status that an error's code stands for; the code may be the status itself. */
function openaiErrorStatus(error: Fields): number {
  const { code, type } = error;
  if (typeof code === 'number' && code >= 400 && code < 600) return code;
  return OPENAI_STATUSES[String(code)] ?? OPENAI_STATUSES[String(type)] ?? 500;
}

/** `input` includes cached tokens. */
function openaiUsage(input: unknown, output: unknown, details: unknown): Usage {
  const { cached_tokens: cached, cache_write_tokens: written } = fieldsOf(details);
  return {
    inputTokens: countOf(input),
    outputTokens: countOf(output),
    cacheReadTokens: countOf(cached),
    cacheWriteTokens: countOf(written),
  };
}

export const openaiChat: WireFormat = {
  name: 'openai-chat',
  keepAlive: ': keep-alive\n\n',
  overloadedStatus: 503,
  readRequest: (body) => ({
    model: textOf(body['model']) ?? null,
    streaming: body['stream'] === true,
    maxOutputTokens: limitOf(body['max_completion_tokens']) ?? limitOf(body['max_tokens']),
  }),
  read(event, tally) {
    if (event['error'] !== undefined && event['error'] !== null) tally.failed = true;
    tally.answered ??= textOf(event['model']) ?? null;
    if (typeof event['usage'] === 'object' && event['usage'] !== null) {
      const usage = fieldsOf(event['usage']);
      tally.usage = openaiUsage(usage['prompt_tokens'], usage['completion_tokens'], usage['prompt_tokens_details']);
    }
    for (const choice of listOf(event['choices'])) {
      const reason = textOf(choice['finish_reason']);
      if (reason === undefined) continue;
      tally.stopReason = reason;
      tally.complete = true;
    }
  },
  /** Some compatible servers don't stream. */
  streamOf(body) {
    const choices = listOf(body['choices']).map(({ message, ...choice }) => {
      const delta = fieldsOf(message);
      const calls = listOf(delta['tool_calls']).map((call, index) => ({ index, ...call }));
      return { ...choice, delta: { ...delta, ...(calls.length === 0 ? {} : { tool_calls: calls }) } };
    });
    const chunk = { ...body, object: 'chat.completion.chunk', choices };
    return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  },
  errorStatus: (event) =>
    event['error'] === undefined || event['error'] === null ? null : openaiErrorStatus(fieldsOf(event['error'])),
  errorBody: (failure) => ({ error: openaiError(failure) }),
  errorEvent: (failure) => `data: ${JSON.stringify({ error: openaiError(failure) })}\n\n`,
};

function readResponse(response: Fields, tally: Tally): void {
  tally.answered ??= textOf(response['model']) ?? null;
  if (typeof response['usage'] === 'object' && response['usage'] !== null) {
    const usage = fieldsOf(response['usage']);
    tally.usage = openaiUsage(usage['input_tokens'], usage['output_tokens'], usage['input_tokens_details']);
  }
}

function readEnd(response: Fields, tally: Tally): void {
  readResponse(response, tally);
  tally.stopReason = textOf(fieldsOf(response['incomplete_details'])['reason']) ?? textOf(response['status']) ?? null;
  tally.complete = true;
}

export const openaiResponses: WireFormat = {
  name: 'openai-responses',
  /** The vendor's own event. A comment is not enough: Codex takes a stream without events for dead. */
  keepAlive: 'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n',
  overloadedStatus: 503,
  readRequest: (body) => ({
    model: textOf(body['model']) ?? null,
    streaming: body['stream'] === true,
    maxOutputTokens: limitOf(body['max_output_tokens']),
  }),
  read(event, tally) {
    const { type, response, object } = event;
    if (type === 'response.completed' || type === 'response.incomplete') return readEnd(fieldsOf(response), tally);
    if (type === 'response.failed' || type === 'error') tally.failed = true;
    if (response !== undefined) return readResponse(fieldsOf(response), tally);
    if (object === 'response') readEnd(event, tally);
  },
  errorStatus(event) {
    if (event['type'] === 'error')
      return openaiErrorStatus(event['error'] === undefined ? event : fieldsOf(event['error']));
    if (event['type'] !== 'response.failed') return null;
    return openaiErrorStatus(fieldsOf(fieldsOf(event['response'])['error']));
  },
  errorBody: (failure) => ({ error: openaiError(failure) }),
  errorEvent(failure) {
    const error = openaiError(failure);
    // Some clients read the error event, others the failed response.
    const failed = { id: 'resp_gateway', object: 'response', status: 'failed', error, output: [] };
    const events = [
      { type: 'error', sequence_number: 0, ...error, error },
      { type: 'response.failed', sequence_number: 1, response: failed },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  },
};
