import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import type { Caller } from './caller.ts';
import type { Headers } from './headers.ts';
import type { Sink } from './sink.ts';

/** The longest reply has some 100,000 tokens; in events that is less than this. */
const MAX_RECORDING_BYTES = 32 * 1024 * 1024;

type Ending = { how: 'end' } | { how: 'whole' } | { how: 'fail'; error: unknown };

/** An answer that is kept while it comes, so that whoever asked for it may die and ask again. */
export interface Recording extends Sink {
  readonly bytes: number;
  /** Fires when nobody wants it and nothing was paid yet. */
  readonly unwanted: AbortSignal;
  /** Gives the caller all there is, then what comes, at its own pace. Resolves when it has all or is gone. */
  deliverTo(caller: Caller): Promise<void>;
  /** From now on it goes to the end only if somebody waits for it. */
  disown(): void;
}

export function createRecording(vendor: VendorName): Recording {
  const unwanted = new AbortController();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let head: { status: number; headers: Headers } | null = null;
  let ending: Ending | null = null;
  let phase: 'queued' | 'sent' = 'queued';
  let owned = true;
  let callers = 0;
  let news = Promise.withResolvers<void>();

  const changed = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const keep = (chunk: Uint8Array): void => {
    bytes += chunk.byteLength;
    if (bytes > MAX_RECORDING_BYTES) {
      throw new AgentosError({ code: 'reply-too-large', provider: vendor, limitBytes: MAX_RECORDING_BYTES });
    }
    chunks.push(chunk);
  };
  const giveUpIfUnwanted = (): void => {
    if (callers === 0 && (phase === 'queued' || !owned)) unwanted.abort();
  };
  const finish = (how: Ending): void => {
    ending ??= how;
    changed();
  };

  const deliver = async (caller: Caller): Promise<void> => {
    const left = new Promise<void>((resolve) => caller.gone.addEventListener('abort', () => resolve(), { once: true }));
    let begun = false;
    let at = 0;
    while (!caller.gone.aborted) {
      const chunk = chunks[at];
      if (ending?.how === 'whole' && head !== null) {
        return caller.whole(head.status, head.headers, Buffer.concat(chunks));
      }
      if (head !== null && !begun) {
        begun = true;
        caller.head(head.status, head.headers);
      } else if (chunk !== undefined) {
        at += 1;
        await caller.write(chunk);
      } else if (ending !== null) {
        return ending.how === 'fail' ? caller.fail(ending.error) : caller.end();
      } else {
        await Promise.race([news.promise, left]);
      }
    }
  };

  return {
    get bytes() {
      return bytes;
    },
    unwanted: unwanted.signal,
    async deliverTo(caller) {
      callers += 1;
      try {
        await deliver(caller);
      } finally {
        callers -= 1;
        giveUpIfUnwanted();
      }
    },
    disown() {
      owned = false;
      giveUpIfUnwanted();
    },
    phase(next) {
      phase = next;
      giveUpIfUnwanted();
    },
    head(status, headers) {
      head = { status, headers };
      changed();
    },
    write(chunk) {
      keep(chunk);
      changed();
      return undefined;
    },
    end: () => finish({ how: 'end' }),
    whole(status, headers, body) {
      keep(body);
      head = { status, headers };
      finish({ how: 'whole' });
    },
    fail: (error) => finish({ how: 'fail', error }),
  };
}
