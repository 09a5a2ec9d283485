import { untilAborted } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import { fieldsOf, parseJson, textOf } from '../core/json.ts';
import { sameModel } from '../core/model-spec.ts';
import { isListed, isPlausible, NO_USAGE } from '../core/money.ts';
import { detailOf } from '../core/reason.ts';
import {
  type AnswerPart,
  MAX_REPLY_BYTES,
  type ModelReply,
  type ModelRequest,
  type Provider,
  promptText,
  withinBounds,
} from './port.ts';
import { badReply, gatewayError, vendorFailure } from './vendor-failure.ts';
import { type FinishPart, openModel, type VendorAccess, type VendorMarks, type VendorPrompt } from './vendors.ts';

export function createVendorProvider(access: VendorAccess): Provider {
  const { provider, model: asked, text: spec } = access.spec;
  return {
    spec,
    isModel: true,
    takesTools: true,
    async complete(request) {
      const isWork = request.conversation?.isWork === true;
      const { parts, cut, answered, usage, metered } = await answerOf(access, request);
      if (cut && !isWork) throw truncated(provider, { usage, metered });
      const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
      const isCall = mayCall(request) && parts.some(({ type }) => type === 'tool-call');
      if (text.trim() === '' && !isCall && !isWork)
        throw new AgentosError({ code: 'reply-empty', provider }, { retry: 'transient' });
      const substituted = answered !== null && !sameModel(asked, answered);
      // A name that is not listed proves no downgrade: proxies and servers of one's own answer with names of their own.
      if (request.role === 'reviewer' && substituted && [asked, answered].every((name) => isListed(provider, name)))
        throw new AgentosError({ code: 'model-downgraded', asked, answered });
      const whole = isCall || cut ? { parts, cut } : {};
      return { text, ...whole, asked, answered, substituted, usage, metered };
    },
  };
}

export function truncated(provider: string, { metered, usage }: Pick<ModelReply, 'metered' | 'usage'>): AgentosError {
  const outputTokens = metered ? usage.outputTokens : null;
  return new AgentosError({ code: 'reply-truncated', provider, outputTokens }, { retry: 'ceiling' });
}

/** Otherwise tools are listed only because earlier turns called them. */
function mayCall({ conversation }: ModelRequest): boolean {
  return conversation?.mayCall === true && conversation.tools.length > 0;
}

type Answer = Required<Pick<ModelReply, 'parts' | 'cut'>> & Pick<ModelReply, 'answered' | 'usage' | 'metered'>;

/** One call, streamed to its end, within its bounds. Returns only an answer that the vendor calls finished. */
function answerOf(access: VendorAccess, request: ModelRequest): Promise<Answer> {
  const { provider, text: what } = access.spec;
  return withinBounds({ what, limits: access, signal: request.signal }, async ({ signal, alive }) => {
    let outputChars = 0;
    const onChars = (more: number): void => {
      outputChars += more;
      if (outputChars > MAX_REPLY_BYTES)
        throw new AgentosError({ code: 'reply-too-large', provider, limitBytes: MAX_REPLY_BYTES });
      alive();
      request.onProgress?.({ outputChars });
    };
    const answer = readAnswer(access, { ...request, signal }, onChars).catch((error: unknown) => {
      throw streamFailure(access, error);
    });
    return await untilAborted(signal, answer);
  });
}

/**
 * Calls the model directly. The SDK's own loop for tools costs each worker megabytes, runs the calls of one answer in parallel,
 * and knows nothing about the journal.
 */
async function readAnswer(
  access: VendorAccess,
  request: ModelRequest,
  onChars: (more: number) => void,
): Promise<Answer> {
  const { provider } = access.spec;
  const { stepId, conversation, signal } = request;
  const { model, options, cacheMark } = await openModel(access, stepId, () => onChars(0));
  const tools = conversation?.tools ?? [];
  const { stream } = await model.doStream({
    ...options,
    prompt: promptOf(request, cacheMark),
    ...(tools.length === 0 ? {} : { tools: [...tools] }),
    ...(tools.length === 0 || mayCall(request) ? {} : { toolChoice: { type: 'none' } }),
    abortSignal: signal,
    includeRawChunks: true,
  });
  const parts: AnswerPart[] = [];
  const open = new Map<string, Extract<AnswerPart, { text: string }>>();
  let answered: string | null = null;
  for await (const part of stream) {
    signal.throwIfAborted();
    onChars('delta' in part ? part.delta.length : 0);
    switch (part.type) {
      case 'error':
        throw streamFailure(access, part.error);
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
        // The last one counts, because signatures come at the end.
        if (part.providerMetadata !== undefined) words.providerOptions = part.providerMetadata;
        if ('delta' in part) words.text += part.delta;
        // Some vendors reuse ids.
        if (part.type.endsWith('-end')) open.delete(id);
        break;
      }
      case 'tool-call': {
        const { toolCallId, toolName, input, providerMetadata } = part;
        const marks = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
        onChars(input.length);
        parts.push({ type: 'tool-call', toolCallId, toolName, input, ...marks });
        break;
      }
      case 'finish': {
        const end = endOf(provider, part);
        if (end === 'tool-calls' && !mayCall(request)) throw badEnd(provider, part);
        return { parts, cut: end === 'length', answered, ...meter(part.usage) };
      }
      default:
    }
  }
  signal.throwIfAborted();
  throw brokenOff(provider);
}

