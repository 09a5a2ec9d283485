import { type Fields, fieldsOf, textOf } from '../../models/json-fields.ts';
import { limitOf, type Tally, type WireFormat } from './format.ts';
import { openaiError, openaiErrorStatus, openaiUsage } from './openai.ts';

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
  /** The vendor's own; a comment would not do, because Codex takes a stream without events for dead. */
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
    // Clients read one or the other: the bare error event, or the failed response that carries it.
    const failed = { id: 'resp_gateway', object: 'response', status: 'failed', error, output: [] };
    const events = [
      { type: 'error', sequence_number: 0, ...error, error },
      { type: 'response.failed', sequence_number: 1, response: failed },
    ];
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  },
};
