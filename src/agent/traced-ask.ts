import type { Usage } from '../core/money.ts';
import { answerAttributes, askedAttributes } from '../telemetry/gen-ai.ts';
import { traced, wantsContent } from '../telemetry/tracer.ts';
import { type Answer, callsOf } from './answer.ts';
import { ask, type Question } from './ask.ts';

/** One call as a span. What was asked is not repeated in each: the task is in the span above, the rest are answers. */
export function tracedAsk(question: Question, costOf: (usage: Usage) => number | null): Promise<Answer> {
  const { spec } = question;
  return traced(`chat ${spec.model}`, { kind: 'client', attributes: askedAttributes(spec, 'chat') }, async (span) => {
    const answer = await ask(question);
    const { answered, usage, metered } = answer;
    const finish = finishOf(answer);
    const facts = { answered, finish, usage: metered ? usage : null, costUsd: metered ? costOf(usage) : null };
    span.set(answerAttributes(facts));
    if (wantsContent()) span.set({ 'gen_ai.output.messages': JSON.stringify([messageOf(answer, finish)]) });
    return answer;
  });
}

function finishOf(answer: Answer): string {
  if (answer.cut) return 'length';
  return callsOf(answer).length > 0 ? 'tool_call' : 'stop';
}

function messageOf({ parts }: Answer, finish: string) {
  const said = parts.map((part) =>
    part.type === 'tool-call'
      ? { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input }
      : { type: part.type, content: part.text },
  );
  return { role: 'assistant', parts: said, finish_reason: finish };
}
