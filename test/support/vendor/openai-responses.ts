import type { Reply } from './answer.ts';
import { type Dialect, type Frame, type Prompt, pieces, type StreamShape } from './dialect.ts';
import { asArray, asObject, asString, type JsonObject, textOf } from './json.ts';
import { openaiShared, openaiUsage } from './openai.ts';

function read(body: JsonObject): Prompt {
  const input = body['input'];
  const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : asArray(input);
  const items = messages.map(asObject);
  const textBy = (...roles: string[]): string[] =>
    items.filter((item) => roles.includes(asString(item['role']))).map((item) => textOf(item['content']));
  return {
    model: asString(body['model']),
    system: [asString(body['instructions']), ...textBy('system', 'developer')].filter((text) => text !== '').join('\n'),
    text: textBy('user').join('\n'),
    messages,
    tools: asArray(body['tools']).map((tool) => asString(asObject(tool)['name']) || asString(asObject(tool)['type'])),
    toolResults: items
      .filter((item) => asString(item['type']).endsWith('_call_output'))
      .map((item) => ({ id: asString(item['call_id']), text: textOf(item['output']) })),
    streaming: body['stream'] === true,
  };
}

function envelope(reply: Reply, status: string, output: unknown[]): JsonObject {
  return {
    id: `resp_${reply.serial}`,
    object: 'response',
    created_at: Math.floor(reply.createdMs / 1000),
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: reply.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    metadata: {},
  };
}

function messageItem(reply: Reply, status: string): JsonObject {
  const content = status === 'in_progress' ? [] : [textPart(reply.text)];
  return { id: `msg_${reply.serial}`, type: 'message', status, role: 'assistant', content };
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

type ToolCall = Reply['toolCalls'][number];

function toolItem({ id, name, input }: ToolCall, status: string, written: string): JsonObject {
  return typeof input === 'string'
    ? { id: `ctc_${id}`, type: 'custom_tool_call', status, call_id: `call_${id}`, name, input: written }
    : { id: `fc_${id}`, type: 'function_call', status, call_id: `call_${id}`, name, arguments: written };
}

function written({ input }: ToolCall): string {
  return typeof input === 'string' ? input : JSON.stringify(input);
}

/** The response when it has ended: complete, or incomplete with the reason. */
function ended(reply: Reply): JsonObject {
  const incomplete = reply.stop === 'length' || reply.stop === 'filter';
  const status = incomplete ? 'incomplete' : 'completed';
  const output = [
    ...(reply.text === '' ? [] : [messageItem(reply, status)]),
    ...reply.toolCalls.map((call) => toolItem(call, 'completed', written(call))),
  ];
  const tokens = openaiUsage(reply);
  return {
    ...envelope(reply, status, output),
    incomplete_details: incomplete
      ? { reason: reply.stop === 'length' ? 'max_output_tokens' : 'content_filter' }
      : null,
    usage: {
      input_tokens: tokens.input,
      input_tokens_details: { cached_tokens: tokens.cached },
      output_tokens: tokens.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: tokens.total,
    },
  };
}

function frame(event: JsonObject & { type: string }, chars = 0): Frame {
  return { data: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`, chars };
}

function* stream(reply: Reply, shape: StreamShape): Iterable<Frame> {
  let sequence = 0;
  const next = (type: string, facts: JsonObject, chars = 0): Frame =>
    frame({ type, sequence_number: sequence++, ...facts }, chars);
  const begun = envelope(reply, 'in_progress', []);
  yield next('response.created', { response: begun });
  yield next('response.in_progress', { response: begun });
  const last = ended(reply);
  let outputIndex = 0;
  if (reply.text !== '') {
    const at = { item_id: `msg_${reply.serial}`, output_index: outputIndex, content_index: 0 };
    yield next('response.output_item.added', { output_index: outputIndex, item: messageItem(reply, 'in_progress') });
    yield next('response.content_part.added', { ...at, part: textPart('') });
    for (const delta of pieces(reply.text, shape)) {
      yield next('response.output_text.delta', { ...at, delta, logprobs: [] }, delta.length);
    }
    yield next('response.output_text.done', { ...at, text: reply.text, logprobs: [] });
    yield next('response.content_part.done', { ...at, part: textPart(reply.text) });
    yield next('response.output_item.done', {
      output_index: outputIndex,
      item: messageItem(reply, asString(last['status'])),
    });
    outputIndex += 1;
  }
  for (const call of reply.toolCalls) {
    yield* toolFrames(call, outputIndex, shape, next);
    outputIndex += 1;
  }
  yield next(last['status'] === 'incomplete' ? 'response.incomplete' : 'response.completed', { response: last });
}

function* toolFrames(
  call: ToolCall,
  outputIndex: number,
  shape: StreamShape,
  next: (type: string, facts: JsonObject) => Frame,
): Iterable<Frame> {
  const item = toolItem(call, 'completed', written(call));
  const at = { item_id: item['id'], output_index: outputIndex };
  const custom = typeof call.input === 'string';
  const event = custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
  yield next('response.output_item.added', { output_index: outputIndex, item: toolItem(call, 'in_progress', '') });
  for (const delta of pieces(written(call), { ...shape, breakAt: null }))
    yield next(`${event}.delta`, { ...at, delta });
  yield next(`${event}.done`, { ...at, [custom ? 'input' : 'arguments']: written(call) });
  yield next('response.output_item.done', { output_index: outputIndex, item });
}

export const openaiResponses: Dialect = {
  ...openaiShared,
  vendor: 'openai-responses',
  read,
  whole: ended,
  stream,
  faultInStream: ({ type, message }) =>
    frame({ type: 'error', sequence_number: 1, code: type, message, param: null }).data,
};
