import { expect, test } from 'vitest';
import { readTraceSettings } from './exporter.ts';
import { capturesContent } from './tracer.ts';

const ON = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' };
const ID = 'a'.repeat(32);

test.each([
  [{}],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
  [{ ...ON, OTEL_SDK_DISABLED: 'TRUE' }],
  [{ ...ON, OTEL_TRACES_EXPORTER: 'none' }],
])('%o: off, and nothing is said', (env) => {
  expect(readTraceSettings(env)).toEqual({ settings: null, warnings: [] });
});

test.each([
  [{ ...ON, OTEL_TRACES_EXPORTER: 'zipkin' }, /zipkin/],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }, /not an http/],
])('%o: off, with the reason', (env, why) => {
  const { settings, warnings } = readTraceSettings(env);
  expect(settings).toBeNull();
  expect(warnings).toEqual([expect.stringMatching(why)]);
});

test('the protocol is protobuf unless JSON is asked for; the variable for traces alone wins', () => {
  const protocolOf = (env: Record<string, string>) => readTraceSettings({ ...ON, ...env }).settings?.protocol;
  expect(protocolOf({})).toBe('http/protobuf');
  expect(protocolOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })).toBe('http/json');
  expect(
    protocolOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' }),
  ).toBe('http/protobuf');
});

test('grpc is answered with protobuf over HTTP, and with a warning', () => {
  const { settings, warnings } = readTraceSettings({ ...ON, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
  expect(settings?.protocol).toBe('http/protobuf');
  expect(warnings).toEqual([expect.stringContaining('grpc')]);
});

test('the endpoint is shown without what may be secret in it', () => {
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://me:pass@host:1/v1/traces?token=x' };
  expect(readTraceSettings(env).settings?.shownEndpoint).toBe('https://host:1/v1/traces');
});

test.each<[string, string, boolean, boolean, boolean]>([
  // sampler, argument, without a parent, below one that records, below one that doesn't
  ['', '', true, true, false],
  ['always_on', '', true, true, true],
  ['always_off', '', false, false, false],
  ['parentbased_always_off', '', false, true, false],
  ['traceidratio', '0', false, false, false],
  ['traceidratio', '1', true, true, true],
  ['parentbased_traceidratio', '0', false, true, false],
])('sampler %s %s', (sampler, argument, alone, belowSampled, belowUnsampled) => {
  const { settings } = readTraceSettings({ ...ON, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument });
  const parent = { traceId: ID, spanId: 'b'.repeat(16) };
  expect(settings?.isSampled(ID, null)).toBe(alone);
  expect(settings?.isSampled(ID, { ...parent, sampled: true })).toBe(belowSampled);
  expect(settings?.isSampled(ID, { ...parent, sampled: false })).toBe(belowUnsampled);
});

test('a ratio samples about that share of all traces', () => {
  const { settings } = readTraceSettings({
    ...ON,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  });
  const ids = Array.from({ length: 1000 }, (_, index) => index.toString(16).padStart(3, '0').padEnd(13, '5'));
  const taken = ids.filter((id) => settings?.isSampled(id.padStart(32, '0'), null)).length;
  expect(taken).toBeGreaterThan(0);
  expect(settings?.isSampled(`${'0'.repeat(19)}${'3'.padEnd(13, 'f')}`, null)).toBe(true);
  expect(settings?.isSampled(`${'0'.repeat(19)}${'4'.padEnd(13, '0')}`, null)).toBe(false);
});

test('an unknown sampler traces everything, and says so', () => {
  const { settings, warnings } = readTraceSettings({ ...ON, OTEL_TRACES_SAMPLER: 'jaeger_remote' });
  expect(settings?.isSampled(ID, null)).toBe(true);
  expect(warnings).toEqual([expect.stringContaining('jaeger_remote')]);
});

test('content is recorded only on request', () => {
  const wanted = (value?: string) => capturesContent({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value });
  expect([wanted(), wanted('false'), wanted('no_content'), wanted('event_only')]).toEqual([false, false, false, false]);
  expect([wanted('true'), wanted('SPAN_ONLY'), wanted('span_and_event')]).toEqual([true, true, true]);
});
