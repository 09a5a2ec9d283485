import { type Fields, fieldsOf, textOf } from '../../core/json.ts';
import type { Usage } from '../../core/money.ts';
import { countOf, type Failure, limitOf, type Tally, type WireFormat } from './format.ts';

const ERROR_TYPES: Readonly<Record<number, string>> = {
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

const STATUSES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.entries(ERROR_TYPES).map(([status, type]) => [type, Number(status)]),
);

/**
 * `message_start` has the input and `message_delta` the cumulative output; newer deltas repeat the input. The vendor counts cache
 * reads and writes separately from other input.
 */
function readUsage(said: unknown, before: Usage | null): Usage | null {
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
  tally.usage = readUsage(message['usage'], tally.usage);
  tally.stopReason = textOf(message['stop_reason']) ?? tally.stopReason;
}

function errorBody({ status, message, record }: Failure): Fields {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
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
        tally.usage = readUsage(event['usage'], tally.usage);
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
    return STATUSES[textOf(fieldsOf(event['error'])['type']) ?? ''] ?? 500;
  },
  errorBody,
  errorEvent: (failure) => `event: error\ndata: ${JSON.stringify(errorBody(failure))}\n\n`,
};
