import { AgentosError } from '../core/errors.ts';
import { addUse, type ModelUse, NO_USAGE, type Usage } from '../core/money.ts';
import { detailOf } from '../core/reason.ts';
import {
  type Answer,
  type AnswerCall,
  askVendor,
  textOfAnswer,
  truncated,
  type VendorAccess,
  type VendorQuestion,
} from '../models/ask-vendor.ts';
import type { VendorMarks, VendorPrompt } from '../models/vendors.ts';
import { answerAttributes } from '../telemetry/span.ts';
import { tracedCall } from '../telemetry/traced.ts';
import type { WriteReply, WriteRequest, Writer } from './port.ts';
import { argumentsOf, createToolSet, failed, type Tool, type ToolResult, type ToolSet } from './tool.ts';
import { list, read, search } from './tools/reading.ts';
import { edit, remove, runTests, write } from './tools/writing.ts';
import type { OpenTranscript, Transcript } from './transcript.ts';
import { readableWorktree } from './worktree-files.ts';
import { openWorktree, type Worktree } from './worktree-path.ts';

export interface LoopOptions extends VendorAccess {
  /** Calls in one conversation, replayed ones included. */
  maxRounds: number;
  costOf: (usage: Usage) => number | null;
  /** For all text that goes to the log or back to the model. */
  mask: (text: string) => string;
  transcripts?: OpenTranscript | undefined;
}

/** A conversation of a model with tools. */
export interface Conversation {
  /** The model, for messages. */
  agent: string;
  /** The opening turns; the loop appends to them. */
  turns: VendorPrompt;
  tools: ToolSet;
  maxRounds: number;
  /** One call; its answer is stored before it is returned. */
  ask: (round: number) => Promise<{ answer: Answer; replayed: boolean }>;
  /** Decides after each round. Absent: an answer without a tool call is the end. */
  next?: (facts: RoundFacts) => 'end' | 'continue' | { say: string };
  signal: AbortSignal;
  onLine: (line: string) => void;
  /** Replayed rounds are not recorded again. */
  transcript?: Transcript | undefined;
  mask: (text: string) => string;
}

interface RoundFacts {
  round: number;
  /** Tool calls in this round. */
  calls: number;
  /** The size of all tool results, and the tokens of all calls, up to now. */
  chars: number;
  tokens: number;
}

const WAY_OF_WORKING = `You work on the files of one repository with the tools you are given; paths are relative to its root.
Make every change with a tool; a file that you only describe is not written.
When the task is done, answer with a short sentence and without a tool call.`;
const CANNOT_RUN =
  "There is no shell: you can't run, install or test anything, and others run the tests when you are done.";
const CAN_TEST = `There is no shell, and nothing can be installed. The tool run_tests runs the tests, a few times in all: use it before
you end. It proves nothing to others, who run the tests themselves when you are done.`;

/** A plain model with tools for files. The cost of replayed rounds was counted before. */
export function createBuiltInWriter(options: LoopOptions): Writer {
  const { spec, maxRounds, mask } = options;
  return {
    spec: spec.text,
    isModel: true,
    writesByItself: false,
    async write(request) {
      request.signal.throwIfAborted();
      const tools = worktreeTools(await openWorktree(request.worktree), request.runTests);
      const way = `${WAY_OF_WORKING}\n${request.runTests === undefined ? CANNOT_RUN : CAN_TEST}`;
      const system = [request.system, way].filter((text) => text !== '').join('\n\n');
      const turns = openingTurns(system, request.task);
      const agent = spec.text;
      let uses: ModelUse[] = [{ model: agent, calls: 0, usage: NO_USAGE, costUsd: 0 }];
      let metered = true;
      const { signal, onLine } = request;
      const ask: Conversation['ask'] = async (round) => {
        const asked = await answerOf(options, request, tools, round, turns);
        if (asked.replayed) return asked;
        // Each call by itself: some vendors charge a long one more.
        const { usage, metered: isMetered } = asked.answer;
        uses = addUse(uses, { model: agent, calls: 1, usage, costUsd: isMetered ? options.costOf(usage) : null });
        metered &&= isMetered;
        return asked;
      };
      const transcript = options.transcripts?.({ step: request.step, agent });
      try {
        const end = await converse({ agent, turns, tools, maxRounds, ask, signal, onLine, transcript, mask });
        const [{ usage, costUsd } = { usage: NO_USAGE, costUsd: 0 }] = uses;
        return { ...end, usage, costUsd, metered, models: uses };
      } finally {
        await transcript?.close();
      }
    },
  };
}

