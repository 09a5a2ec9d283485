import type { Writable } from 'node:stream';

/** Where finished lines go. */
export interface Sink {
  /** Takes whole lines. False: more than it likes to hold; it is left alone until `drained`. Never throws. */
  write(chunk: Buffer): boolean | void;
  /** Settles when the sink takes more; a rejection says that it never will. */
  drained?(): Promise<void>;
}

/** A stream as a sink. One that was closed is done for: nobody has to wait for a drain that will not come. */
export function sinkOf(stream: Writable): Required<Sink> {
  return {
    write: (chunk) => stream.write(chunk),
    drained: () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const settle = (): void => {
        for (const event of ['drain', 'close', 'error']) stream.off(event, settle);
        if (stream.writable) resolve();
        else reject(stream.errored ?? new Error('closed'));
      };
      for (const event of ['drain', 'close', 'error']) stream.on(event, settle);
      if (!stream.writable || !stream.writableNeedDrain) settle();
      return promise;
    },
  };
}
