import type { AgentosEvent, Subscriber } from '../core/events.ts';
import { EXIT } from '../core/exit-code.ts';
import { parseTraceparent, type SpanContext, traceparentOf } from '../core/traceparent.ts';
import { noteOfRun } from './event-notes.ts';
import { maskSpan, startSpanExporter } from './exporter.ts';
import { type ItemTrace, openItemTrace, type TracedItem } from './item-trace.ts';
import { capturesContent, readTraceSettings } from './settings.ts';
import { type AttemptTrace, type MaybeAttributes, newTraceId, openSpan, type Span, type SpanSink } from './span.ts';
import { below, traced } from './tracer.ts';

/** The last spans of a run may take this long to leave. */
const LAST_SPANS_MS = 1_500;
/** After Ctrl+C everything is over within five seconds, this included. */
const AFTER_INTERRUPT_MS = 4_700;
const LEAST_MS = 200;

export interface RunTraceOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** The program of the exporter's thread. */
  exporterScript: string;
  version: string;
  name: string;
  attributes: MaybeAttributes;
  /** The run that this one resumes. */
  follows: SpanContext | null;
  mask: (text: string) => string;
}

/** A request at the gateway, by a worker or an agent. */
export interface GatewayRequest {
  item: string;
  traceparent: string | undefined;
  /** The span for a call whose caller has none. */
  name: string;
  attributes: MaybeAttributes;
}

/** One run as one trace, seen from the parent. */
export interface RunTrace {
  /** For runs that resume this one; null: it is not traced. */
  readonly context: SpanContext | null;
  /** What should be known of the settings. */
  readonly warnings: readonly string[];
  /** For everything that the run starts. */
  readonly environment: Readonly<Record<string, string>>;
  readonly subscriber: Subscriber;
  /** Called at most once, when spans can't be sent. */
  onProblem(listener: (text: string) => void): void;
  /** Work of the parent itself. */
  within<T>(work: () => T): T;
  attempt(item: TracedItem, number: number): AttemptTrace | null;
  request<T>(request: GatewayRequest, work: () => Promise<T>): Promise<T>;
  /** Ends the run's span and sends what there is, in bounded time. Once. */
  close(end: { exitCode: number | null; giveUp: AbortSignal }): Promise<void>;
}

/** Without an endpoint, or where the sampler says no, nothing is recorded and nothing is loaded. */
export function openRunTrace(options: RunTraceOptions): RunTrace {
  const { env, version, mask } = options;
  const { settings, warnings } = readTraceSettings(env);
  if (settings === null) return untraced(warnings, {});
  const parent = parseTraceparent(env['TRACEPARENT']);
  const traceId = parent?.traceId ?? newTraceId();
  if (!settings.isSampled(traceId, parent)) {
    const told = parent ?? { traceId, spanId: newTraceId().slice(16) };
    return untraced(warnings, { TRACEPARENT: traceparentOf(told, false) });
  }
  const problem = Promise.withResolvers<string>();
  const exporter = startSpanExporter({
    settings,
    script: options.exporterScript,
    env,
    version,
    prepare: (span) => maskSpan(span, mask),
    onProblem: (text) => problem.resolve(text),
  });
  const sink: SpanSink = { closed: (span) => exporter.add(span), content: capturesContent(env) };
  const run = openSpan(sink, { traceId, spanId: parent?.spanId ?? null }, options.name, {
    attributes: options.attributes,
    links: options.follows === null ? [] : [options.follows],
  });
  const context: SpanContext = { traceId, spanId: run.record.spanId };
  const items = new Map<string, ItemTrace>();
  /** Of each id the workflow that it is in. */
  const current = new Map<string, ItemTrace>();
  let interruptedAt: number | null = null;
  let isClosed = false;

  const traceOf = (item: TracedItem): ItemTrace => {
    const key = `${item.workflow}-${item.id}`;
    const trace = items.get(key) ?? openItemTrace(sink, context, item);
    items.set(key, trace);
    current.set(item.id, trace);
    return trace;
  };
  const subscriber = (event: AgentosEvent): void => {
    if (isClosed) return;
    if ('item' in event) {
      traceOf({ id: event.item, workflow: event.workflow }).note(event);
      return;
    }
    const note = noteOfRun(event);
    if (note !== null) run.event(note.name, note.attributes);
    if (event.type === 'interrupted') {
      interruptedAt ??= performance.now();
      exporter.flush();
    }
  };
  return {
    context,
    warnings,
    environment: { TRACEPARENT: traceparentOf(context) },
    subscriber,
    onProblem: (listener) => void problem.promise.then(listener),
    within: (work) => below(sink, context, work),
    attempt: (item, number) => traceOf(item).attempt(number),
    request({ item, traceparent, name, attributes }, work) {
      const caller = parseTraceparent(traceparent);
      if (caller?.traceId === traceId) return below(sink, caller, work);
      const now = current.get(item)?.current() ?? context;
      return below(sink, now, () => traced(name, { kind: 'client', attributes }, () => work()));
    },
    async close({ exitCode, giveUp }) {
      if (isClosed) return;
      isClosed = true;
      for (const item of items.values()) item.close();
      endRun(run, exitCode);
      run.end();
      const leftMs = interruptedAt === null ? LAST_SPANS_MS : AFTER_INTERRUPT_MS - (performance.now() - interruptedAt);
      await exporter.close(Math.max(LEAST_MS, Math.min(LAST_SPANS_MS, leftMs)), giveUp);
    },
  };
}

/** All well, waiting for a person, and paused for quota: none of them is a failure. */
const FINE: ReadonlySet<number> = new Set([EXIT.ok, EXIT.discuss, EXIT.paused]);

function endRun(run: Span, exitCode: number | null): void {
  run.set({ 'agentos.exit_code': exitCode });
  if (exitCode === null) run.fail('internal');
  else if (!FINE.has(exitCode)) run.fail(`exit-${exitCode}`);
}

function untraced(warnings: readonly string[], environment: Record<string, string>): RunTrace {
  return {
    context: null,
    warnings,
    environment,
    subscriber: () => undefined,
    onProblem: () => undefined,
    within: (work) => work(),
    attempt: () => null,
    request: (_request, work) => work(),
    close: async () => undefined,
  };
}
