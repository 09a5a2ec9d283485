import type { VendorSpec } from '../core/model-spec.ts';
import type { Secret } from '../core/secret.ts';
import { vendorBaseUrl } from '../models/base-url.ts';
import { type CallLimits, untilAborted, withinBounds } from '../models/call-bounds.ts';
import { openCall } from '../models/open-call.ts';
import type { VendorPrompt } from '../models/vendors/call.ts';
import type { Answer } from './answer.ts';
import { withCacheMarks } from './conversation.ts';
import { readAnswer } from './read-answer.ts';

export interface Question extends CallLimits {
  spec: VendorSpec;
  key: Secret;
  baseUrl: string | undefined;
  turns: VendorPrompt;
  stepId: string;
  signal: AbortSignal;
  onProgress: () => void;
}

/** One call, streamed to its end, between its bounds. */
export function ask({ spec, key, baseUrl, turns, stepId, signal, onProgress, ...limits }: Question): Promise<Answer> {
  const { provider } = spec;
  const baseURL = vendorBaseUrl(provider, baseUrl);
  return withinBounds({ what: spec.text, limits, signal }, async (bounded) => {
    const onChunk = (): void => {
      bounded.alive();
      onProgress();
    };
    const { call, secret } = await openCall({ spec, key, baseURL, stepId, onBytes: onChunk });
    const prompt = withCacheMarks(turns, call.cacheMark);
    const answer = readAnswer({ provider, secret, call, prompt, signal: bounded.signal, onChunk });
    return await untilAborted(bounded.signal, answer);
  });
}
