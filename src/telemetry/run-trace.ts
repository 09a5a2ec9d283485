import type { ErrorRecord } from '../core/errors.ts';
import type { AgentosEvent, ItemEvent, RunEvent, Subscriber } from '../core/events.ts';
import { EXIT, isFailure } from '../core/exit-code.ts';
import { parseTraceparent, type SpanContext, traceparentOf } from '../core/traceparent.ts';
import { maskSpan, readTraceSettings, startSpanExporter } from './exporter.ts';
import { requestAttributes } from './traced.ts';
import {
  type AttemptTrace,
  type AttributeValue,
  abandoned,
  below,
  capturesContent,
  type MaybeAttributes,
  newTraceId,
  type OpenSpan,
  openSpan,
  type Span,
  type SpanRecord,
  type SpanSink,
  traced,
  UNTRACED,
} from './tracer.ts';

/** How long the last spans of a run may take to be sent. */
const LAST_SPANS_MS = 1_500;
/** After Ctrl+C workers may take four seconds, and everything ends within five. */
const HURRIED_MS = 700;

interface RunTraceOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** The script of the exporter's thread. */
  exporterScript: string;
  version: string;
  name: string;
  attributes: MaybeAttributes;
  /** The run that this one resumes. */
  follows: SpanContext | null;
  mask: (text: string) => string;
}

interface TracedItem {
  id: string;
  workflow: string;
}

/** A request of a worker or an agent at the gateway. */
interface GatewayRequest {
  item: string;
  /** The header of a worker's request, which belongs to the span of its model call; agents send none: they get a span here. */
  traceparent: string;
  operation: string;
  vendor: string;
  model: string | null;
}

/** One run as one trace, in the parent process. */
export interface RunTrace {
  /** For runs that resume this one; null: not traced. */
  readonly context: SpanContext | null;
  /** About the settings. */
  readonly warnings: readonly string[];
  /** For all programs that the run starts. */
  readonly environment: Readonly<Record<string, string>>;
  readonly subscriber: Subscriber;
  /** Called at most once, when spans can't be sent. */
  onProblem(listener: (text: string) => void): void;
  /** Runs work of the parent itself. */
  within<T>(work: () => T): T;
  attempt(item: TracedItem, number: number): AttemptTrace | null;
  /** The work gets the span of an agent's request. */
  request: <T>(request: GatewayRequest, work: (span: Span | null) => Promise<T>) => Promise<T>;
  /** Ends the run's span and sends all spans, in bounded time. Idempotent. */
  close(end: { exitCode: number | null; giveUp: AbortSignal }): Promise<void>;
}

/** One run as one trace, in the parent process. If the settings or the sampler say no, nothing is recorded. */
export function openRunTrace(options: RunTraceOptions): RunTrace {
  const { env, version, mask } = options;
  const { settings, warnings } = readTraceSettings(env);
  if (settings === null) return { ...UNTRACED, warnings };
  const parent = parseTraceparent(env['TRACEPARENT']);
  const traceId = parent?.traceId ?? newTraceId();
  if (!settings.isSampled(traceId, parent)) {
    const told = parent ?? { traceId, spanId: newTraceId().slice(16) };
    return { ...UNTRACED, warnings, environment: { TRACEPARENT: traceparentOf(told, false) } };
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
  /** By item id: its current workflow. */
  const current = new Map<string, ItemTrace>();
  let isInterrupted = false;
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
    noteOn(run, event);
    if (event.type !== 'interrupted') return;
    isInterrupted = true;
    exporter.flush();
  };
  return {
    context,
    warnings,
    environment: { TRACEPARENT: traceparentOf(context) },
    subscriber,
    onProblem: (listener) => void problem.promise.then(listener),
    within: (work) => below(sink, context, work),
    attempt: (item, number) => traceOf(item).attempt(number),
    request({ item, traceparent, operation, vendor, model }, work) {
      const caller = parseTraceparent(traceparent);
      if (caller?.traceId === traceId) return below(sink, caller, () => work(null));
      const now = current.get(item)?.current() ?? context;
      const attributes = requestAttributes(operation, vendor, model);
      return below(sink, now, () => traced(`${operation} ${model ?? vendor}`, { kind: 'client', attributes }, work));
    },
    async close({ exitCode, giveUp }) {
      if (isClosed) return;
      isClosed = true;
      for (const item of items.values()) item.close();
      endRun(run, exitCode);
      run.end();
      await exporter.close(isInterrupted ? HURRIED_MS : LAST_SPANS_MS, giveUp);
    },
  };
}

const NOT_FAILED: ReadonlySet<number> = new Set([EXIT.ok, EXIT.discuss, EXIT.paused]);

function endRun(run: Span, exitCode: number | null): void {
  run.set({ 'agentos.exit_code': exitCode });
  if (exitCode === null) run.fail('internal');
  else if (!NOT_FAILED.has(exitCode)) run.fail(`exit-${exitCode}`);
}

interface Attempt extends AttemptTrace {
  span: OpenSpan;
  /** Spans that the worker has not ended. */
  open: Map<string, SpanRecord>;
}

const LEFT_OPEN: ErrorRecord = {
  problem: { code: 'internal', detail: 'it was left open' },
  retry: 'permanent',
};

type ItemTrace = ReturnType<typeof openItemTrace>;

