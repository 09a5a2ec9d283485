import { randomBytes } from 'node:crypto';
import type { ErrorRecord, Problem } from '../core/errors.ts';
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
  /** A span began; the same span is passed to `closed` later. For sinks that may outlive the process. */
  opened?: (span: SpanRecord) => void;
  closed: (span: SpanRecord) => void;
  /** The id of an open span is about to leave this process. */
  leaving?: () => void;
  /** What prompts and replies say is recorded too. */
  content: boolean;
}

/** One attempt at an item, as the coordinator sees it. */
export interface AttemptTrace {
  /** For the worker: what it does is part of this span. */
  readonly traceparent: string;
  /** Spans of the worker, as they begin and end. */
  spans(records: readonly SpanRecord[]): void;
  /** Null: it ended in the worker's own way. What the worker had open ends with it. */
  ended(error: ErrorRecord | null): void;
}

/** More would be noise, and a span is sent whole. */
const MAX_EVENTS = 200;
const MAX_MESSAGE_CHARS = 1_000;

/** A span as the code inside it sees it. */
export interface Span {
  set(attributes: MaybeAttributes): void;
  event(name: string, attributes?: MaybeAttributes): void;
  /** Its error has this code, although nothing was thrown. */
  fail(code: string, message?: string): void;
}

export interface OpenSpan extends Span {
  readonly record: SpanRecord;
  /** With the error that ended it, or null. A second call changes nothing. */
  end(error?: ErrorRecord | null): void;
}

export interface SpanOptions {
  kind?: SpanKind;
  attributes?: MaybeAttributes;
  links?: SpanContext[];
}

/** For work that is not traced. */
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
  // Its length is measured on the monotonic clock: the date may be set while it is open.
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

/** Ends a span that another process had open when it ended. */
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

/** A clock that was set, or a machine that slept, is noticed by this much. */
const LARGEST_DRIFT_MS = 50;

let originMs = performance.timeOrigin;

/** The wall's time as fine as the monotonic clock, so that spans of all processes nest as they happened. */
function wallTimeMs(): number {
  const sinceMs = performance.now();
  const wallMs = Date.now();
  if (Math.abs(wallMs - (originMs + sinceMs)) > LARGEST_DRIFT_MS) originMs = wallMs - sinceMs;
  return originMs + sinceMs;
}
