/** Tokens of one answer. `cacheRead` and `cacheWrite` are parts of `input`, not additions to it. */
export interface AnswerUsage {
  input: number;
  output: number;
  cacheRead?: number;
  cacheWrite?: number;
}

export type Stop = 'end' | 'length' | 'filter' | 'tool';

/**
 * What a script answers: a reply, a fault, or a reply that a fault interrupts. The first that applies is done:
 * `hangup`; `redirectTo`; `html`, `emptyBody` or a `status` of 400 and above; else the reply, which `cutAfterChars`,
 * `stallAfterChars` or `errorInStream` may break off.
 */
export interface Answer {
  text?: string;
  /** The model that claims to answer; without it, the one asked for. */
  model?: string;
  /** Without it, a quarter of the characters. */
  usage?: AnswerUsage;
  stop?: Stop;
  /** In the responses format an input that is a string becomes a custom (freeform) tool call. */
  toolCalls?: { name: string; input: unknown }[];
  /** Before the first byte. A fault with a status waits only if it says so itself. */
  latencyMs?: number;
  chunkDelayMs?: number;
  /** As one JSON body, although a stream was asked for. */
  inOnePiece?: boolean;

  status?: number;
  type?: string;
  code?: string;
  message?: string;
  headers?: Record<string, string>;
  /** A number of seconds or an HTTP date; Gemini gets it as RetryInfo in the body. */
  retryAfter?: number | string;
  /** Gemini's QuotaFailure, such as `GenerateRequestsPerDayPerProjectPerModel`. */
  quotaId?: string;
  html?: boolean;
  emptyBody?: boolean;
  /** The connection is destroyed after this many characters of text, in the middle of the next event. */
  cutAfterChars?: number;
  /** Nothing more is sent after this many characters of text, but the connection stays open. */
  stallAfterChars?: number;
  /** Sent inside a stream that began well, after half of the text unless said otherwise. */
  errorInStream?: { type: string; message: string; afterChars?: number };
  redirectTo?: string;
  /** The connection is destroyed before any byte. */
  hangup?: boolean;
}

/** An answer with everything decided that its wire format has to say. */
export interface Reply {
  serial: number;
  text: string;
  model: string;
  usage: Required<AnswerUsage>;
  stop: Stop;
  toolCalls: { id: string; name: string; input: unknown }[];
  createdMs: number;
}

/** An answer that is an error, in the words that every vendor's format can say in its own way. */
export interface Fault {
  status: number;
  model: string;
  type?: string;
  code?: string;
  message?: string;
  retryAfter?: number | string;
  quotaId?: string;
  quotaLimit?: number;
}

/** The vendors count with their tokenisers; a quarter of the characters is near enough for quotas and bills. */
export function estimateTokens(...texts: string[]): number {
  return Math.max(1, Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / 4));
}

export function completeReply(
  answer: Answer,
  asked: { serial: number; model: string; inputTokens: number; nowMs: number },
): Reply {
  const text = answer.text ?? (answer.toolCalls === undefined ? filler(answer) : '');
  const toolCalls = (answer.toolCalls ?? []).map((call, index) => ({ id: `${asked.serial}_${index}`, ...call }));
  const output = estimateTokens(text, ...toolCalls.map((call) => JSON.stringify(call.input) ?? ''));
  return {
    serial: asked.serial,
    text,
    model: answer.model ?? asked.model,
    usage: { cacheRead: 0, cacheWrite: 0, ...(answer.usage ?? { input: asked.inputTokens, output }) },
    stop: answer.stop ?? (toolCalls.length > 0 ? 'tool' : 'end'),
    toolCalls,
    createdMs: asked.nowMs,
  };
}

/** Text for a reply of which only the break matters: long enough to be broken there. */
function filler(answer: Answer): string {
  const breakAt = answer.cutAfterChars ?? answer.stallAfterChars ?? answer.errorInStream?.afterChars ?? 0;
  return 'The loopback vendor answers. '.repeat(Math.max(1, Math.ceil((2 * breakAt) / 29)));
}

/** Where the text is broken off, or null. */
export function breakPoint(answer: Answer, text: string): number | null {
  const half = Math.floor(text.length / 2);
  const wanted =
    answer.cutAfterChars ??
    answer.stallAfterChars ??
    (answer.errorInStream === undefined ? null : (answer.errorInStream.afterChars ?? half));
  return wanted === null ? null : Math.min(wanted, text.length);
}
