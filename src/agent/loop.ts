import { AgentosError } from '../core/errors.ts';
import type { VendorSpec } from '../core/model-spec.ts';
import { addUsage, NO_USAGE, type Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import type { CallLimits } from '../models/call-bounds.ts';
import { detailOf } from '../models/detail.ts';
import { truncated } from '../models/vendor-stream.ts';
import type { VendorPrompt } from '../models/vendors/call.ts';
import { type Answer, answerTurn, callsOf, textOfAnswer } from './answer.ts';
import { cutOffTurn, openingTurns, resultsTurn } from './conversation.ts';
import type { WriteReply, WriteRequest, Writer } from './port.ts';
import { runCalls } from './run-calls.ts';
import { TOOL_DEFINITIONS } from './toolbox.ts';
import { tracedAsk } from './traced-ask.ts';
import { openWorktree } from './worktree-path.ts';

export interface BuiltInOptions extends CallLimits {
  spec: VendorSpec;
  key: Secret;
  /** Where it is not the vendor's own. */
  baseUrl: string | undefined;
  /** Calls to the model in one `write`, stored ones counted too. */
  maxRounds: number;
  costOf: (usage: Usage) => number | null;
  /** Over all that goes to the log or back to the model. */
  mask: (text: string) => string;
}

/**
 * A plain model with tools for files. A round is one call to the model, as a durable step of its own (`code-1.3`), and
 * then what it asked for, in its order. Only the calls are stored: a loop that was killed begins again with the worktree
 * as it was, does the stored rounds' work once more, and comes to the same question where it stopped.
 */
export function createBuiltInWriter(options: BuiltInOptions): Writer {
  return {
    spec: options.spec.text,
    isModel: true,
    writesByItself: false,
    write: (request) => converse(options, request),
  };
}

async function converse(options: BuiltInOptions, request: WriteRequest): Promise<WriteReply> {
  const { spec, maxRounds, mask } = options;
  const { system, task, signal } = request;
  signal.throwIfAborted();
  const worktree = await openWorktree(request.worktree);
  const turns: VendorPrompt = openingTurns(system, task);
  const bill = createBill(options.costOf);
  let text = '';
  let cutBefore = false;

  for (let round = 1; round <= maxRounds; round++) {
    const { answer, replayed } = await answerOf(options, request, round, turns);
    if (!replayed) bill.add(answer);
    const say = (line: string): void => {
      if (!replayed) request.onLine(detailOf(mask(line)));
    };
    const calls = callsOf(answer);
    const words = textOfAnswer(answer);
    text = words || text;
    if (words !== '') say(words);
    if (!answer.cut && calls.length === 0) return { text: mask(text), answered: answer.answered, ...bill.total() };
    if (answer.cut && cutBefore) {
      throw truncated(spec.provider, answer.metered ? answer.usage.outputTokens : null);
    }
    cutBefore = answer.cut;
    if (round === maxRounds) break;
    const said = answerTurn(answer);
    if (said !== null) turns.push(said);
    const results = await runCalls(calls, { worktree, signal, cut: answer.cut, say, mask });
    turns.push(calls.length === 0 ? cutOffTurn() : resultsTurn(results));
  }
  throw new AgentosError({ code: 'agent-rounds', agent: spec.text, rounds: maxRounds });
}

/** The stored answer to this very conversation, or one call, stored before anything follows from it. */
async function answerOf(
  { spec, key, baseUrl, costOf, idleTimeoutMs, ceilingMs }: BuiltInOptions,
  { step, journal, signal, onProgress }: WriteRequest,
  round: number,
  turns: VendorPrompt,
): Promise<{ answer: Answer; replayed: boolean }> {
  signal.throwIfAborted();
  const { value: answer, replayed } = await journal.step<Answer>(
    { name: `${step}.${round}`, inputs: { model: spec.text, tools: TOOL_DEFINITIONS, turns } },
    async ({ id: stepId }) => {
      const question = { spec, key, baseUrl, turns, stepId, signal, onProgress, idleTimeoutMs, ceilingMs };
      const answer = await tracedAsk(question, costOf);
      if (round === 1 && !answer.cut && answerTurn(answer) === null) {
        throw new AgentosError({ code: 'reply-empty', provider: spec.provider }, { retry: 'transient' });
      }
      return answer;
    },
  );
  return { answer, replayed };
}

/** Of the calls that were made now; what was stored has been paid for before. */
function createBill(costOf: BuiltInOptions['costOf']) {
  let usage = NO_USAGE;
  let costUsd: number | null = 0;
  let metered = true;
  return {
    add(answer: Answer): void {
      // Each call by itself: some vendors charge a long one more.
      const cost = costOf(answer.usage);
      usage = addUsage(usage, answer.usage);
      costUsd = cost === null || costUsd === null ? null : costUsd + cost;
      metered &&= answer.metered;
    },
    total: () => ({ usage, costUsd, metered }),
  };
}
