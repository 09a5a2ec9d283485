import type { Writer } from '../agent/port.ts';
import { isAgent, parseWriterSpec } from '../core/model-spec.ts';
import { askedAttributes, questionContent, replyContent } from './gen-ai.ts';
import { traced, wantsContent } from './tracer.ts';

/** Every call of the implementer as a span; the calls of models that it makes are below it, with what they used. */
export function tracedWriter(writer: Writer): Writer {
  const spec = parseWriterSpec(writer.spec);
  const name = isAgent(spec) || !('model' in spec) ? spec.provider : spec.text;
  return {
    spec: writer.spec,
    isModel: writer.isModel,
    writesByItself: writer.writesByItself,
    write: (request) =>
      traced(`invoke_agent ${name}`, { attributes: askedAttributes(spec, 'invoke_agent') }, async (span) => {
        const content = wantsContent();
        if (content) span.set(questionContent(request.system, [request.task]));
        const reply = await writer.write(request);
        span.set({ 'gen_ai.response.model': reply.answered, 'agentos.cost_usd': reply.metered ? reply.costUsd : null });
        if (content) span.set(replyContent(reply.text, null));
        return reply;
      }),
  };
}
