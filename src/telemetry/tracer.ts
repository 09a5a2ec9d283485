import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { type ErrorRecord, type Problem, toErrorRecord } from '../core/errors.ts';
import { type SpanContext, traceparentOf } from '../core/traceparent.ts';
import type { RunTrace } from './run-trace.ts';

/*
 * Spans as plain data, and where they come from. It is all that runs of tracing when a run is not traced.
 */

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

const MAX_MESSAGE_CHARS = 1_000;

/** A span as the code inside it sees it. */
export interface Span {
  /** Prompts and replies are recorded too. */
  readonly content: boolean;
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

interface SpanOptions {
  kind?: SpanKind;
  attributes?: MaybeAttributes;
  links?: SpanContext[];
}

/** For untraced work. */
const NO_SPAN: Span = { content: false, set: () => undefined, event: () => undefined, fail: () => undefined };

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
    content: sink.content,
    set: (more) => void Object.assign(record.attributes, known(more)),
    event(eventName, more = {}) {
      record.events.push({ name: eventName, atMs: nowMs(), attributes: known(more) });
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

interface Scope {
  sink: SpanSink;
  context: SpanContext;
}

/** Work outside of any scope is not traced, and costs only this look-up. */
const scopes = new AsyncLocalStorage<Scope>();

/** Runs work whose spans belong below this span of another process, or of another part of this one. */
export function below<T>(sink: SpanSink, context: SpanContext, work: () => T): T {
  return scopes.run({ sink, context }, work);
}

export function isTraced(): boolean {
  return scopes.getStore() !== undefined;
}

interface TracedOptions extends SpanOptions {
  /** Shorter work gets no span. */
  fromMs?: number;
}

/** Runs work in a span below the current one; what it throws is the span's error. Untraced work just runs. */
export function traced<T>(name: string, options: TracedOptions, work: (span: Span) => Promise<T>): Promise<T> {
  const scope = scopes.getStore();
  return scope === undefined ? work(NO_SPAN) : inSpan(scope, name, options, work);
}

async function inSpan<T>(
  { sink, context }: Scope,
  name: string,
  { fromMs, ...options }: TracedOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = openSpan(fromMs === undefined ? sink : atLeast(sink, fromMs), context, name, options);
  try {
    const result = await scopes.run({ sink, context: span.record }, () => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(toErrorRecord(error));
    throw error;
  }
}

function atLeast({ closed, content }: SpanSink, fromMs: number): SpanSink {
  return {
    content,
    closed: (record) => {
      if ((record.endMs ?? record.startMs) - record.startMs >= fromMs) closed(record);
    },
  };
}

/** For a program or a request that starts here; null: nothing is traced. */
export function currentTraceparent(): string | null {
  const scope = scopes.getStore();
  if (scope === undefined) return null;
  scope.sink.leaving?.();
  return traceparentOf(scope.context);
}

/** The environment of a program that starts here. */
export function withTraceparent(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const traceparent = currentTraceparent();
  return traceparent === null ? env : { ...env, TRACEPARENT: traceparent };
}

/** `true`, or one of the newer values. */
export function capturesContent(env: Readonly<Record<string, string | undefined>>): boolean {
  const wanted = env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.trim().toLowerCase() ?? '';
  return ['true', '1', 'span', 'span_only', 'span_and_event'].includes(wanted);
}

const GATHER_MS = 100;
const GATHER_SPANS = 100;

/**
 * Sends spans to the parent when they start and when they end, so that it knows the open spans of a worker that dies. Spans are
 * gathered for a moment; the parent gets a span before its id is passed to anyone else.
 */
export function createWorkerSpans(post: (spans: SpanRecord[]) => void, content: boolean) {
  const waiting = new Map<string, SpanRecord>();
  let timer: NodeJS.Timeout | null = null;
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.size === 0) return;
    post([...waiting.values()]);
    waiting.clear();
  };
  const add = (span: SpanRecord): void => {
    waiting.set(span.spanId, span);
    if (waiting.size >= GATHER_SPANS) flush();
    else timer ??= setTimeout(flush, GATHER_MS).unref();
  };
  return { content, opened: add, closed: add, leaving: flush, flush } satisfies SpanSink & { flush: () => void };
}

/** Whether the environment names a collector. */
export function namesCollector(env: Readonly<Record<string, string | undefined>>): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all = '', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own = '' } = env;
  return `${all}${own}`.trim() !== '';
}

export const UNTRACED: RunTrace = {
  context: null,
  warnings: [],
  environment: {},
  subscriber: () => undefined,
  onProblem: () => undefined,
  within: (work) => work(),
  attempt: () => null,
  request: (_request, work) => work(null),
  close: async () => undefined,
};