/** The span of one item in one workflow, with its attempts below it. */
export function openItemTrace(sink: SpanSink, run: SpanContext, { id, workflow }: TracedItem) {
  const item = openSpan(sink, run, `${workflow} ${id}`, {
    attributes: { 'agentos.item.id': id, 'agentos.workflow': workflow },
  });
  let attempt: Attempt | null = null;

  const begin = (number: number): Attempt => {
    const attributes = { 'agentos.item.id': id, 'agentos.attempt': number };
    const span = openSpan(sink, item.record, `attempt ${number}`, { attributes });
    const open = new Map<string, SpanRecord>();
    const mine: Attempt = {
      span,
      open,
      traceparent: traceparentOf(span.record),
      spans(records) {
        for (const record of records) {
          if (record.endMs === null) open.set(record.spanId, record);
          else {
            open.delete(record.spanId);
            sink.closed(record);
          }
        }
      },
      ended(error) {
        for (const record of open.values()) sink.closed(abandoned(record, error ?? LEFT_OPEN));
        open.clear();
        span.end(error);
        if (attempt === mine) attempt = null;
      },
    };
    return mine;
  };
  return {
    attempt(number: number): AttemptTrace {
      attempt = begin(number);
      return attempt;
    },
    note(event: ItemEvent): void {
      if (event.type === 'item-started') item.set({ 'agentos.item.title': event.title });
      if (event.type === 'item-retrying') {
        const { attempt: next, delayMs, error } = event;
        const attributes = { 'agentos.attempt': next, 'agentos.delay_ms': delayMs, 'error.type': error.problem.code };
        item.event('retrying', attributes);
      }
      if (event.type === 'item-finished') {
        const { status, attempts, reason, error } = event;
        item.set({ 'agentos.status': status, 'agentos.attempts': attempts, 'agentos.reason': reason });
        if (isFailure(status) && error === null) item.fail(status, reason ?? '');
        item.end(error);
      }
      noteOn(attempt?.span ?? item, event);
    },
    /** The parent of spans that are recorded outside of the worker, such as requests at the gateway. */
    current(): SpanContext {
      const inAgent = [...(attempt?.open.values() ?? [])].findLast(isAgentCall);
      return inAgent ?? attempt?.span.record ?? item.record;
    },
    /** Ends the spans that are still open. */
    close(): void {
      attempt?.ended(LEFT_OPEN);
      item.end(LEFT_OPEN);
    },
  };
}

/** Requests of an agent carry no trace context; they belong to the agent that is running. */
function isAgentCall({ attributes }: SpanRecord): boolean {
  return attributes['gen_ai.operation.name'] === 'invoke_agent';
}

type AnyEvent = ItemEvent | RunEvent;
type FieldOf<Type> = Exclude<keyof Extract<AnyEvent, { type: Type }>, 'type'> & string;

/** Events that become events of a span, with the fields that are recorded. Others have a span, or are for people only. */
const NOTES: { [Type in AnyEvent['type']]?: readonly [name: string, ...fields: FieldOf<Type>[]] } = {
  'step-finished': ['step replayed', 'step'],
  'draft-checked': ['draft checked', 'round', 'errors', 'warnings'],
  'review-read': ['verdict', 'round', 'verdict', 'tiers', 'problems'],
  'gate-checked': ['gate', 'gate', 'round', 'passed', 'skipped', 'problems'],
  'reply-rejected': ['reply rejected', 'step', 'reason'],
  'changes-undone': ['changes undone', 'step', 'why', 'paths'],
  committed: ['committed', 'branch', 'commit', 'what'],
  'model-substituted': ['model substituted', 'role', 'asked', 'answered'],
  'quota-waiting': ['quota waiting', 'vendor', 'reason', 'forMs'],
  'quota-resumed': ['quota resumed', 'vendor', 'waitedMs'],
  'answer-reused': ['answer reused', 'step'],
  warning: ['warning', 'text'],
  interrupted: ['interrupted', 'signal'],
  'key-cooling': ['key cooling', 'keyId', 'forMs', 'why'],
  'key-dead': ['key dead', 'keyId', 'reason'],
  'pool-exhausted': ['quota exhausted', 'vendor', 'reason', 'forMs'],
  'pool-resumed': ['quota back', 'vendor'],
};

/** Attributes whose name differs from the event's field. */
const NAMES: Readonly<Record<string, string>> = {
  keyId: 'agentos.key.id',
  forMs: 'agentos.for_ms',
  waitedMs: 'agentos.waited_ms',
  why: 'agentos.reason',
  tiers: 'agentos.findings',
  branch: 'vcs.ref.head.name',
  commit: 'vcs.ref.head.revision',
  asked: 'gen_ai.request.model',
  answered: 'gen_ai.response.model',
};

/** Lists that are recorded whole; of others, only the length is. */
const WHOLE_LISTS = new Set(['tiers', 'paths']);

function noteOn(span: Span, event: AnyEvent): void {
  const [name, ...fields] = NOTES[event.type] ?? [];
  if (name === undefined || (event.type === 'step-finished' && !event.replayed)) return;
  const attributes = fields.map((field): [string, AttributeValue | null] => {
    const value = (event as Readonly<Record<string, AttributeValue | null>>)[field] ?? null;
    const shown =
      typeof value !== 'object' || value === null ? value : WHOLE_LISTS.has(field) ? value.map(String) : value.length;
    return [NAMES[field] ?? `agentos.${field}`, shown];
  });
  span.event(name, Object.fromEntries(attributes));
}
