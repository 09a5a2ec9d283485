import type { ErrorRecord } from '../core/errors.ts';
import type { SpanContext } from '../core/traceparent.ts';

export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Record<string, AttributeValue>;
/** As callers have them: what is not known is left out. */
export type MaybeAttributes = Readonly<Record<string, AttributeValue | null | undefined>>;

export type SpanKind = 'internal' | 'client';

export interface SpanEvent {
  name: string;
  atMs: number;
  attributes: Attributes;
}

/** A span as plain data, so that it can cross processes and threads. Times are the wall's, in milliseconds with fractions. */
export interface SpanRecord extends SpanContext {
  parentSpanId: string | null;
  name: string;
  kind: SpanKind;
  startMs: number;
  /** Null: it is still open. */
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
  /** A span began; it is given again when it ends. Only for those who may lose the process that it is in. */
  opened?: (span: SpanRecord) => void;
  closed: (span: SpanRecord) => void;
  /** Somebody outside of this process is about to be told of an open span. */
  leaving?: () => void;
  /** What prompts and replies say is recorded too. */
  content: boolean;
}

/** One attempt at an item, as whoever runs it sees it. */
export interface AttemptTrace {
  /** For the worker: what it does is part of this span. */
  readonly traceparent: string;
  /** Spans of the worker, as they begin and end. */
  spans(records: readonly SpanRecord[]): void;
  /** Null: it ended in the worker's own way. What the worker had open ends with it. */
  ended(error: ErrorRecord | null): void;
}
