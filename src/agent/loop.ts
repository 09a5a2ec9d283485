import { AgentosError } from '../core/errors.ts';
import { detailOf } from '../core/reason.ts';
import type { AnswerCall, AnswerPart, ModelReply } from '../models/port.ts';
import { truncated } from '../models/vendor.ts';
import type { VendorPrompt } from '../models/vendors.ts';
import { argumentsOf, failed, type ToolResult, type ToolSet } from './tools.ts';
import type { Transcript } from './transcript.ts';

/** A conversation of a model with tools. */
export interface Conversation {
  /** The model, for messages. */
  agent: string;
  tools: ToolSet;
  maxRounds: number;
  /** One call with the turns since the opening; its answer is stored before it is returned. */
  ask: (round: number, turns: VendorPrompt) => Promise<{ answer: Answer; replayed: boolean }>;
  /** Decides after each round. Absent: an answer without a tool call is the end. */
  next?: (facts: RoundFacts) => 'end' | 'continue' | { say: string };
  signal: AbortSignal;
  onLine: (line: string) => void;
  /** Replayed rounds are not recorded again. */
  transcript?: Transcript | undefined;
  /** For all text that goes to the log or back to the model. */
  mask: (text: string) => string;
}

/** One answer of a model, as a journal keeps it: all that the conversation needs later. */
export interface Answer extends Pick<ModelReply, 'answered' | 'usage' | 'metered'> {
  parts: AnswerPart[];
  cut: boolean;
}

export function answerIn(
  reply: Pick<ModelReply, 'text' | 'parts' | 'cut' | 'usage' | 'metered'>,
): Omit<Answer, 'answered'> {
  const { text, parts = [{ type: 'text', text }], cut = false, usage, metered } = reply;
  return { parts, cut, usage, metered };
}

interface RoundFacts {
  round: number;
  /** Tool calls in this round. */
  calls: number;
  /** The size of all tool results, and the tokens of all calls, up to now. */
  chars: number;
  tokens: number;
}

/**
 * A conversation until the model calls no tool. A round is one call to the model, as a durable step (`code-1.3`), and then the
 * tools that it calls, in order. Only answers and results of test runs are stored: a loop that was killed starts again with
 * the files of its start, repeats the tool calls of the stored rounds, and comes to the question where it stopped.
 */
export async function converse(conversation: Conversation): Promise<Pick<ModelReply, 'text' | 'answered'>> {
  const { agent, maxRounds, ask, next, onLine, transcript, mask } = conversation;
  const turns: VendorPrompt = [];
  let text = '';
  let cutBefore = false;
  let chars = 0;
  let tokens = 0;

  for (let round = 1; round <= maxRounds; round++) {
    const { answer, replayed } = await ask(round, [...turns]);
    tokens += answer.usage.inputTokens + answer.usage.outputTokens;
    const say = (line: string): void => {
      if (!replayed) onLine(detailOf(mask(line)));
    };
    const calls = answer.parts.filter((part) => part.type === 'tool-call');
    const words = answer.parts
      .map((part) => (part.type === 'text' ? part.text : ''))
      .join('')
      .trim();
    text = words || text;
    // An answer without a call may be a document, which does not belong in the log.
    const isSaidLater = next !== undefined && calls.length === 0;
    if (words !== '' && !isSaidLater) say(words);
    const asked = calls.map(({ toolName: name, input }) => ({ name, input }));
    if (!replayed) transcript?.note({ type: 'agentos-answer', round, text: words, calls: asked });
    const results = round === maxRounds ? [] : await runCalls(calls, conversation, { cut: answer.cut, say });
    if (!replayed)
      for (const { call, result } of results)
        transcript?.note({ type: 'agentos-result', name: call.toolName, ok: result.ok, text: result.text });
    chars += results.reduce((sum, { result }) => sum + result.text.length, 0);
    const isEnd = !answer.cut && calls.length === 0;
    const then = next?.({ round, calls: calls.length, chars, tokens }) ?? (isEnd ? 'end' : 'continue');
    if (then === 'end') return { text: mask(text), answered: answer.answered };
    if (words !== '' && isSaidLater) say(words);
    if (answer.cut && cutBefore) throw truncated(agent, answer);
    cutBefore = answer.cut;
    if (round === maxRounds) break;
    const said = answerTurn(answer);
    if (said !== null) turns.push(said);
    if (calls.length > 0) turns.push(resultsTurn(results));
    else if (answer.cut) turns.push(userTurn(CUT_SHORT));
    if (then !== 'continue') turns.push(userTurn(then.say));
  }
  throw new AgentosError({ code: 'agent-rounds', agent, rounds: maxRounds });
}

const MOST_CALLS = 64;
/** The most that the tool results of one answer may hold. */
const MOST_CHARS = 200_000;
const CUT_SHORT = 'Your answer was cut off at the limit of its length. Continue in smaller steps.';
const CUT_OFF =
  'your answer was cut off at the limit of its length, so none of its calls was made; write less at a time';

/** Runs the calls of one answer in order. */
async function runCalls(
  calls: readonly AnswerCall[],
  { tools, signal, mask }: Conversation,
  { cut, say }: { cut: boolean; say: (line: string) => void },
): Promise<{ call: AnswerCall; result: ToolResult }[]> {
  const results: { call: AnswerCall; result: ToolResult }[] = [];
  let chars = 0;
  for (const call of calls) {
    const refused = whyNot();
    const result = refused === null ? await tools.run(call, signal) : failed(call.toolName, refused);
    const text = mask(result.text);
    chars += text.length;
    say(result.line);
    results.push({ call, result: { ...result, text } });
  }
  return results;

  function whyNot(): string | null {
    // The end of the answer is missing, so its calls may be incomplete.
    if (cut) return CUT_OFF;
    if (results.length >= MOST_CALLS) return `no more than ${MOST_CALLS} calls at a time`;
    return chars >= MOST_CHARS ? 'the results before this one were too long; ask again' : null;
  }
}

type Turn = VendorPrompt[number];

export function userTurn(text: string): Turn {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/** The answer as a turn; null if it is empty, because vendors refuse empty turns and texts. */
function answerTurn({ parts }: Answer): Turn | null {
  const said = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '' || part.providerOptions);
  if (said.every(({ type }) => type === 'reasoning')) return null;
  return {
    role: 'assistant',
    // Vendors take objects only, also for an invalid call.
    content: said.map((part) => (part.type === 'tool-call' ? { ...part, input: argumentsOf(part.input) ?? {} } : part)),
  };
}

function resultsTurn(results: readonly { call: AnswerCall; result: Pick<ToolResult, 'ok' | 'text'> }[]): Turn {
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
