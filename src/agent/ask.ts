import { AgentosError } from '../core/errors.ts';
import type { VendorSpec } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import { vendorBaseUrl } from '../models/base-url.ts';
import { type CallLimits, MAX_REPLY_BYTES, untilAborted, withinBounds } from '../models/call-bounds.ts';
import { gatewayError } from '../models/gateway-error.ts';
import { openCall } from '../models/open-call.ts';
import { answeredModel, brokenOff, endOf, meter, streamFailure } from '../models/vendor-stream.ts';
import type { VendorCall, VendorPrompt } from '../models/vendors/call.ts';
import { answerAttributes, askedAttributes } from '../telemetry/gen-ai.ts';
import { traced, wantsContent } from '../telemetry/tracer.ts';
import { type Answer, type AnswerWords, callsOf, withCacheMarks } from './conversation.ts';
import type { ToolSet } from './tool.ts';

export interface Question extends CallLimits {
  spec: VendorSpec;
  key: Secret;
  baseUrl: string | undefined;
  turns: VendorPrompt;
  tools: ToolSet['definitions'];
  stepId: string;
  signal: AbortSignal;
  onProgress: () => void;
}

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

/** One call, streamed to its end, between its bounds. */
function ask({ spec, key, baseUrl, turns, tools, stepId, signal, onProgress, ...limits }: Question): Promise<Answer> {
  const { provider } = spec;
  const baseURL = vendorBaseUrl(provider, baseUrl);
  return withinBounds({ what: spec.text, limits, signal }, async (bounded) => {
    const onChunk = (): void => {
      bounded.alive();
      onProgress();
    };
    const { call, secret } = await openCall({ spec, key, baseURL, stepId, onBytes: onChunk });
    const prompt = withCacheMarks(turns, call.cacheMark);
    const answer = readAnswer({ provider, secret, call, prompt, tools, signal: bounded.signal, onChunk });
    return await untilAborted(bounded.signal, answer);
  });
}

interface AnswerRequest {
  provider: string;
  secret: string;
  call: VendorCall;
  prompt: VendorPrompt;
  tools: ToolSet['definitions'];
  signal: AbortSignal;
  onChunk: () => void;
}

/**
 * One call, streamed to its end. The model is asked directly: the loop that the SDK offers around it costs each worker
 * megabytes, runs the calls of one answer side by side, and knows nothing of the journal.
 */
async function readAnswer(request: AnswerRequest): Promise<Answer> {
  try {
    return await readStream(request);
  } catch (error) {
    throw streamFailure(request, error);
  }
}

async function readStream(request: AnswerRequest): Promise<Answer> {
  const { provider, call, prompt, tools, signal, onChunk } = request;
  const { stream } = await call.model.doStream({
    prompt,
    tools,
    ...(call.maxOutputTokens === undefined ? {} : { maxOutputTokens: call.maxOutputTokens }),
    ...(call.providerOptions === undefined ? {} : { providerOptions: call.providerOptions }),
    abortSignal: signal,
    includeRawChunks: true,
  });
  const parts: Answer['parts'] = [];
  const open = new Map<string, AnswerWords>();
  let answered: string | null = null;
  let chars = 0;
  const count = (more: string): void => {
    chars += more.length;
    if (chars > MAX_REPLY_BYTES)
      throw new AgentosError({ code: 'reply-too-large', provider, limitBytes: MAX_REPLY_BYTES });
  };
  for await (const part of stream) {
    signal.throwIfAborted();
    onChunk();
    switch (part.type) {
      case 'error':
        throw streamFailure(request, part.error);
      case 'raw': {
        const own = gatewayError(part.rawValue);
        if (own !== null) throw own;
        answered ??= answeredModel(part.rawValue);
        break;
      }
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const type = part.type.startsWith('text') ? 'text' : 'reasoning';
        const id = `${type} ${part.id}`;
        let words = open.get(id);
        if (words === undefined) {
          words = { type, text: '' };
          parts.push(words);
          open.set(id, words);
        }
        // The last one counts: signatures come at the end.
        if (part.providerMetadata !== undefined) words.providerOptions = part.providerMetadata;
        if ('delta' in part) {
          count(part.delta);
          words.text += part.delta;
        }
        // Some vendors use an id again.
        if (part.type.endsWith('-end')) open.delete(id);
        break;
      }
      case 'tool-input-delta':
        count(part.delta);
        break;
      case 'tool-call': {
        const { toolCallId, toolName, input, providerMetadata } = part;
        const marks = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
        count(input);
        parts.push({ type: 'tool-call', toolCallId, toolName, input, ...marks });
        break;
      }
      case 'finish':
        return { parts, cut: endOf(provider, part) === 'length', answered, ...meter(part.usage) };
      default:
    }
  }
  signal.throwIfAborted();
  throw brokenOff(provider);
}
