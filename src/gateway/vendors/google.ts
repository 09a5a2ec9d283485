import { type Fields, fieldsOf, listOf, textOf } from '../../core/json.ts';
import { countOf, type Failure, limitOf, type WireFormat } from './format.ts';

const STATUS_NAMES: Readonly<Record<number, string>> = {
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
function errorBody({ status, message, retryAfterMs, record }: Failure): Fields {
  const retryInfo = {
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: `${(retryAfterMs ?? 0) / 1000}s`,
  };
  return {
    error: {
      code: status,
      message,
      status: STATUS_NAMES[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT'),
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
  errorBody,
  /** Its own clients see an error only in a chunk that is JSON as a whole; others ignore it as an unknown field. */
  errorPreface: (failure) => `${JSON.stringify(errorBody(failure))}\n`,
  errorEvent: (failure) => `data: ${JSON.stringify(errorBody(failure))}\r\n\r\n`,
};
