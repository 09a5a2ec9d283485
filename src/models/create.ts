import { AgentosError } from '../core/errors.ts';
import { type AgentSpec, isAgent, type ModelSpec, sameModel, type VendorSpec } from '../core/model-spec.ts';
import { isListed } from '../core/money.ts';
import type { VendorAccess } from './ask-vendor.ts';
import { createCommandProvider } from './command.ts';
import { type CallOptions, type ModelRequest, type Provider, promptText } from './port.ts';
import type { VendorMarks, VendorPrompt } from './vendors.ts';

interface ProviderOptions extends CallOptions {
  /** Called with each line that a command writes to stderr. */
  onLine: (line: string) => void;
  offline: () => Provider;
  agent: (spec: AgentSpec) => Provider;
}

export function createProvider(spec: ModelSpec, options: ProviderOptions): Provider {
  if (isAgent(spec)) return options.agent(spec);
  switch (spec.provider) {
    case 'offline':
      return options.offline();
    case 'command':
      return createCommandProvider(spec, options);
    default:
      return createVendorProvider(accessOf(spec, options));
  }
}

/** Access through the gateway, which has an endpoint for every vendor that the run uses. */
export function accessOf(spec: VendorSpec, { token, endpointOf, idleTimeoutMs, ceilingMs }: CallOptions): VendorAccess {
  const endpoint = endpointOf(spec.provider);
  if (endpoint === undefined)
    throw new AgentosError({ code: 'internal', detail: `the gateway has no endpoint for ${spec.text}` });
  return { spec, token, endpoint, idleTimeoutMs, ceilingMs };
}

export function createVendorProvider(access: VendorAccess): Provider {
  const { provider, model: asked, text: spec } = access.spec;
  return {
    spec,
    isModel: true,
    takesTools: true,
    async complete(request) {
      const { askVendor, textOfAnswer, truncated } = await import('./ask-vendor.ts');
      const { stepId, signal, onProgress, conversation } = request;
      const tools = conversation?.tools ?? [];
      const mayCall = tools.length > 0 && conversation?.mayCall === true;
      const answer = await askVendor(access, {
        promptWith: (mark) => [...promptOf(request, mark), ...(conversation?.turnsWith(mark) ?? [])],
        tools,
        mayCall,
        stepId,
        signal,
        onProgress: (outputChars) => onProgress?.({ outputChars }),
      });
      if (answer.cut) throw truncated(provider, answer);
      const text = textOfAnswer(answer);
      const isCall = mayCall && answer.parts.some(({ type }) => type === 'tool-call');
      if (text.trim() === '' && !isCall)
        throw new AgentosError({ code: 'reply-empty', provider }, { retry: 'transient' });
      const { answered, usage, metered } = answer;
      const substituted = answered !== null && !sameModel(asked, answered);
      // A name that is not listed proves no downgrade: proxies and servers of one's own answer with names of their own.
      if (request.role === 'reviewer' && substituted && [asked, answered].every((name) => isListed(provider, name)))
        throw new AgentosError({ code: 'model-downgraded', asked, answered });
      return { text, ...(isCall ? { parts: answer.parts } : {}), asked, answered, substituted, usage, metered };
    },
  };
}

/** One text; or its parts, if the vendor wants a mark on the last one that repeats. */
function promptOf({ system, parts }: ModelRequest, mark: VendorMarks | undefined): VendorPrompt {
  const marked = mark === undefined ? {} : { providerOptions: mark };
  const pieces = mark === undefined ? [{ text: promptText(parts) }] : parts.filter(({ text }) => text !== '');
  const lastRepeating = pieces.findLastIndex((part) => 'repeats' in part && part.repeats === true);
  const content = pieces.map(({ text }, index) => ({
    type: 'text' as const,
    text,
    ...(index === lastRepeating ? marked : {}),
  }));
  const instructions: VendorPrompt = system === '' ? [] : [{ role: 'system', content: system, ...marked }];
  return [...instructions, { role: 'user', content }];
}
