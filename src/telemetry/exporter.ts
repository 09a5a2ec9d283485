import { Worker } from 'node:worker_threads';
import { definedOnly } from '../core/json.ts';
import { MASK } from '../core/mask.ts';
import type { QueueSettings, TraceSettings } from './settings.ts';
import type { Attributes, AttributeValue, SpanRecord } from './span.ts';

/** Spans are handed over together; a thread that is woken for each of them would cost more than they do. */
const GATHER_MS = 100;
const GATHER_SPANS = 200;
const MAX_HEAP_MB = 128;

export interface ExporterOptions {
  settings: Pick<TraceSettings, 'protocol' | 'queue' | 'shownEndpoint'>;
  /** The thread's program. */
  script: string;
  /** Holds what the collector wants to see, too. */
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  /** As the span may leave the machine. */
  prepare: (span: SpanRecord) => SpanRecord;
  /** Told at most once, whatever goes wrong. */
  onProblem: (text: string) => void;
}

/** What the exporter's thread is started with. */
export interface ExporterStart {
  protocol: TraceSettings['protocol'];
  queue: QueueSettings;
  version: string;
}

export type ToExporter =
  | { type: 'spans'; spans: SpanRecord[] }
  /** Send all there is. */
  | { type: 'flush' };

/** So many spans are out of the queue: the collector has them, or they are lost for this reason. */
export interface FromExporter {
  spans: number;
  failure: string | null;
}

export interface SpanExporter {
  add(span: SpanRecord): void;
  /** Sends what there is without waiting for more. */
  flush(): void;
  /** Sends what there is, and ends after this time at the latest. */
  close(withinMs: number, giveUp: AbortSignal): Promise<void>;
}

/** Sends spans in the background: nothing waits for the collector, and what it can't take is dropped. */
export function startSpanExporter(options: ExporterOptions): SpanExporter {
  const { settings, script, env, version, prepare, onProblem } = options;
  const start: ExporterStart = { protocol: settings.protocol, queue: settings.queue, version };
  const thread = new Worker(script, {
    workerData: start,
    env: definedOnly(env),
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  thread.unref();
  let gathered: SpanRecord[] = [];
  let timer: NodeJS.Timeout | null = null;
  let pending = 0;
  let isGone = false;
  let onEmpty: () => void = () => undefined;
  let isSaid = false;

  const say = (what: string): void => {
    if (isSaid) return;
    isSaid = true;
    onProblem(`Tracing: ${what} The run continues; this is reported once.`);
  };
  const gone = (): void => {
    isGone = true;
    onEmpty();
  };
  thread.on('message', ({ spans, failure }: FromExporter) => {
    pending -= spans;
    if (failure !== null) say(`the collector at ${settings.shownEndpoint} did not take spans (${failure}).`);
    if (pending <= 0) onEmpty();
  });
  thread.on('error', (error) => {
    say(`spans can't be sent (${error instanceof Error ? error.message : String(error)}).`);
    gone();
  });
  thread.on('exit', gone);
  const post = (message: ToExporter): void => thread.postMessage(message);

  const handOver = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (gathered.length === 0) return;
    post({ type: 'spans', spans: gathered });
    gathered = [];
  };
  return {
    add(span) {
      if (isGone) return;
      if (pending >= settings.queue.maxSize) {
        say(`the collector at ${settings.shownEndpoint} is too slow, and spans are dropped.`);
        return;
      }
      pending += 1;
      gathered.push(prepare(span));
      if (gathered.length >= GATHER_SPANS) handOver();
      else timer ??= setTimeout(handOver, GATHER_MS).unref();
    },
    flush() {
      handOver();
      post({ type: 'flush' });
    },
    async close(withinMs, giveUp) {
      this.flush();
      if (pending > 0 && !isGone && !giveUp.aborted) {
        await new Promise<void>((resolve) => {
          const enough = setTimeout(resolve, withinMs);
          onEmpty = () => {
            clearTimeout(enough);
            resolve();
          };
          giveUp.addEventListener('abort', onEmpty, { once: true });
        });
        giveUp.removeEventListener('abort', onEmpty);
      }
      if (pending > 0)
        say(`the collector at ${settings.shownEndpoint} did not take the last ${pending} span(s) in time.`);
      thread.removeAllListeners();
      await thread.terminate();
    },
  };
}

/** What workers show to the gateway. */
const WORKER_TOKEN = /\bagentos-[\w-]{32}/g;

/** A span as it may leave the machine: no key and no token in any of its texts. */
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
