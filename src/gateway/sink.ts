import type { Headers } from './headers.ts';

/** Where an answer goes: to a caller as it comes, or into a recording that callers follow. */
export interface Sink {
  /** Queued: nothing is paid yet. Sent: the vendor has it. */
  phase(phase: 'queued' | 'sent'): void;
  /** A stream begins. */
  head(status: number, headers: Headers): void;
  /** A promise where the receiver is behind: the next piece waits for it. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  end(): void;
  /** An answer in one piece, an error of the vendor's too. */
  whole(status: number, headers: Headers, body: Buffer): void;
  /** At any time: instead of an answer, or in the middle of it. */
  fail(error: unknown): void;
}
