import type { RemoteContext } from '../core/traceparent.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the standard variables say; the exporter reads headers, timeouts and certificates by itself. */
export interface TraceSettings {
  protocol: 'http/protobuf' | 'http/json';
  /** Where spans go, as it can be shown. */
  shownEndpoint: string;
  isSampled: (traceId: string, parent: RemoteContext | null) => boolean;
  queue: QueueSettings;
}

export interface QueueSettings {
  /** Spans that wait or are on their way; more are dropped. */
  maxSize: number;
  batchSize: number;
  delayMs: number;
  timeoutMs: number;
}

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;

/** Null settings: nothing is traced. */
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

/** `true`, or one of the newer words that name a span. */
export function capturesContent(env: Environment): boolean {
  const wanted = env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.trim().toLowerCase() ?? '';
  return ['true', '1', 'span', 'span_only', 'span_and_event'].includes(wanted);
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
  // The last digits are random in every trace id; 13 of them are as much as a number holds exactly.
  return (traceId) => Number.parseInt(traceId.slice(-13), 16) < ratio * 16 ** 13;
}

function wholeNumber(text: string | undefined, otherwise: number): number {
  const value = Number(text?.trim() || Number.NaN);
  return Number.isInteger(value) && value > 0 ? value : otherwise;
}
