import { parseJson } from '../core/json.ts';
import type { Answer, AnswerCall } from '../models/ask-vendor.ts';
import type { VendorMarks, VendorPrompt } from '../models/vendors.ts';
import type { ToolResult } from './tool.ts';

type Turn = VendorPrompt[number];

export function openingTurns(system: string, task: string): Turn[] {
  return [{ role: 'system', content: system }, userTurn(task)];
}

export function userTurn(text: string): Turn {
  return { role: 'user', content: [{ type: 'text', text }] };
}

export function callsOf({ parts }: Answer): AnswerCall[] {
  return parts.filter((part) => part.type === 'tool-call');
}

/** The answer as a turn of the conversation, or null if it said nothing: vendors refuse turns and texts that are empty. */
export function answerTurn({ parts }: Answer): Turn | null {
  const said = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '' || part.providerOptions);
  if (said.every(({ type }) => type === 'reasoning')) return null;
  return {
    role: 'assistant',
    // Vendors take objects only, also for a call that was none.
    content: said.map((part) => (part.type === 'tool-call' ? { ...part, input: argumentsOf(part.input) ?? {} } : part)),
  };
}

/** Null where it is not a JSON object. */
export function argumentsOf(input: string): Record<string, unknown> | null {
  const value = parseJson(input.trim() === '' ? '{}' : input);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
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

/** More than this many the vendor that wants marks does not take. */
const MOST_MARKS = 4;

/** Asks the vendor to cache what was sent so far: the `opening` turns, and the ends that the next calls will begin with. */
export function withCacheMarks(turns: readonly Turn[], mark: VendorMarks | undefined, openings = 2): Turn[] {
  if (mark === undefined) return [...turns];
  const opening = turns.slice(0, openings).keys();
  const later = [...turns.keys()].slice(openings).filter((index) => turns[index]?.role !== 'assistant');
  const marked = new Set([...opening, ...later.slice(-(MOST_MARKS - 2))]);
  return turns.map((turn, index) => (marked.has(index) ? { ...turn, providerOptions: mark } : turn));
}
