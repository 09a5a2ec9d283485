import { createOpenAI } from '@ai-sdk/openai';
import type { CreateVendorCall } from './call.ts';

/** Nothing here ever reads a stored response back, so none is left at the vendor. */
export const createCall: CreateVendorCall = ({ model, ...settings }) => ({
  model: createOpenAI(settings).responses(model),
  providerOptions: { openai: { store: false } },
});
