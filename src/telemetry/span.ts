import { randomBytes } from 'node:crypto';
import type { ErrorRecord, Problem } from '../core/errors.ts';
import { isAgent, type ModelSpec, vendorOf } from '../core/model-spec.ts';
import type { Usage } from '../core/money.ts';
import type { SpanContext } from '../core/traceparent.ts';

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Record<string, AttributeValue>;
/** Null and undefined values are left out. */
export type MaybeAttributes = Readonly<Record<string, AttributeValue | null | undefined>>;

export type SpanKind = 'internal' | 'client';

interface SpanEvent {
  name: string;
  atMs: number;
  attributes: Attributes;
}

/** A span as plain data, which can cross processes and threads. Times are wall-clock milliseconds with fractions. */
export interface SpanRecord extends SpanContext {
  parentSpanId: string | null;
  name: string;
  kind: SpanKind;
  startMs: number;
  /** Null: still open. */
  endMs: number | null;
  attributes: Attributes;
  events: SpanEvent[];
  droppedEvents: number;
  failed: boolean;
  /** Why it failed, for people. */
  message: string;
  links: SpanContext[];
}

/** Where spans go. */
export interface SpanSink {
  /** A span has started; the same span is passed to `closed` later. */
  opened?: (span: SpanRecord) => void;
  closed: (span: SpanRecord) => void;
  /** The id of an open span is about to be passed to another process. */
  leaving?: () => void;
  /** Prompts and replies are recorded too. */
  content: boolean;
}

/** One attempt at an item, as the coordinator sees it. */
export interface AttemptTrace {
  /** For the worker, whose spans belong to this one. */
  readonly traceparent: string;
  /** Called with spans of the worker when they start and when they end. */
  spans(records: readonly SpanRecord[]): void;
  /** Ends the attempt, and the spans that the worker left open. */
  ended(error: ErrorRecord | null): void;
}

const MAX_EVENTS = 200;
const MAX_MESSAGE_CHARS = 1_000;

/** A span as the code inside it sees it. */
export interface Span {
  set(attributes: MaybeAttributes): void;
  event(name: string, attributes?: MaybeAttributes): void;
  /** Marks it as failed, although nothing was thrown. */
  fail(code: string, message?: string): void;
}

export interface OpenSpan extends Span {
  readonly record: SpanRecord;
  /** Idempotent. */
  end(error?: ErrorRecord | null): void;
}

export interface SpanOptions {
  kind?: SpanKind;
  attributes?: MaybeAttributes;
  links?: SpanContext[];
}

/** For untraced work. */
export const NO_SPAN: Span = { set: () => undefined, event: () => undefined, fail: () => undefined };

export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

export function openSpan(
  sink: SpanSink,
  parent: { traceId: string; spanId: string | null },
  name: string,
  { kind = 'internal', attributes = {}, links = [] }: SpanOptions = {},
): OpenSpan {
  const record: SpanRecord = {
    traceId: parent.traceId,
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: parent.spanId,
    name,
    kind,
    startMs: wallTimeMs(),
    endMs: null,
    attributes: known(attributes),
    events: [],
    droppedEvents: 0,
    failed: false,
    message: '',
    links,
  };
  // The duration is measured on the monotonic clock, because the date may be set meanwhile.
  const openedMs = performance.now();
  const nowMs = (): number => record.startMs + performance.now() - openedMs;
  const fail = (code: string, message = ''): void => {
    record.failed = true;
    record.message = message.slice(0, MAX_MESSAGE_CHARS);
    record.attributes['error.type'] = code;
  };
  sink.opened?.(record);
  return {
    record,
    set: (more) => void Object.assign(record.attributes, known(more)),
    event(eventName, more = {}) {
      if (record.events.length >= MAX_EVENTS) record.droppedEvents += 1;
      else record.events.push({ name: eventName, atMs: nowMs(), attributes: known(more) });
    },
    fail,
    end(error = null) {
      if (record.endMs !== null) return;
      if (error !== null) fail(error.problem.code, detailIn(error.problem));
      record.endMs = nowMs();
      sink.closed(record);
    },
  };
}

/** Ends a span that another process left open. */
export function abandoned(record: SpanRecord, error: ErrorRecord): SpanRecord {
  const attributes = { ...record.attributes, 'error.type': error.problem.code };
  return {
    ...record,
    attributes,
    endMs: Math.max(record.startMs, wallTimeMs()),
    failed: true,
    message: detailIn(error.problem),
  };
}

function known(attributes: MaybeAttributes): Attributes {
  const kept: Attributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) kept[name] = value;
  }
  return kept;
}

function detailIn(problem: Problem): string {
  if ('detail' in problem) return problem.detail;
  return 'reason' in problem && problem.reason !== null ? problem.reason : '';
}

/** A larger difference means that the clock was set, or the machine slept. */
const LARGEST_DRIFT_MS = 50;

let originMs = performance.timeOrigin;

/** Wall-clock time with the precision of the monotonic clock, so that the spans of all processes nest correctly. */
function wallTimeMs(): number {
  const sinceMs = performance.now();
  const wallMs = Date.now();
  if (Math.abs(wallMs - (originMs + sinceMs)) > LARGEST_DRIFT_MS) originMs = wallMs - sinceMs;
  return originMs + sinceMs;
}

/** Names from OpenTelemetry's conventions for generative AI. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = { google: 'gcp.gemini' };

/** The text of a command is left out: it may hold secrets. */
export function askedAttributes(spec: ModelSpec, operation: 'chat' | 'invoke_agent'): MaybeAttributes {
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
interface AnswerFacts {
  answered: string | null;
  usage: Usage | null;
  costUsd: number | null;
  finish: string | null;
}

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
