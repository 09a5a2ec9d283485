import type { Clock } from '../../../src/core/clock.ts';
import type { Answer } from './answer.ts';
import type { Call } from './calls.ts';
import type { KeyOptions } from './keys.ts';
import type { Limits } from './limits.ts';
import type { Overload } from './overload.ts';

export type Script = (call: Call) => Answer | Promise<Answer>;

/**
 * Every duration and instant here is in the vendor's time, which runs `dilation` times as fast as the wall's:
 * `latencyMs: 2000` with a dilation of 20 takes 100 ms, and 120 requests per minute are 40 per second of the wall.
 */
export interface VendorOptions {
  /** Called for each request that is let in. Without it, a short echo. */
  script?: Script;
  /** Without it every key is good. */
  keys?: (string | KeyOptions)[];
  limits?: Limits;
  overload?: Overload;
  dilation?: number;
  /** The clock to live in, to share one with the program under test. Without it, one of `dilation`. */
  clock?: Clock;
  /**
   * In which time responses name delays and instants. `vendor`: its own, for callers that live in its clock (a
   * retry-after of 3 means 3 s there; a per-minute limit is per minute there). `wall`: delays divided by the dilation,
   * with fractions of a second, and instants of the wall, for callers with real timers.
   */
  headerTime?: 'vendor' | 'wall';
  latencyMs?: number;
  /** Characters of text in one event of a stream. */
  chunkChars?: number;
  models?: string[];
  port?: number;
  /** A file to which each call is written as lines of JSON when it arrives and when it ends; no keys, only hashes. */
  logFile?: string;
}
