import { parentPort, workerData } from 'node:worker_threads';
import { SpanKind as OtelKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { Exported, ExporterStart } from './exporter.ts';
import type { SpanKind, SpanRecord } from './tracer.ts';

/*
 * The only module that uses OpenTelemetry. It runs in its own thread, because its exporter has timers and connections that would
 * keep the program alive; they end with the thread.
 */

const { protocol, queue, version } = workerData as ExporterStart;

/** The status or the system's code. A message may quote what was sent, so it comes last. */
function reasonOf(error: Error): string {
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'number') return `status ${code}`;
  return typeof code === 'string' ? code : error.message.slice(0, 200);
}

function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.floor((ms - seconds * 1_000) * 1e6)];
}

const KINDS: Record<SpanKind, OtelKind> = { internal: OtelKind.INTERNAL, client: OtelKind.CLIENT };
const resource: Resource = defaultResource()
  .merge(resourceFromAttributes({ 'service.name': 'agentos', 'service.version': version, 'process.pid': process.pid }))
  .merge(detectResources({ detectors: [envDetector] }));

function readable(span: SpanRecord): ReadableSpan {
  const { traceId, spanId, parentSpanId } = span;
  const inTrace = { traceId, traceFlags: TraceFlags.SAMPLED };
  const endMs = span.endMs ?? span.startMs;
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => ({ ...inTrace, spanId }),
    ...(parentSpanId === null ? {} : { parentSpanContext: { ...inTrace, spanId: parentSpanId } }),
    startTime: timeOf(span.startMs),
    endTime: timeOf(endMs),
    duration: timeOf(Math.max(0, endMs - span.startMs)),
    status: span.failed ? { code: SpanStatusCode.ERROR, message: span.message } : { code: SpanStatusCode.UNSET },
    attributes: span.attributes as ReadableSpan['attributes'],
    links: span.links.map((context) => ({ context: { ...context, traceFlags: TraceFlags.SAMPLED, isRemote: true } })),
    events: span.events.map(({ name, atMs, attributes }) => ({
      name,
      time: timeOf(atMs),
      attributes: attributes as ReadableSpan['attributes'],
    })),
    ended: true,
    resource,
    instrumentationScope: { name: 'agentos', version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const { OTLPTraceExporter } = await (protocol === 'http/json'
  ? import('@opentelemetry/exporter-trace-otlp-http')
  : import('@opentelemetry/exporter-trace-otlp-proto'));
const exporter: SpanExporter = new OTLPTraceExporter();
const processor = new BatchSpanProcessor({
  exporter: {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const failure = result.error ? reasonOf(result.error) : null;
        parentPort?.postMessage({ spans: spans.length, failure } satisfies Exported);
        done(result);
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  },
  maxQueueSize: queue.maxSize,
  maxExportBatchSize: Math.min(queue.batchSize, queue.maxSize),
  scheduledDelayMillis: queue.delayMs,
  exportTimeoutMillis: queue.timeoutMs,
});

parentPort?.on('message', (message: SpanRecord | 'flush') => {
  if (message !== 'flush') return processor.onEnd(readable(message));
  // What could not be sent was reported.
  processor.forceFlush().catch(() => undefined);
});
