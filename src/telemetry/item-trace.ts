import type { ErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import { type SpanContext, traceparentOf } from '../core/traceparent.ts';
import { noteOfItem } from './event-notes.ts';
import { type AttemptTrace, abandoned, type OpenSpan, openSpan, type SpanRecord, type SpanSink } from './span.ts';

/** Names of items as the run knows them. */
export interface TracedItem {
  id: string;
  workflow: string;
}

/** One item of the run with its attempts, followed from outside of the workers. */
export interface ItemTrace {
  attempt(number: number): AttemptTrace;
  note(event: ItemEvent): void;
  /** The parent of spans that are recorded outside of the worker for this item, such as requests at the gateway. */
  current(): SpanContext;
  /** The run is over, however that came: what is still open ends. */
  close(): void;
}

interface Attempt extends AttemptTrace {
  span: OpenSpan;
  /** What the worker has begun and not ended. */
  open: Map<string, SpanRecord>;
}

/** Who ends well has ended its spans. */
const LEFT_OPEN: ErrorRecord = {
  problem: { code: 'internal', detail: 'it was left open' },
  retry: 'permanent',
};

export function openItemTrace(sink: SpanSink, run: SpanContext, { id, workflow }: TracedItem): ItemTrace {
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
    attempt(number) {
      attempt = begin(number);
      return attempt;
    },
    note(event) {
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
      const note = noteOfItem(event);
      if (note !== null) (attempt?.span ?? item).event(note.name, note.attributes);
    },
    current() {
      const inAgent = [...(attempt?.open.values() ?? [])].findLast(isAgentCall);
      return inAgent ?? attempt?.span.record ?? item.record;
    },
    close() {
      attempt?.ended(LEFT_OPEN);
      item.end(LEFT_OPEN);
    },
  };
}

/** Requests of an agent carry no trace context; they belong to the agent that runs at the time. */
function isAgentCall({ attributes }: SpanRecord): boolean {
  return attributes['gen_ai.operation.name'] === 'invoke_agent';
}
