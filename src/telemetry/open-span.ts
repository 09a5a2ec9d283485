import { randomBytes } from 'node:crypto';
import type { ErrorRecord, Problem } from '../core/errors.ts';
import type { SpanContext } from '../core/traceparent.ts';
import type { Attributes, MaybeAttributes, SpanKind, SpanRecord, SpanSink } from './span.ts';
import { wallTimeMs } from './wall-time.ts';

/** More would be noise, and a span is sent whole. */
const MAX_EVENTS = 200;
const MAX_MESSAGE_CHARS = 1_000;

/** What somebody who works inside a span can say about it. */
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
