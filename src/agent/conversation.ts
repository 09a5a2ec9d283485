import type { VendorCall, VendorPrompt } from '../models/vendors/call.ts';
import type { AnswerCall } from './answer.ts';
import type { ToolResult } from './tool.ts';

type Turn = VendorPrompt[number];

const WAY_OF_WORKING = `You work on the files of one repository with the tools you are given; paths are relative to its root.
There is no shell: you can't run, install or test anything, and others run the tests when you are done.
Make every change with a tool; a file that you only describe is not written.
When the task is done, answer with a short sentence and without a tool call.`;

export function openingTurns(system: string, task: string): Turn[] {
  return [
    { role: 'system', content: [system, WAY_OF_WORKING].filter((text) => text !== '').join('\n\n') },
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
  const text = 'Your answer was cut off at the limit of its length. Go on in smaller steps.';
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
