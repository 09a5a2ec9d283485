import { Worker } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { definedOnly } from '../core/json.ts';
import { MASK } from '../core/mask.ts';
import type { RemoteContext } from '../core/traceparent.ts';
import type { Attributes, AttributeValue, SpanRecord } from './tracer.ts';

const MAX_HEAP_MB = 128;

interface ExporterOptions {
  settings: Pick<TraceSettings, 'protocol' | 'queue' | 'shownEndpoint'>;
  /** The thread's program. */
  script: string;
  /** Has the collector's headers too. */
  env: Environment;
  version: string;
  /** Masks a span before it leaves the machine. */
  prepare: (span: SpanRecord) => SpanRecord;
  /** Called at most once. */
  onProblem: (text: string) => void;
}

export interface ExporterStart extends Pick<TraceSettings, 'protocol' | 'queue'> {
  version: string;
}

/** This many spans have left the queue: the collector has them, or they were lost because of this failure. */
export interface Exported {
  spans: number;
  failure: string | null;
}

/** Sends spans in the background: nothing waits for the collector, and spans that it can't take are dropped. */
export function startSpanExporter({ settings, script, env, version, prepare, onProblem }: ExporterOptions) {
  const { protocol, queue, shownEndpoint } = settings;
  const thread = new Worker(script, {
    workerData: { protocol, queue, version } satisfies ExporterStart,
    env: definedOnly(env),
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  thread.unref();
  const emptied = new AbortController();
  let pending = 0;
  let isReported = false;

  const report = (what: string): void => {
    if (!isReported) onProblem(`Tracing: ${what} The run continues; this is reported once.`);
    isReported = true;
  };
  thread.on('message', ({ spans, failure }: Exported) => {
    pending -= spans;
    if (failure !== null) report(`the collector at ${shownEndpoint} did not take spans (${failure}).`);
    if (isClosing && pending <= 0) emptied.abort();
  });
  thread.on('error', (error) => {
    report(`spans can't be sent (${error instanceof Error ? error.message : String(error)}).`);
  });
  thread.on('exit', () => emptied.abort());
  let isClosing = false;
  /** Sends all spans without waiting for more. */
  const flush = (): void => thread.postMessage('flush');
  return {
    add(span: SpanRecord): void {
      if (emptied.signal.aborted) return;
      if (pending >= queue.maxSize)
        return report(`the collector at ${shownEndpoint} is too slow, and spans are dropped.`);
      pending += 1;
      thread.postMessage(prepare(span));
    },
    flush,
    /** Sends all spans, and ends after this time at the latest. */
    async close(withinMs: number, giveUp: AbortSignal): Promise<void> {
      isClosing = true;
      flush();
      if (pending > 0) await systemClock.sleep(withinMs, AbortSignal.any([emptied.signal, giveUp]));
      if (pending > 0) report(`the collector at ${shownEndpoint} did not take the last ${pending} span(s) in time.`);
      thread.removeAllListeners();
      await thread.terminate();
    },
  };
}

const WORKER_TOKEN = /\bagentos-[\w-]{32}/g;

/** Removes keys and workers' tokens from all texts of a span. */
export function maskSpan(span: SpanRecord, mask: (text: string) => string): SpanRecord {
  const masked = (text: string): string => mask(text).replaceAll(WORKER_TOKEN, MASK);
  const maskValue = (value: AttributeValue): AttributeValue => {
    if (typeof value === 'string') return masked(value);
    return typeof value === 'object' ? value.map(masked) : value;
  };
  const maskAll = (attributes: Attributes): Attributes =>
    Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, maskValue(value)]));
  return {
    ...span,
    name: masked(span.name),
    message: masked(span.message),
    attributes: maskAll(span.attributes),
    events: span.events.map((event) => ({ ...event, attributes: maskAll(event.attributes) })),
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the standard variables say. OpenTelemetry's exporter reads headers, timeouts and certificates itself. */
interface TraceSettings {
  protocol: 'http/protobuf' | 'http/json';
  /** The endpoint without secrets. */
  shownEndpoint: string;
  isSampled: (traceId: string, parent: RemoteContext | null) => boolean;
  queue: QueueSettings;
}

interface QueueSettings {
  /** Spans that wait or are being sent; more are dropped. */
  maxSize: number;
  batchSize: number;
  delayMs: number;
  timeoutMs: number;
}

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;

/** `settings` null: nothing is traced. */
export function readTraceSettings(env: Environment): { settings: TraceSettings | null; warnings: string[] } {
  const read = (name: string): string => env[name]?.trim() ?? '';
  const off = (...warnings: string[]) => ({ settings: null, warnings });
  const own = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const endpoint = own || read('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === '' || read('OTEL_SDK_DISABLED').toLowerCase() === 'true') return off();
  const exporters = (read('OTEL_TRACES_EXPORTER') || 'otlp').split(',').map((name) => name.trim());
  if (exporters.includes('none')) return off();
  if (!exporters.includes('otlp')) {
    return off(`Tracing is off: OTEL_TRACES_EXPORTER=${exporters.join(',')} is not built in, only otlp is.`);
  }
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return off('Tracing is off: the OTLP endpoint is not an http or https URL.');
  }
  const warnings: string[] = [];
  const asked = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') || read('OTEL_EXPORTER_OTLP_PROTOCOL') || PROTOCOLS[0];
  const protocol = PROTOCOLS.find((known) => known === asked);
  if (protocol === undefined) {
    warnings.push(`Tracing: the protocol ${asked} is not built in, http/protobuf is used. There is also http/json.`);
  }
  const sampler = read('OTEL_TRACES_SAMPLER');
  const isSampled = samplerOf(sampler, read('OTEL_TRACES_SAMPLER_ARG'));
  if (isSampled === null) warnings.push(`Tracing: the sampler ${sampler} is not known, every run is traced.`);
  const settings: TraceSettings = {
    protocol: protocol ?? PROTOCOLS[0],
    shownEndpoint: `${url.origin}${url.pathname.replace(/\/$/, '')}`,
    isSampled: isSampled ?? (() => true),
    queue: {
      maxSize: wholeNumber(env['OTEL_BSP_MAX_QUEUE_SIZE'], 2_048),
      batchSize: wholeNumber(env['OTEL_BSP_MAX_EXPORT_BATCH_SIZE'], 512),
      delayMs: wholeNumber(env['OTEL_BSP_SCHEDULE_DELAY'], 1_000),
      timeoutMs: wholeNumber(env['OTEL_BSP_EXPORT_TIMEOUT'], 30_000),
    },
  };
  return { settings, warnings };
}

type Sampler = TraceSettings['isSampled'];

function samplerOf(name: string, argument: string): Sampler | null {
  const [, based, root] =
    /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name || 'parentbased_always_on') ?? [];
  if (root === undefined) return null;
  const decide = rootSampler(root, argument);
  return based === undefined ? decide : (traceId, parent) => parent?.sampled ?? decide(traceId, null);
}

function rootSampler(name: string, argument: string): Sampler {
  if (name !== 'traceidratio') return () => name === 'always_on';
  const given = argument === '' ? 1 : Number(argument);
  const ratio = Number.isNaN(given) ? 1 : given;
  // The last digits of a trace id are always random; a number holds 13 of them exactly.
  return (traceId) => Number.parseInt(traceId.slice(-13), 16) < ratio * 16 ** 13;
}

function wholeNumber(text: string | undefined, otherwise: number): number {
  const value = Number(text?.trim() || Number.NaN);
  return Number.isInteger(value) && value > 0 ? value : otherwise;
}
