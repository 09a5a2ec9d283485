import type { CollectedSpan } from './otlp.ts';

/** The spans of one trace by what they belong to. */
export interface TraceTree {
  root: CollectedSpan;
  /** Names from the root down to the span. */
  path(span: CollectedSpan): string[];
  children(span: CollectedSpan): CollectedSpan[];
  /** Every span whose name matches. */
  named(name: string | RegExp): CollectedSpan[];
}

/** Throws where the spans are not all of one trace, or one of them hangs in the air. */
export function treeOf(spans: readonly CollectedSpan[], remoteParent: string | null = null): TraceTree {
  const ids = new Map(spans.map((span) => [span.spanId, span]));
  if (ids.size !== spans.length) throw new Error('a span came twice');
  const traces = new Set(spans.map((span) => span.traceId));
  if (traces.size !== 1) throw new Error(`${traces.size} traces instead of one`);
  const roots = spans.filter((span) => span.parentSpanId === remoteParent);
  const [root] = roots;
  if (root === undefined || roots.length > 1) throw new Error(`${roots.length} roots instead of one`);
  for (const span of spans) {
    if (span !== root && !ids.has(span.parentSpanId ?? '')) throw new Error(`${span.name} has no parent`);
    if (span.endNs < span.startNs) throw new Error(`${span.name} ends before it begins`);
  }
  const path = (span: CollectedSpan): string[] => {
    const parent = ids.get(span.parentSpanId ?? '');
    return parent === undefined || span === root ? [span.name] : [...path(parent), span.name];
  };
  return {
    root,
    path,
    children: (parent) => spans.filter((span) => span.parentSpanId === parent.spanId),
    named: (name) => spans.filter((span) => (typeof name === 'string' ? span.name === name : name.test(span.name))),
  };
}
