import { MASK } from '../core/mask.ts';
import type { Attributes, AttributeValue, SpanRecord } from './span.ts';

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
