import type { Fault, Reply, Stop } from './answer.ts';
import { type Dialect, type Frame, type Prompt, pieces, type StreamShape } from './dialect.ts';
import { asArray, asObject, asString, type JsonObject, textOf } from './json.ts';
import type { Denial } from './quota.ts';

const FINISH_REASONS: Record<Stop, string> = { end: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY', tool: 'STOP' };

const STATUS_NAMES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

const QUOTA_IDS: Record<Denial['dimension'], string> = {
  requests: 'GenerateRequestsPerMinutePerProjectPerModel',
  tokens: 'GenerateContentTokensPerMinutePerProjectPerModel',
  'input-tokens': 'GenerateContentInputTokensPerModelPerMinute',
  'output-tokens': 'GenerateContentOutputTokensPerModelPerMinute',
  concurrency: 'GenerateContentConcurrentRequestsPerProject',
};

function read(body: JsonObject, path: { model: string | null; streaming: boolean }): Prompt {
  const messages = asArray(body['contents']);
  const parts = messages
    .map(asObject)
    .filter((content) => content['role'] !== 'model')
    .flatMap((content) => asArray(content['parts']).map(asObject));
  const system = asObject(body['systemInstruction'] ?? body['system_instruction']);
  return {
    model: path.model ?? asString(body['model']),
    system: textOf(system['parts']),
    text: textOf(parts),
    messages,
    tools: asArray(body['tools'])
      .flatMap((tool) => asArray(asObject(tool)['functionDeclarations']))
      .map((declaration) => asString(asObject(declaration)['name'])),
    toolResults: parts
      .filter((part) => part['functionResponse'] !== undefined)
      .map((part) => asObject(part['functionResponse']))
      .map((response) => ({
        id: asString(response['id']) || asString(response['name']),
        text: JSON.stringify(response['response'] ?? null),
      })),
    streaming: path.streaming,
  };
}

function usageMetadata(reply: Reply, output: number): JsonObject {
  const { input, cacheRead } = reply.usage;
  return {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
    ...(cacheRead === 0 ? {} : { cachedContentTokenCount: cacheRead }),
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  };
}

function response(reply: Reply, parts: unknown[], ended: boolean): JsonObject {
  const content = { role: 'model', parts };
  return {
    candidates: [{ content, ...(ended ? { finishReason: FINISH_REASONS[reply.stop] } : {}), index: 0 }],
    usageMetadata: usageMetadata(reply, ended ? reply.usage.output : 0),
    modelVersion: reply.model,
    responseId: `response-${reply.serial}`,
  };
}

/** Newer models refuse a call that comes back without its signature, and clients warn when there was none. */
function functionCalls(reply: Reply): unknown[] {
  return reply.toolCalls.map(({ id, name, input }) => ({
    functionCall: { id: `call_${id}`, name, args: input },
    thoughtSignature: Buffer.from(`signature ${id}`).toString('base64'),
  }));
}

function* stream(reply: Reply, shape: StreamShape): Iterable<Frame> {
  let opened = false;
  const frame = (parts: unknown[], ended: boolean, chars: number): Frame => {
    const json = JSON.stringify(response(reply, parts, ended));
    const data = shape.sse ? `data: ${json}\r\n\r\n` : `${opened ? ',\r\n' : '['}${json}${ended ? ']' : ''}`;
    opened = true;
    return { data, chars };
  };
  for (const text of pieces(reply.text, shape)) yield frame([{ text }], false, text.length);
  const calls = functionCalls(reply);
  if (calls.length > 0) yield frame(calls, false, 0);
  yield frame([{ text: '' }], true, 0);
}

function details(fault: Fault): JsonObject[] {
  const domain = 'type.googleapis.com/google.rpc';
  const list: JsonObject[] = [];
  if (fault.code !== undefined) {
    list.push({ '@type': `${domain}.ErrorInfo`, reason: fault.code, domain: 'googleapis.com' });
  }
  if (fault.quotaId !== undefined) {
    const violation = {
      quotaMetric: 'generativelanguage.googleapis.com/generate_content_requests',
      quotaId: fault.quotaId,
      quotaDimensions: { location: 'global', model: fault.model },
      ...(fault.quotaLimit === undefined ? {} : { quotaValue: String(fault.quotaLimit) }),
    };
    list.push({ '@type': `${domain}.QuotaFailure`, violations: [violation] });
  }
  if (fault.retryAfter !== undefined) {
    list.push({ '@type': `${domain}.RetryInfo`, retryDelay: `${fault.retryAfter}s` });
  }
  return list;
}

function fault(fault: Fault): JsonObject {
  const status = fault.type ?? STATUS_NAMES[fault.status] ?? (fault.status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
  const list = details(fault);
  return {
    error: {
      code: fault.status,
      message: fault.message ?? status,
      status,
      ...(list.length === 0 ? {} : { details: list }),
    },
  };
}

export const google: Dialect = {
  vendor: 'google',
  read,
  whole: (reply) =>
    response(reply, [...(reply.text === '' ? [] : [{ text: reply.text }]), ...functionCalls(reply)], true),
  stream,
  fault,
  faultHeaders: () => ({}),
  faultInStream: ({ type, message }) => {
    const status = Object.entries(STATUS_NAMES).find(([, name]) => name === type)?.[0] ?? '500';
    return `data: ${JSON.stringify({ error: { code: Number(status), message, status: type } })}\r\n\r\n`;
  },
  denied: (denial, time) => ({
    status: 429,
    message: `You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: ${denial.dimension}, limit: ${denial.limit}`,
    quotaId: QUOTA_IDS[denial.dimension],
    quotaLimit: denial.limit,
    ...(denial.retryAfterMs === null
      ? {}
      : { retryAfter: Number((time.scale(denial.retryAfterMs) / 1000).toFixed(3)) }),
  }),
  quotaHeaders: () => ({}),
  identity: () => ({ server: 'scaffolding on HTTPServer2' }),
  badKey: { status: 400, code: 'API_KEY_INVALID', message: 'API key not valid. Please pass a valid API key.' },
  overloaded: { status: 503, message: 'The model is overloaded. Please try again later.' },
};
