import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { CollectorMood } from '../../test/support/collector.ts';
import { testCollector } from '../../test/support/test-collector.ts';
import { createMask, MASK } from '../core/mask.ts';
import { Secret } from '../core/secret.ts';
import { createTokens } from '../gateway/server.ts';
import { maskSpan, readTraceSettings, startSpanExporter } from './exporter.ts';
import { openSpan, type SpanRecord } from './tracer.ts';

const SCRIPT = fileURLToPath(import.meta.resolve('./exporter-thread.ts'));
const TRACE = { traceId: 'a'.repeat(32), spanId: null };
const NEVER = new AbortController().signal;

interface Running {
  exporter: ReturnType<typeof startSpanExporter>;
  problems: string[];
}

function start(env: Record<string, string>, prepare = (span: SpanRecord): SpanRecord => span): Running {
  const { settings } = readTraceSettings(env);
  if (settings === null) throw new TypeError('it is off');
  const problems: string[] = [];
  const onProblem = (text: string): void => void problems.push(text);
  return {
    exporter: startSpanExporter({ settings, script: SCRIPT, env, version: '1.2.3', prepare, onProblem }),
    problems,
  };
}

function add(exporter: ReturnType<typeof startSpanExporter>, count: number): void {
  for (let index = 0; index < count; index++) {
    openSpan({ closed: (span) => exporter.add(span), content: false }, TRACE, `span ${index}`).end();
  }
}

test.each(['http/json', 'http/protobuf'])('%s: a span arrives as it was recorded', async (protocol) => {
  const collector = await testCollector();
  const { exporter, problems } = start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=collector-secret',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,service.name=other',
    OTEL_SERVICE_NAME: 'named',
  });
  const sink = { closed: (span: SpanRecord) => exporter.add(span), content: false };
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
  const link = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) };
  const attributes = { text: 'grün', whole: 7, half: 0.5, yes: true, several: ['x', 'y'] };
  const span = openSpan(sink, parent, 'a span', { kind: 'client', attributes, links: [link] });
  span.event('happened', { when: 'now' });
  span.end({ problem: { code: 'git-failed', command: 'git x', exitCode: 1, detail: 'why' }, retry: 'permanent' });
  await exporter.close(10_000, NEVER);

  expect(problems).toEqual([]);
  expect(collector.requests).toEqual([
    { path: '/v1/traces', headers: expect.objectContaining({ 'x-api-key': 'collector-secret' }) },
  ]);
  expect(collector.spans).toEqual([
    {
      traceId: parent.traceId,
      spanId: span.record.spanId,
      parentSpanId: parent.spanId,
      name: 'a span',
      kind: 3,
      startNs: expect.any(BigInt),
      endNs: expect.any(BigInt),
      attributes: { ...attributes, 'error.type': 'git-failed' },
      events: [{ name: 'happened', attributes: { when: 'now' } }],
      links: [link],
      failed: true,
      message: 'why',
      resource: expect.objectContaining({
        'service.name': 'named',
        'service.version': '1.2.3',
        'deployment.environment': 'test',
      }),
    },
  ]);
  const [{ startNs, endNs } = { startNs: 0n, endNs: 0n }] = collector.spans;
  const seenMs = Number(startNs / 1_000n) / 1_000;
  expect(Math.abs(seenMs - span.record.startMs)).toBeLessThan(0.01);
  expect(endNs).toBeGreaterThanOrEqual(startNs);
});

test('many spans go in batches, and none is lost', async () => {
  const collector = await testCollector();
  const { exporter, problems } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  add(exporter, 1_500);
  await exporter.close(10_000, NEVER);
  expect(new Set(collector.spans.map((span) => span.name)).size).toBe(1_500);
  expect(collector.requests.length).toBeLessThan(10);
  expect(problems).toEqual([]);
});

test('a collector that answers 500 is reported once', async () => {
  const collector = await testCollector('broken');
  const { exporter, problems } = start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
  });
  add(exporter, 30);
  await exporter.close(60_000, NEVER);
  expect(problems).toEqual([expect.stringContaining(`${collector.url} did not take spans (status 500)`)]);
  expect(collector.requests.length).toBeGreaterThan(1);
});

// Both would be waited for as long as the exporter itself may wait: longer than the test.
test.each<CollectorMood | 'down'>(['deaf', 'down'])('a collector that is %s holds nobody up', async (mood) => {
  const collector = await testCollector(mood === 'down' ? 'fine' : mood);
  if (mood === 'down') await collector.close();
  const { exporter, problems } = start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
    OTEL_BSP_EXPORT_TIMEOUT: '600000',
  });
  add(exporter, 3);
  await exporter.close(300, NEVER);
  expect(problems).toEqual([expect.stringContaining(`${collector.url} did not take the last 3 span(s) in time`)]);
});

test('without time left, close does not wait', async () => {
  const collector = await testCollector('deaf');
  const { exporter, problems } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  add(exporter, 1);
  const giveUp = new AbortController();
  const closed = exporter.close(60_000, giveUp.signal);
  giveUp.abort();
  await closed;
  expect(problems).toHaveLength(1);
});

test('spans beyond the queue are dropped, which is reported once', async () => {
  const collector = await testCollector('deaf');
  const { exporter, problems } = start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
  });
  add(exporter, 300);
  expect(problems).toEqual([expect.stringContaining('too slow')]);
  await exporter.close(1, NEVER);
  expect(problems).toHaveLength(1);
});

test('a thread that cannot start is reported, and nothing else happens', async () => {
  const { settings } = readTraceSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  if (settings === null) throw new TypeError('it is off');
  const told = Promise.withResolvers<string>();
  const exporter = startSpanExporter({
    settings,
    script: `${SCRIPT}-missing.mjs`,
    env: {},
    version: '1',
    prepare: (span) => span,
    onProblem: told.resolve,
  });
  add(exporter, 1);
  expect(await told.promise).toContain("spans can't be sent");
  await exporter.close(60_000, NEVER);
});

test('no key and no token of a worker is left in any text of a span', () => {
  const key = randomBytes(12).toString('hex');
  const token = createTokens().issue({ item: 'a' });
  const span = openSpan({ closed: () => undefined, content: true }, { traceId: 'a', spanId: null }, `git ${key}`, {
    attributes: { text: `${key} and ${token}`, list: ['plain', token], count: 3 },
  });
  span.event('said', { what: `Bearer ${token}` });
  span.end({ problem: { code: 'internal', detail: `refused ${key}` }, retry: 'permanent' });
  const masked = maskSpan(span.record, createMask([new Secret(key)]));
  for (const secret of [key, token]) expect(JSON.stringify(masked)).not.toContain(secret);
  expect(masked.attributes).toEqual({
    text: `${MASK} and ${MASK}`,
    list: ['plain', MASK],
    count: 3,
    'error.type': 'internal',
  });
  expect(masked).toMatchObject({ name: `git ${MASK}`, message: `refused ${MASK}` });
});
