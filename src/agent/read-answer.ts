import { AgentosError } from '../core/errors.ts';
import { MAX_REPLY_BYTES } from '../models/call-bounds.ts';
import { gatewayError } from '../models/gateway-error.ts';
import { answeredModel, brokenOff, endOf, meter, streamFailure } from '../models/vendor-stream.ts';
import type { VendorCall, VendorPrompt } from '../models/vendors/call.ts';
import type { Answer, AnswerWords } from './answer.ts';
import { TOOL_DEFINITIONS } from './toolbox.ts';

export interface AnswerRequest {
  provider: string;
  secret: string;
  call: VendorCall;
  prompt: VendorPrompt;
  signal: AbortSignal;
  onChunk: () => void;
}

/**
 * One call, streamed to its end. The model is asked directly: the loop that the SDK offers around it costs each worker
 * megabytes, runs the calls of one answer side by side, and knows nothing of the journal.
 */
export async function readAnswer(request: AnswerRequest): Promise<Answer> {
  try {
    return await readStream(request);
  } catch (error) {
    throw streamFailure(request, error);
  }
}

async function readStream(request: AnswerRequest): Promise<Answer> {
  const { provider, call, prompt, signal, onChunk } = request;
  const { stream } = await call.model.doStream({
    prompt,
    tools: TOOL_DEFINITIONS,
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
