import { fieldsOf } from '../models/json-fields.ts';
import { parseJson } from './meter.ts';
import { isUsageOnly } from './vendors/openai-chat.ts';

/** What cannot be an event of usage: it is passed on without waiting for its end. */
const MAX_HELD_BYTES = 64 * 1024;

/**
 * Takes the event with the usage out of a stream for which the gateway asked for it, not the caller. Every other byte
 * passes as it came, an event at a time.
 */
export function createUsageEventFilter(): { push(chunk: Uint8Array): Uint8Array; end(): Uint8Array } {
  let held: Buffer = Buffer.alloc(0);
  return {
    push(chunk) {
      held = Buffer.concat([held, chunk]);
      const passed: Uint8Array[] = [];
      for (let end = endOfEvent(held); end !== -1; end = endOfEvent(held)) {
        const event = held.subarray(0, end);
        held = held.subarray(end);
        if (!isUsageEvent(event)) passed.push(event);
      }
      if (held.byteLength > MAX_HELD_BYTES) {
        passed.push(held);
        held = Buffer.alloc(0);
      }
      return Buffer.concat(passed);
    },
    end: () => held,
  };
}

function endOfEvent(bytes: Buffer): number {
  const plain = bytes.indexOf('\n\n');
  const carriage = bytes.indexOf('\r\n\r\n');
  if (carriage !== -1 && (plain === -1 || carriage < plain)) return carriage + 4;
  return plain === -1 ? -1 : plain + 2;
}

function isUsageEvent(event: Buffer): boolean {
  if (!event.includes('"usage"') || !event.includes('[]')) return false;
  const data = /^data: ?(.*)$/m.exec(event.toString('utf8'))?.[1];
  return data !== undefined && isUsageOnly(fieldsOf(parseJson(data)));
}
