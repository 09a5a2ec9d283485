import { AgentosError } from '../core/errors.ts';
import { sameModel, type VendorSpec } from '../core/model-spec.ts';
import type { Secret } from '../core/secret.ts';
import { vendorBaseUrl } from './base-url.ts';
import { type CallLimits, untilAborted, withinBounds } from './call-bounds.ts';
import { openCall } from './open-call.ts';
import type { ModelReply, ModelRequest, Provider } from './port.ts';

export interface VendorOptions extends CallLimits {
  spec: VendorSpec;
  key: Secret;
  /** Where it is not the vendor's own. */
  baseUrl?: string | undefined;
}

export function createVendorProvider({ spec, key, baseUrl, ...limits }: VendorOptions): Provider {
  const baseURL = vendorBaseUrl(spec.provider, baseUrl);
  return {
    spec: spec.text,
    isModel: true,
    complete: (request) =>
      withinBounds({ what: spec.text, limits, signal: request.signal }, async (bounded) => {
        const reply = await callVendor({ spec, key, baseURL, request, ...bounded });
        if (request.role === 'reviewer' && reply.answered !== null && reply.substituted) {
          throw new AgentosError({ code: 'model-downgraded', asked: spec.model, answered: reply.answered });
        }
        return reply;
      }),
  };
}

interface Call {
  spec: VendorSpec;
  key: Secret;
  baseURL: string;
  request: ModelRequest;
  signal: AbortSignal;
  alive: () => void;
}

async function callVendor({ spec, key, baseURL, request, signal, alive }: Call): Promise<ModelReply> {
  let outputChars = 0;
  const report = (): void => {
    alive();
    request.onProgress?.({ outputChars });
  };
  const { stepId } = request;
  const [{ call, secret }, { streamReply }] = await Promise.all([
    openCall({ spec, key, baseURL, stepId, onBytes: report }),
    import('./vendor-stream.ts'),
  ]);
  const { system, parts } = request;
  const onText = (chars: number): void => {
    outputChars = chars;
    report();
  };
  const streamed = streamReply({ provider: spec.provider, secret, call, system, parts, signal, onText });
  const reply = await untilAborted(signal, streamed);
  const substituted = reply.answered !== null && !sameModel(spec.model, reply.answered);
  return { asked: spec.model, substituted, ...reply };
}
