import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { CreateVendorCall } from './call.ts';

/** Local servers often want no key. */
export const createCall: CreateVendorCall = ({ model, apiKey, ...settings }) => ({
  model: createOpenAICompatible({
    name: 'openai-compatible',
    includeUsage: true,
    ...settings,
    ...(apiKey === '' ? {} : { apiKey }),
  }).chatModel(model),
});