export function worktreeTools(worktree: Worktree, run?: WriteRequest['runTests']): ToolSet {
  const files = readableWorktree(worktree);
  const tools: Tool[] = [list(files), read(files), search(files), write(worktree), edit(worktree), remove(worktree)];
  return createToolSet(run === undefined ? tools : [...tools, runTests(worktree, run)], worktree.given);
}

/**
 * A conversation until the model calls no tool. A round is one call to the model, as a durable step (`code-1.3`), and then the
 * tools that it calls, in order. Only answers and results of test runs are stored: a loop that was killed starts again with
 * the files of its start, repeats the tool calls of the stored rounds, and comes to the question where it stopped.
 */
export async function converse(conversation: Conversation): Promise<Pick<WriteReply, 'text' | 'answered'>> {
  const { agent, turns, maxRounds, ask, next, onLine, transcript, mask } = conversation;
  let text = '';
  let cutBefore = false;
  let chars = 0;
  let tokens = 0;

  for (let round = 1; round <= maxRounds; round++) {
    const { answer, replayed } = await ask(round);
    tokens += answer.usage.inputTokens + answer.usage.outputTokens;
    const say = (line: string): void => {
      if (!replayed) onLine(detailOf(mask(line)));
    };
    const calls = callsOf(answer);
    const words = textOfAnswer(answer).trim();
    text = words || text;
    // An answer without a call may be a document, which does not belong in the log.
    const isSaidLater = next !== undefined && calls.length === 0;
    if (words !== '' && !isSaidLater) say(words);
    const asked = calls.map(({ toolName: name, input }) => ({ name, input }));
    if (!replayed) transcript?.note({ type: 'agentos-answer', round, text: words, calls: asked });
    const results = round === maxRounds ? [] : await runCalls(calls, conversation, { cut: answer.cut, say, mask });
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

/** The stored answer to this conversation, or one call. */
async function answerOf(
  options: LoopOptions,
  { step, journal, signal, onProgress }: WriteRequest,
  { definitions: tools }: ToolSet,
  round: number,
  turns: VendorPrompt,
): Promise<{ answer: Answer; replayed: boolean }> {
  const { spec } = options;
  signal.throwIfAborted();
  const { value: answer, replayed } = await journal.step<Answer>(
    { name: `${step}.${round}`, inputs: { model: spec.text, tools, turns } },
    async ({ id: stepId }) => {
      const promptWith: VendorQuestion['promptWith'] = (mark) => withCacheMarks(turns, mark);
      const answer = await tracedAsk(options, { promptWith, tools, mayCall: true, stepId, signal, onProgress });
      if (round === 1 && !answer.cut && answerTurn(answer) === null) {
        throw new AgentosError({ code: 'reply-empty', provider: spec.provider }, { retry: 'transient' });
      }
      return answer;
    },
  );
  return { answer, replayed };
}

/** One call as a span. The prompt is not recorded: the task is in the span above, the rest are earlier answers. */
function tracedAsk(options: LoopOptions, question: VendorQuestion): Promise<Answer> {
  const { spec, costOf } = options;
  return tracedCall(
    { name: spec.model, spec, operation: 'chat' },
    () => askVendor(options, question),
    (answer) => {
      const { answered, usage, metered, cut, parts } = answer;
      const finish = cut ? 'length' : callsOf(answer).length > 0 ? 'tool_call' : 'stop';
      return {
        attributes: answerAttributes({
          answered,
          finish,
          usage: metered ? usage : null,
          costUsd: metered ? costOf(usage) : null,
        }),
        parts: parts.map((part) =>
          part.type === 'tool-call'
            ? { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input }
            : { type: part.type, content: part.text },
        ),
        finish,
      };
    },
  );
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
  { tools, signal }: Pick<Conversation, 'tools' | 'signal'>,
  { cut, say, mask }: { cut: boolean; say: (line: string) => void; mask: (text: string) => string },
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

function openingTurns(system: string, task: string): Turn[] {
  return [{ role: 'system', content: system }, userTurn(task)];
}

function userTurn(text: string): Turn {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function callsOf({ parts }: Answer): AnswerCall[] {
  return parts.filter((part) => part.type === 'tool-call');
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

/** The vendor with cache marks accepts at most this many. */
const MOST_MARKS = 4;

/** Asks the vendor to cache what was sent so far: the opening turns, and the last ones, which the next calls start with. */
export function withCacheMarks(turns: readonly Turn[], mark: VendorMarks | undefined, openings = 2): Turn[] {
  if (mark === undefined) return [...turns];
  const opening = turns.slice(0, openings).keys();
  const later = [...turns.keys()].slice(openings).filter((index) => turns[index]?.role !== 'assistant');
  const marked = new Set([...opening, ...later.slice(-(MOST_MARKS - 2))]);
  return turns.map((turn, index) => (marked.has(index) ? { ...turn, providerOptions: mark } : turn));
}
