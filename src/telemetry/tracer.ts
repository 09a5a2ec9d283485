import { AsyncLocalStorage } from 'node:async_hooks';
import { toErrorRecord } from '../core/errors.ts';
import { type SpanContext, traceparentOf } from '../core/traceparent.ts';
import {
  NO_SPAN,
  type OpenSpan,
  openSpan,
  type Span,
  type SpanOptions,
  type SpanRecord,
  type SpanSink,
} from './span.ts';

interface Scope {
  sink: SpanSink;
  context: SpanContext;
  /** Null: the span belongs to another process. */
  span: OpenSpan | null;
}

/** Work outside of any scope is not traced, and costs only this look-up. */
const scopes = new AsyncLocalStorage<Scope>();

/** Runs work whose spans belong below this span of another process, or of another part of this one. */
export function below<T>(sink: SpanSink, context: SpanContext, work: () => T): T {
  return scopes.run({ sink, context, span: null }, work);
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
    const result = await scopes.run({ sink, context: span.record, span }, () => work(span));
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

/** The current span, if it was started in this process. */
export function currentSpan(): Span {
  return scopes.getStore()?.span ?? NO_SPAN;
}

/** Whether prompts and replies are recorded in spans. */
export function wantsContent(): boolean {
  return scopes.getStore()?.sink.content ?? false;
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
