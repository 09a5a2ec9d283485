import type { QueueSettings, TraceSettings } from './settings.ts';
import type { SpanRecord } from './span.ts';

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
