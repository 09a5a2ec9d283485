import type { Fault, Reply } from './answer.ts';
import type { JsonObject } from './json.ts';
import type { Denial, QuotaView } from './quota.ts';

export type VendorName = 'anthropic' | 'google' | 'openai-chat' | 'openai-responses';

/** What a request asks, whatever its wire format. */
export interface Prompt {
  model: string;
  system: string;
  /** All text of the user's turns, in order, joined by line feeds. */
  text: string;
  messages: unknown[];
  /** Names of the tools on offer. */
  tools: string[];
  /** What the caller's tools answered, over the whole conversation. */
  toolResults: { id: string; text: string }[];
  streaming: boolean;
}

/** One event of a stream as it goes over the wire, and how many characters of the reply's text it carries. */
export interface Frame {
  data: string;
  chars: number;
}

export interface StreamShape {
  chunkChars: number;
  /** The text is split here even within a chunk, so that a break falls exactly where the script wants it. */
  breakAt: number | null;
  /** False only for Gemini without `alt=sse`, which streams a JSON array. */
  sse: boolean;
}

/** Delays in headers and bodies, in milliseconds of the time that the caller lives in. */
export interface HeaderTime {
  nowMs: number;
  scale: (ms: number) => number;
  /** True where the caller's second is not the vendor's: then whole seconds would be too coarse. */
  fractions: boolean;
}

/** A vendor's wire format. */
export interface Dialect {
  readonly vendor: VendorName;
  read(body: JsonObject, path: { model: string | null; streaming: boolean }): Prompt;
  whole(reply: Reply): unknown;
  stream(reply: Reply, shape: StreamShape, body: JsonObject): Iterable<Frame>;
  fault(fault: Fault): JsonObject;
  faultHeaders(fault: Fault): Record<string, string>;
  faultInStream(fault: { type: string; message: string }): string;
  /** The refusal of a request for which there is no quota. */
  denied(denial: Denial, time: HeaderTime): Omit<Fault, 'model'>;
  quotaHeaders(quota: QuotaView, time: HeaderTime): Record<string, string>;
  /** Headers of every response: who is charged, and the request's id. */
  identity(group: string, serial: number): Record<string, string>;
  /** The status with which an unknown or dead key is refused. */
  readonly badKey: Omit<Fault, 'model'>;
  readonly overloaded: Omit<Fault, 'model'>;
}

/** Splits at `chunkChars`, at the break, and never within a surrogate pair. */
export function* pieces(text: string, shape: StreamShape): Iterable<string> {
  let from = 0;
  while (from < text.length) {
    let to = Math.min(text.length, from + Math.max(1, shape.chunkChars));
    if (shape.breakAt !== null && shape.breakAt > from && shape.breakAt < to) to = shape.breakAt;
    const unit = text.charCodeAt(to - 1);
    if (unit >= 0xd800 && unit <= 0xdbff && to < text.length) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}

/** The delay as a `retry-after` header says it. */
export function retrySeconds(ms: number, time: HeaderTime): string {
  const scaled = time.scale(ms);
  return time.fractions ? (scaled / 1000).toFixed(3) : String(Math.max(1, Math.ceil(scaled / 1000)));
}
