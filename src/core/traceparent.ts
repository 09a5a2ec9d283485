/** Identifies one span of one trace across processes. */
export interface SpanContext {
  traceId: string;
  spanId: string;
}

export interface RemoteContext extends SpanContext {
  /** Whether the sender records the trace. */
  sampled: boolean;
}

const FORM = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** W3C Trace Context. Null if it is not valid: then a new trace starts. */
export function parseTraceparent(text: string | null | undefined): RemoteContext | null {
  const [, version, traceId, spanId, flags, more] = FORM.exec(text?.trim() ?? '') ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceparentOf({ traceId, spanId }: SpanContext, sampled = true): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
