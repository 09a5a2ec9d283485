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
  /** Null: the span was opened in another process. */
  span: OpenSpan | null;
}

/** What is done in no scope is not traced, and costs nothing but the question. */
const scopes = new AsyncLocalStorage<Scope>();

/** Runs work whose spans belong below a span of another process, or one that is ended elsewhere. */
export function below<T>(sink: SpanSink, context: SpanContext, work: () => T): T {
  return scopes.run({ sink, context, span: null }, work);
}

export interface TracedOptions extends SpanOptions {
  /** A wait that is shorter than this is not worth a span. */
  fromMs?: number;
}

/** Work as a span below the current one; what it throws is the span's error. Outside of a trace it is just done. */
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
  const span = openSpan(fromMs === undefined ? sink : patient(sink, fromMs), context, name, options);
  try {
    const result = await scopes.run({ sink, context: span.record, span }, () => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(toErrorRecord(error));
    throw error;
  }
}

function patient({ closed, content }: SpanSink, fromMs: number): SpanSink {
  return {
    content,
    closed: (record) => {
      if ((record.endMs ?? record.startMs) - record.startMs >= fromMs) closed(record);
    },
  };
}

/** The span that the caller works in, if it was begun in this process. */
export function currentSpan(): Span {
  return scopes.getStore()?.span ?? NO_SPAN;
}

/** Whether prompts and replies are wanted in spans. */
export function wantsContent(): boolean {
  return scopes.getStore()?.sink.content ?? false;
}

/** For a program or a request that goes out from here; null where nothing is traced. */
export function currentTraceparent(): string | null {
  const scope = scopes.getStore();
  if (scope === undefined) return null;
  scope.sink.leaving?.();
  return traceparentOf(scope.context);
}

/** The environment of a program that is started from here. */
export function withTraceparent(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const traceparent = currentTraceparent();
  return traceparent === null ? env : { ...env, TRACEPARENT: traceparent };
}

const GATHER_MS = 100;
const GATHER_SPANS = 100;

/** The spans of a worker on their way to its parent. */
export interface WorkerSpans extends SpanSink {
  /** Hands over what there is. */
  flush(): void;
}

/**
 * Hands spans over when they begin and when they end, so that those of a worker that dies in between are known too. One
 * that begins and ends before the next hand-over goes once. The parent gets a span before its id leaves the process.
 */
export function createWorkerSpans(post: (spans: SpanRecord[]) => void, content: boolean): WorkerSpans {
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
  return { content, opened: add, closed: add, leaving: flush, flush };
}
