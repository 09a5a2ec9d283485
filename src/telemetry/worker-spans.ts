import type { SpanRecord, SpanSink } from './span.ts';

const GATHER_MS = 100;
const GATHER_SPANS = 100;

/** The spans of a worker on their way to its parent. */
export interface WorkerSpans extends SpanSink {
  /** Hands over what there is. */
  flush(): void;
}

/**
 * Hands spans over when they begin and when they end, so that those of a worker that dies in between are known too. One
 * that begins and ends before the next hand-over goes once. Before anybody else hears of a span, the parent does.
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
