import type { AnswerCall } from './answer.ts';
import { failed, type ToolContext, type ToolResult } from './tool.ts';
import { runTool } from './toolbox.ts';

const MOST_CALLS = 64;
/** Of all results together: every later call of the conversation sends them again. */
const MOST_CHARS = 200_000;

interface Round extends ToolContext {
  /** The answer has no end, so that its calls may be halves of what was meant. */
  cut: boolean;
  say: (line: string) => void;
  mask: (text: string) => string;
}

interface CallResult {
  call: AnswerCall;
  result: ToolResult;
}

/** What the calls of one answer came to, one after another and in their order. */
export async function runCalls(calls: readonly AnswerCall[], round: Round): Promise<CallResult[]> {
  const results: CallResult[] = [];
  let chars = 0;
  for (const call of calls) {
    const done = await resultOf(call, results.length, chars, round);
    const result = { ...done, text: round.mask(done.text) };
    chars += result.text.length;
    round.say(result.line);
    results.push({ call, result });
  }
  return results;
}

async function resultOf(call: AnswerCall, before: number, chars: number, round: Round): Promise<ToolResult> {
  const { toolName } = call;
  if (round.cut)
    return failed(
      toolName,
      'your answer was cut off at the limit of its length, so none of its calls was made; write less at a time',
    );
  if (before >= MOST_CALLS) return failed(toolName, `no more than ${MOST_CALLS} calls at a time`);
  if (chars >= MOST_CHARS) return failed(toolName, 'the results before this one were too long; ask again');
  return await runTool(call, round);
}
