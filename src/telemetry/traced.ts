import type { Writer } from '../agent/port.ts';
import { codeOf } from '../core/errors.ts';
import { isAgent, parseModelSpec, vendorOf } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { Journal } from '../journal/port.ts';
import type { ModelReply, Provider } from '../models/port.ts';
import { isRead, type TestSuite } from '../testing/port.ts';
import { answerAttributes, askedAttributes, finishOf, questionContent, replyContent } from './span.ts';
import { traced, wantsContent } from './tracer.ts';

/** A span for every step that runs. A replayed step takes no time, and is an event of its attempt. */
export function tracedJournal(journal: Journal): Journal {
  return {
    location: journal.location,
    step: (key, run) =>
      journal.step(key, (step) => {
        const attributes = { 'agentos.step': key.name, 'agentos.step.earlier_starts': step.earlierStarts };
        return traced(`step ${key.name}`, { attributes }, () => run(step));
      }),
    has: (key) => journal.has(key),
    steps: () => journal.steps(),
    last: (name) => journal.last(name),
    check: () => journal.check(),
    remove: () => journal.remove(),
    close: () => journal.close(),
  };
}

/** A span for every call of the model. */
export function tracedProvider(provider: Provider, costOf: (spec: string, usage: Usage) => number | null): Provider {
  const spec = parseModelSpec(provider.spec);
  const byAgent = isAgent(spec);
  const operation = byAgent ? 'invoke_agent' : 'chat';
  const model = byAgent || !('model' in spec) ? spec.provider : spec.model;
  // A vendor's reply is always finished: anything else is thrown.
  const finishOfReply = ({ parts }: ModelReply): string | null =>
    vendorOf(spec) === null ? null : parts === undefined ? 'stop' : 'tool_call';
  return {
    ...provider,
    complete: (request) =>
      traced(
        `${operation} ${model}`,
        {
          ...(byAgent ? {} : { kind: 'client' }),
          attributes: { ...askedAttributes(spec, operation), 'agentos.role': request.role },
        },
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
            const finish = finishOfReply(reply);
            const ofModel = provider.isModel && reply.metered ? costOf(provider.spec, reply.usage) : null;
            const costUsd = reply.costUsd ?? ofModel;
            // An agent's usage is in the spans of its calls, below this one.
            const usage = reply.metered && !byAgent ? reply.usage : null;
            span.set(answerAttributes({ ...reply, usage, costUsd, finish }));
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

/** A span for every run of the tests. Only a run whose result can't be read is an error. */
export function tracedTests(suite: TestSuite): TestSuite {
  return {
    runner: suite.runner,
    command: suite.command,
    folders: suite.folders,
    fetchesFirst: suite.fetchesFirst ?? false,
    isTestFile: (path) => suite.isTestFile(path),
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
