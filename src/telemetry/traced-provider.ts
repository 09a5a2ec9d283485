import { codeOf } from '../core/errors.ts';
import { parseModelSpec, vendorOf } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { Provider } from '../models/port.ts';
import { answerAttributes, askedAttributes, finishOf, questionContent, replyContent } from './gen-ai.ts';
import { traced, wantsContent } from './tracer.ts';

/** Every call of the model as a span. */
export function tracedProvider(provider: Provider, costOf: (spec: string, usage: Usage) => number | null): Provider {
  const spec = parseModelSpec(provider.spec);
  const model = 'model' in spec ? spec.model : spec.provider;
  // Only a reply that its vendor calls finished is a reply.
  const finish = vendorOf(spec) === null ? null : 'stop';
  return {
    spec: provider.spec,
    isModel: provider.isModel,
    complete: (request) =>
      traced(
        `chat ${model}`,
        { kind: 'client', attributes: { ...askedAttributes(spec, 'chat'), 'agentos.role': request.role } },
        async (span) => {
          const content = wantsContent();
          if (content)
            span.set(
              questionContent(
                request.system,
                request.parts.map((part) => part.text),
              ),
            );
          try {
            const reply = await provider.complete(request);
            const costUsd = provider.isModel && reply.metered ? costOf(provider.spec, reply.usage) : null;
            span.set(answerAttributes({ ...reply, usage: reply.metered ? reply.usage : null, costUsd, finish }));
            if (content) span.set(replyContent(reply.text, finish));
            return reply;
          } catch (error) {
            const reason = finishOf(codeOf(error));
            if (reason !== null) span.set({ 'gen_ai.response.finish_reasons': [reason] });
            throw error;
          }
        },
      ),
  };
}
