import type { Writer } from '../agent/port.ts';
import { codeOf } from '../core/errors.ts';
import { isAgent, type ModelSpec, parseModelSpec, vendorOf } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { AnswerPart, Provider } from '../models/port.ts';
import { isRead, type TestSuite } from '../testing/port.ts';
import { answerAttributes, askedAttributes, type MaybeAttributes } from './span.ts';
import { traced, wantsContent } from './tracer.ts';

interface TracedCall {
  name: string;
  spec: ModelSpec;
  operation: 'chat' | 'invoke_agent';
  /** Absent: it is in a span above this one. */
  question?: { system: string; texts: readonly string[] };
  attributes?: MaybeAttributes;
}

/** What a span tells of a reply. */
interface SeenReply {
  attributes: MaybeAttributes;
  parts: readonly object[];
  /** Null: not known. */
  finish: string | null;
}

/** A span for a call of a model or an agent. Texts are recorded only if the user wants that. */
export function tracedCall<Reply>(
  { name, spec, operation, question, attributes }: TracedCall,
  call: () => Promise<Reply>,
  see: (reply: Reply) => SeenReply,
): Promise<Reply> {
  const kind = operation === 'chat' ? 'client' : 'internal';
  const asked = { ...askedAttributes(spec, operation), ...attributes };
  return traced(`${operation} ${name}`, { kind, attributes: asked }, async (span) => {
    const record = (what: string, value: readonly object[]): void => {
      if (wantsContent()) span.set({ [`gen_ai.${what}`]: JSON.stringify(value) });
    };
    if (question !== undefined) {
      record('system_instructions', [textPart(question.system)]);
      record('input.messages', [{ role: 'user', parts: question.texts.map(textPart) }]);
    }
    try {
      const reply = await call();
      const { attributes: answered, parts, finish } = see(reply);
      span.set(answered);
      record('output.messages', [{ role: 'assistant', parts, ...(finish === null ? {} : { finish_reason: finish }) }]);
      return reply;
    } catch (error) {
      const finish = FINISHES[codeOf(error) ?? ''];
      if (finish !== undefined) span.set({ 'gen_ai.response.finish_reasons': [finish] });
      throw error;
    }
  });
}

/** The finish reasons of replies that failed. */
const FINISHES: Readonly<Record<string, string>> = { 'reply-truncated': 'length', 'reply-filtered': 'content_filter' };

function partOf(part: AnswerPart): object {
  return part.type === 'tool-call'
    ? { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input }
    : { type: part.type, content: part.text };
}

function textPart(content: string): object {
  return { type: 'text', content };
}

/** A span for every call of the model. */
export function tracedProvider(provider: Provider, costOf: (spec: string, usage: Usage) => number | null): Provider {
  const spec = parseModelSpec(provider.spec);
  const byAgent = isAgent(spec);
  const operation = byAgent ? 'invoke_agent' : 'chat';
  const name = byAgent || !('model' in spec) ? spec.provider : spec.model;
  return {
    ...provider,
    complete(request) {
      const question = { system: request.system, texts: request.parts.map(({ text }) => text) };
      const call = { name, spec, operation, question, attributes: { 'agentos.role': request.role } } as const;
      return tracedCall(
        call,
        () => provider.complete(request),
        (reply) => {
          const isCut = reply.cut === true;
          const finish =
            vendorOf(spec) === null ? null : isCut ? 'length' : reply.parts === undefined ? 'stop' : 'tool_call';
          const ofModel = provider.isModel && reply.metered ? costOf(provider.spec, reply.usage) : null;
          // An agent's usage is in the spans of its calls, below this one.
          const usage = reply.metered && !byAgent ? reply.usage : null;
          const attributes = answerAttributes({ ...reply, usage, costUsd: reply.costUsd ?? ofModel, finish });
          return { attributes, parts: reply.parts?.map(partOf) ?? [textPart(reply.text)], finish };
        },
      );
    },
  };
}

/** A span for every run of the tests. Only a run whose result can't be read is an error. */
export function tracedTests(suite: TestSuite): TestSuite {
  return {
    ...suite,
    // It changes when the tests turn out to need a build.
    get command() {
      return suite.command;
    },
    run: (options) =>
      traced('test run', { attributes: { 'agentos.tests.runner': suite.runner } }, async (span) => {
        const run = await suite.run(options);
        const count = (outcome: string): number => run.cases.filter((test) => test.outcome === outcome).length;
        span.set({
          'agentos.tests.command': run.command,
          'agentos.tests.outcome': run.outcome,
          'agentos.tests.passed': count('passed'),
          'agentos.tests.failed': count('failed'),
          'agentos.tests.skipped': count('skipped'),
          'agentos.tests.not_loaded': run.loadFailures.length,
          'process.exit.code': run.exitCode,
        });
        if (!isRead(run)) span.fail(`tests-${run.outcome}`);
        return run;
      }),
  };
}

/** A span for every call of the implementer. Its model calls are below it, with what they used. */
export function tracedWriter(writer: Writer): Writer {
  const spec = parseModelSpec(writer.spec);
  const name = isAgent(spec) || !('model' in spec) ? spec.provider : spec.text;
  return {
    ...writer,
    write(request) {
      const question = { system: request.system, texts: [request.task] };
      return tracedCall(
        { name, spec, operation: 'invoke_agent', question },
        () => writer.write(request),
        ({ text, answered, metered, costUsd }) => ({
          attributes: { 'gen_ai.response.model': answered, 'agentos.cost_usd': metered ? costUsd : null },
          parts: [textPart(text)],
          finish: null,
        }),
      );
    },
  };
}
