import { createAnthropic } from '@ai-sdk/anthropic';
import type { CreateVendorCall } from './call.ts';

/**
 * The format demands a limit. Thinking counts against it, and what is not used costs nothing, so it is far above the
 * longest design. Models that the package knows to allow less get what they allow; those before Claude 3.7 it does not know.
 */
const MAX_OUTPUT_TOKENS = 64_000;
const OLD_MODEL = /claude-(?:instant|2|3-(?:5|opus|sonnet|haiku))/;
const OLD_MAX_OUTPUT_TOKENS = 4_096;

export const createCall: CreateVendorCall = ({ model, ...settings }) => ({
  model: createAnthropic(settings)(model),
  maxOutputTokens: OLD_MODEL.test(model) ? OLD_MAX_OUTPUT_TOKENS : MAX_OUTPUT_TOKENS,
  cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
});
