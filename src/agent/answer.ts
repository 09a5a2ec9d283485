import type { Usage } from '../core/money.ts';
import type { VendorCall, VendorPrompt } from '../models/vendors/call.ts';

/** What a vendor wants back with the next call: signatures of thoughts, ids of items. */
type VendorMarks = NonNullable<VendorCall['providerOptions']>;

export interface AnswerWords {
  type: 'text' | 'reasoning';
  text: string;
  providerOptions?: VendorMarks;
}

export interface AnswerCall {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  /** JSON as the model wrote it, or what it takes for JSON. */
  input: string;
  providerOptions?: VendorMarks;
}

/** One answer of the model as the journal keeps it: all that the rest of the conversation depends on. */
export interface Answer {
  parts: (AnswerWords | AnswerCall)[];
  /** It reached the limit of output tokens, so that its end is missing. */
  cut: boolean;
  answered: string | null;
  usage: Usage;
  metered: boolean;
}

export function callsOf({ parts }: Answer): AnswerCall[] {
  return parts.filter((part) => part.type === 'tool-call');
}

export function textOfAnswer({ parts }: Answer): string {
  return parts
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('')
    .trim();
}

/** The answer as a turn of the conversation, or null if it said nothing: vendors refuse turns and texts that are empty. */
export function answerTurn({ parts }: Answer): VendorPrompt[number] | null {
  const said = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '' || part.providerOptions);
  if (said.every(({ type }) => type === 'reasoning')) return null;
  return {
    role: 'assistant',
    content: said.map((part) => (part.type === 'tool-call' ? { ...part, input: sendable(part.input) } : part)),
  };
}

/** Vendors take objects only, also for a call that was none. */
function sendable(input: string): object {
  try {
    const value: unknown = JSON.parse(input);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
