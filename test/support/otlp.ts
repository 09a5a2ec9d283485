import { type Field, readFields } from './protobuf.ts';

export type Value = string | number | boolean | string[];

/** A span as a collector understands it, whichever way it came. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: number;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, Value>;
  events: { name: string; attributes: Record<string, Value> }[];
  links: { traceId: string; spanId: string }[];
  failed: boolean;
  message: string;
  resource: Record<string, Value>;
}

type Json = Record<string, unknown>;

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export function readJson(body: Buffer): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString('utf8')) as Json;
  return list(resourceSpans).flatMap(({ resource, scopeSpans }) =>
    list(scopeSpans).flatMap(({ spans }) =>
      list(spans).map((span) => fromJson(span, (resource as Json)['attributes'])),
    ),
  );
}

function fromJson(span: Json, resource: unknown): CollectedSpan {
  const status = (span['status'] ?? {}) as Json;
  return {
    traceId: textOf(span['traceId']),
    spanId: textOf(span['spanId']),
    parentSpanId: textOf(span['parentSpanId']) || null,
    name: textOf(span['name']),
    kind: Number(span['kind']),
    startNs: BigInt(textOf(span['startTimeUnixNano'])),
    endNs: BigInt(textOf(span['endTimeUnixNano'])),
    attributes: attributesOf(span['attributes']),
    events: list(span['events']).map((event) => ({
      name: textOf(event['name']),
      attributes: attributesOf(event['attributes']),
    })),
    links: list(span['links']).map((link) => ({ traceId: textOf(link['traceId']), spanId: textOf(link['spanId']) })),
    failed: status['code'] === 2,
    message: textOf(status['message']),
    resource: attributesOf(resource),
  };
}

function attributesOf(entries: unknown): Record<string, Value> {
  return Object.fromEntries(list(entries).map(({ key, value }) => [textOf(key), valueOf(value as Json)]));
}

function valueOf(value: Json): Value {
  if ('stringValue' in value) return textOf(value['stringValue']);
  if ('boolValue' in value) return value['boolValue'] === true;
  if ('arrayValue' in value) return list((value['arrayValue'] as Json)['values']).map((each) => String(valueOf(each)));
  return Number(value['intValue'] ?? value['doubleValue']);
}

const all = (fields: Field[], number: number): Buffer[] =>
  fields.flatMap((field) => (field.number === number && Buffer.isBuffer(field.value) ? [field.value] : []));
const first = (fields: Field[], number: number): Buffer => all(fields, number)[0] ?? Buffer.alloc(0);
const numberIn = (fields: Field[], number: number): bigint => {
  const value = fields.find((field) => field.number === number)?.value;
  return typeof value === 'bigint' ? value : 0n;
};

export function readProtobuf(body: Buffer): CollectedSpan[] {
  return all(readFields(body), 1).flatMap((resourceSpans) => {
    const fields = readFields(resourceSpans);
    const resource = packed(all(readFields(first(fields, 1)), 1));
    return all(fields, 2).flatMap((scopeSpans) =>
      all(readFields(scopeSpans), 2).map((span) => fromProtobuf(readFields(span), resource)),
    );
  });
}

function fromProtobuf(span: Field[], resource: Record<string, Value>): CollectedSpan {
  const status = readFields(first(span, 15));
  return {
    traceId: first(span, 1).toString('hex'),
    spanId: first(span, 2).toString('hex'),
    parentSpanId: first(span, 4).toString('hex') || null,
    name: first(span, 5).toString('utf8'),
    kind: Number(numberIn(span, 6)),
    startNs: numberIn(span, 7),
    endNs: numberIn(span, 8),
    attributes: packed(all(span, 9)),
    events: all(span, 11).map((event) => {
      const fields = readFields(event);
      return { name: first(fields, 2).toString('utf8'), attributes: packed(all(fields, 3)) };
    }),
    links: all(span, 13).map((link) => {
      const fields = readFields(link);
      return { traceId: first(fields, 1).toString('hex'), spanId: first(fields, 2).toString('hex') };
    }),
    failed: numberIn(status, 3) === 2n,
    message: first(status, 2).toString('utf8'),
    resource,
  };
}

function packed(entries: Buffer[]): Record<string, Value> {
  return Object.fromEntries(
    entries.map((entry) => {
      const fields = readFields(entry);
      return [first(fields, 1).toString('utf8'), packedValue(readFields(first(fields, 2)))];
    }),
  );
}

function packedValue([field]: Field[]): Value {
  const { number, value } = field ?? { number: 1, value: Buffer.alloc(0) };
  if (Buffer.isBuffer(value)) {
    if (number === 1) return value.toString('utf8');
    return all(readFields(value), 1).map((each) => String(packedValue(readFields(each))));
  }
  if (number === 2) return value !== 0n;
  if (number !== 4) return Number(value);
  const bits = Buffer.alloc(8);
  bits.writeBigUInt64LE(BigInt.asUintN(64, value));
  return bits.readDoubleLE();
}
