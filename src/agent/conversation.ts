import type { Usage } from '../core/money.ts';
import type { VendorCall, VendorPrompt } from '../models/vendors/call.ts';
import type { ToolCall, ToolResult } from './tool.ts';

/** What a vendor wants back with the next call: signatures of thoughts, ids of items. */
type VendorMarks = NonNullable<VendorCall['providerOptions']>;

export interface AnswerWords {
  type: 'text' | 'reasoning';
  text: string;
  providerOptions?: VendorMarks;
}

export interface AnswerCall extends ToolCall {
  type: 'tool-call';
  toolCallId: string;
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

type Turn = VendorPrompt[number];

export function openingTurns(system: string, task: string): Turn[] {
  return [
    { role: 'system', content: system },
    { role: 'user', content: [{ type: 'text', text: task }] },
  ];
}

export function resultsTurn(results: readonly { call: AnswerCall; result: Pick<ToolResult, 'ok' | 'text'> }[]): Turn {
  return {
    role: 'tool',
    content: results.map(({ call: { toolCallId, toolName }, result: { ok, text } }) => ({
      type: 'tool-result',
      toolCallId,
      toolName,
      output: { type: ok ? 'text' : 'error-text', value: text },
    })),
  };
}

export function cutOffTurn(): Turn {
  const text = 'Your answer was cut off at the limit of its length. Continue in smaller steps.';
  return { role: 'user', content: [{ type: 'text', text }] };
}

/** More than this many the vendor that wants marks does not take. */
const MOST_MARKS = 4;

/** Asks the vendor to cache what was sent so far: the opening, and the ends that the next calls will begin with. */
export function withCacheMarks(turns: readonly Turn[], mark: VendorCall['cacheMark']): Turn[] {
  if (mark === undefined) return [...turns];
  const opening = turns.slice(0, 2).keys();
  const later = [...turns.keys()].slice(2).filter((index) => turns[index]?.role !== 'assistant');
  const marked = new Set([...opening, ...later.slice(-(MOST_MARKS - 2))]);
  return turns.map((turn, index) => (marked.has(index) ? { ...turn, providerOptions: mark } : turn));
}
