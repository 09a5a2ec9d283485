import type { Writable } from 'node:stream';
import { AgentosError } from '../core/errors.ts';

/** Where finished lines go. */
export interface Sink {
  /** Takes whole lines. False: more than it likes to hold; it is left alone until `drained`. Never throws. */
  write(chunk: Buffer): boolean | void;
  /** Settles when the sink takes more; a rejection says that it never will. */
  drained?(): Promise<void>;
  /** Whether it holds on to nothing that it was given, so that the memory may be used again. */
  isIdle?(): boolean;
}

/** A stream as a sink. One that was closed is done for: nobody has to wait for a drain that will not come. */
export function sinkOf(stream: Writable): Required<Sink> {
  // What goes to a file descriptor is gone when it is written; another stream may have passed it on.
  const isDescriptor = 'fd' in stream && typeof stream.fd === 'number';
  return {
    isIdle: () => isDescriptor && stream.writableLength === 0,
    write: (chunk) => stream.write(chunk),
    drained: () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const settle = (): void => {
        for (const event of ['drain', 'close', 'error']) stream.off(event, settle);
        if (stream.writable) resolve();
        else reject(closed(stream.errored));
      };
      for (const event of ['drain', 'close', 'error']) stream.on(event, settle);
      if (!stream.writable || !stream.writableNeedDrain) settle();
      return promise;
    },
  };
}

function closed(cause: Error | null | undefined): AgentosError {
  const reason = cause?.message ?? 'closed';
  return new AgentosError({ code: 'output-unwritable', path: 'stream', reason }, { cause });
}
