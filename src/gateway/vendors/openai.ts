import { type Fields, fieldsOf, listOf, textOf } from '../../core/json.ts';
import type { Usage } from '../../core/money.ts';
import { countOf, type Failure, limitOf, type Tally, type WireFormat } from './format.ts';

const ERRORS: Readonly<Record<number, { type: string; code: string }>> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  402: { type: 'insufficient_quota', code: 'insufficient_quota' },
  404: { type: 'invalid_request_error', code: 'not_found' },
  429: { type: 'requests', code: 'rate_limit_exceeded' },
  503: { type: 'server_error', code: 'server_is_overloaded' },
};

function openaiError({ status, message, record }: Failure): Fields {
  const usual = ERRORS[status] ?? { type: status >= 500 ? 'server_error' : 'invalid_request_error', code: null };
  return { message, type: usual.type, param: null, code: usual.code, agentos: record };
}

const STATUSES: Readonly<Record<string, number>> = {
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
  return STATUSES[String(code)] ?? STATUSES[String(type)] ?? 500;
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
