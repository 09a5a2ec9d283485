import type { Writer } from '../agent/port.ts';
import { codeOf } from '../core/errors.ts';
import { isAgent, type ModelSpec, parseModelSpec, vendorOf } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { AnswerPart, Provider } from '../models/port.ts';
import { isRead, type TestSuite } from '../testing/port.ts';
import { type MaybeAttributes, traced } from './tracer.ts';

interface Asked {
  /** Of the span. */
  name: string;
  attributes: MaybeAttributes;
  system: string;
  texts: readonly string[];
}

interface Answered {
  attributes: MaybeAttributes;
  parts: readonly object[];
  /** Null: not known. */
  finish: string | null;
}

/** A span for a call of a model or an agent. Texts are recorded only if the user wants that. */
function tracedCall<Reply>(
  { name, attributes, system, texts }: Asked,
  call: () => Promise<Reply>,
  see: (reply: Reply) => Answered,
): Promise<Reply> {
  const operation = String(attributes['gen_ai.operation.name']);
  const kind = operation === 'chat' ? 'client' : 'internal';
  return traced(`${operation} ${name}`, { kind, attributes }, async (span) => {
    const record = (what: string, value: readonly object[]): void => {
      if (span.content) span.set({ [`gen_ai.${what}`]: JSON.stringify(value) });
    };
    record('system_instructions', [textPart(system)]);
    record('input.messages', [{ role: 'user', parts: texts.map(textPart) }]);
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
  const name = byAgent || !('model' in spec) ? spec.provider : spec.model;
  const asked = askedAttributes(spec, byAgent ? 'invoke_agent' : 'chat');
  return {
    ...provider,
    complete(request) {
      const texts = request.parts.map(({ text }) => text);
      const attributes = { ...asked, 'agentos.role': request.role };
      return tracedCall(
        { name, attributes, system: request.system, texts },
        () => provider.complete(request),
        (reply) => {
          const isCut = reply.cut === true;
          const finish =
            vendorOf(spec) === null ? null : isCut ? 'length' : reply.parts === undefined ? 'stop' : 'tool_call';
          const ofModel = provider.isModel && reply.metered ? costOf(provider.spec, reply.usage) : null;
          // An agent's usage is in the spans of its calls, below this one.
          const usage = reply.metered && !byAgent ? reply.usage : null;
          const answer = answerAttributes({ ...reply, usage, costUsd: reply.costUsd ?? ofModel, finish });
          return { attributes: answer, parts: reply.parts?.map(partOf) ?? [textPart(reply.text)], finish };
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
  const attributes = askedAttributes(spec, 'invoke_agent');
  return {
    ...writer,
    write: (request) =>
      tracedCall(
        { name, attributes, system: request.system, texts: [request.task] },
        () => writer.write(request),
        ({ text, answered, metered, costUsd }) => ({
          attributes: { 'gen_ai.response.model': answered, 'agentos.cost_usd': metered ? costUsd : null },
          parts: [textPart(text)],
          finish: null,
        }),
      ),
  };
}

/** Names from OpenTelemetry's conventions for generative AI. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = { google: 'gcp.gemini' };

/** The text of a command is left out: it may hold secrets. */
function askedAttributes(spec: ModelSpec, operation: 'chat' | 'invoke_agent'): MaybeAttributes {
  return {
    ...requestAttributes(operation, vendorOf(spec) ?? spec.provider, 'model' in spec ? spec.model : spec.provider),
    'gen_ai.agent.name': operation === 'chat' ? null : isAgent(spec) ? spec.provider : 'agentos',
  };
}

export function requestAttributes(operation: string, vendor: string, model: string | null): MaybeAttributes {
  const provider = PROVIDER_NAMES[vendor] ?? vendor;
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider,
    'gen_ai.system': provider,
    'gen_ai.request.model': model,
  };
}

/** Null: unknown. */
type AnswerFacts = Record<'answered' | 'finish', string | null> & { usage: Usage | null; costUsd: number | null };

export function answerAttributes({ answered, usage, costUsd, finish }: AnswerFacts): MaybeAttributes {
  return {
    'gen_ai.response.model': answered,
    'gen_ai.response.finish_reasons': finish === null ? null : [finish],
    'gen_ai.usage.input_tokens': usage?.inputTokens,
    'gen_ai.usage.output_tokens': usage?.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWriteTokens,
    'gen_ai.usage.cost': costUsd,
  };
}
