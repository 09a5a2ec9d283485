import { type Fields, fieldsOf, listOf, textOf } from '../../models/json-fields.ts';
import { limitOf, type WireFormat } from './format.ts';
import { openaiError, openaiErrorStatus, openaiUsage } from './openai.ts';

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
  errorStatus: (event) =>
    event['error'] === undefined || event['error'] === null ? null : openaiErrorStatus(fieldsOf(event['error'])),
  errorBody: (failure) => ({ error: openaiError(failure) }),
  errorEvent: (failure) => `data: ${JSON.stringify({ error: openaiError(failure) })}\n\n`,
};

/**
 * Streams tell their usage only when they are asked to. Null: it was asked for already, so the body stays as it is.
 */
export function withUsageAsked(body: Fields): Fields | null {
  const options = fieldsOf(body['stream_options']);
  if (body['stream'] !== true || options['include_usage'] === true) return null;
  return { ...body, stream_options: { ...options, include_usage: true } };
}

/** The extra event that asking for usage brings: clients that did not ask read `choices[0]` of every event. */
export function isUsageOnly(event: Fields): boolean {
  const { choices, usage } = event;
  return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null;
}
