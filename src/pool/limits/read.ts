import type { VendorName } from '../../core/keys.ts';
import type { VendorAnswer } from '../port.ts';
import { readAnthropicLimits } from './anthropic.ts';
import { readGoogleLimits } from './google.ts';
import { readOpenaiLimits } from './openai.ts';
import type { AnswerLimits } from './reading.ts';

/** What the answer says about limits. Header names are in lower case. */
export function readLimits(vendor: VendorName, answer: VendorAnswer, nowMs: number): AnswerLimits {
  switch (vendor) {
    case 'anthropic':
      return readAnthropicLimits(answer, nowMs);
    case 'google':
      return readGoogleLimits(answer);
    case 'openai':
    case 'openai-compatible':
      return readOpenaiLimits(answer);
  }
}