/** The vendor with cache marks accepts four; the opening has two. */
const LATER_MARKS = 2;

/**
 * The parts as one text; or apart, with a mark on the last one that repeats, if the vendor wants it. The last turns are marked
 * too, because the next calls start with them.
 */
function promptOf({ system, parts, conversation }: ModelRequest, mark: VendorMarks | undefined): VendorPrompt {
  const marked = mark === undefined ? {} : { providerOptions: mark };
  const pieces = mark === undefined ? [{ text: promptText(parts) }] : parts.filter(({ text }) => text !== '');
  const lastRepeating = pieces.findLastIndex((part) => 'repeats' in part && part.repeats === true);
  const content = pieces.map(({ text }, index) => ({
    type: 'text' as const,
    text,
    ...(index === lastRepeating ? marked : {}),
  }));
  const instructions: VendorPrompt = system === '' ? [] : [{ role: 'system', content: system, ...marked }];
  const later = conversation?.turns ?? [];
  const last = later.filter(({ role }) => role !== 'assistant').slice(-LATER_MARKS);
  const turns = later.map((turn) => (last.includes(turn) ? { ...turn, ...marked } : turn));
  return [...instructions, { role: 'user', content }, ...turns];
}

function meter({ inputTokens: input, outputTokens: output }: FinishPart['usage']): Pick<Answer, 'usage' | 'metered'> {
  const usage = {
    inputTokens: input.total ?? Number.NaN,
    outputTokens: output.total ?? Number.NaN,
    cacheReadTokens: input.cacheRead ?? 0,
    cacheWriteTokens: input.cacheWrite ?? 0,
  };
  return isPlausible(usage) ? { usage, metered: true } : { usage: NO_USAGE, metered: false };
}

/** Anthropic: `message.model`; Google: `modelVersion`; OpenAI: `response.model` or `model`. */
function answeredModel(event: unknown): string | null {
  const { message, response, modelVersion, model } = fieldsOf(event);
  const names = [fieldsOf(message)['model'], modelVersion, fieldsOf(response)['model'], model];
  return names.map(textOf).find((name) => name !== undefined) ?? null;
}

/** Some compatible servers say this instead of `stop`. */
const OTHER_WORDS_FOR_STOP = new Set(['eos', 'eos_token', 'end_turn', 'stop_sequence']);

/** How a usable reply ended. Throws for every other end. */
function endOf(provider: string, part: FinishPart): 'stop' | 'tool-calls' | 'length' {
  const { unified: reason, raw } = part.finishReason;
  switch (reason) {
    case 'stop':
    case 'tool-calls':
    case 'length':
      return reason;
    case 'content-filter':
      throw new AgentosError({ code: 'reply-filtered', provider, reason: detailOf(raw ?? 'refusal') });
    case 'other':
      if (raw !== undefined && OTHER_WORDS_FOR_STOP.has(raw)) return 'stop';
      throw raw === undefined ? brokenOff(provider) : badEnd(provider, part);
    case 'interrupted':
      throw brokenOff(provider);
    case 'error':
      throw badEnd(provider, part);
  }
}

function badEnd(provider: string, { finishReason: { unified, raw } }: FinishPart): AgentosError {
  return badReply(provider, detailOf(`the reply ended with ${raw ?? unified}`));
}

function brokenOff(provider: string): AgentosError {
  return badReply(provider, 'the stream ended before the reply was finished');
}

/** Finds an error that our fetch classified among the causes. An error event carries its data. The rest is an unreadable reply. */
function streamFailure({ spec: { provider }, token }: VendorAccess, error: unknown): AgentosError {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    if (current instanceof AgentosError) return current;
  }
  const { data, responseBody, message, name } = fieldsOf(error);
  const body = data ?? parseJson(textOf(responseBody) ?? '') ?? (error instanceof Error ? null : error);
  const fallback = [error instanceof Error ? textOf(name) : undefined, textOf(message) ?? textOf(error)]
    .filter(Boolean)
    .join(': ');
  const secret = token.reveal();
  return vendorFailure({ provider, status: null, headers: {}, body, fallback, secret, nowMs: Date.now() });
}
