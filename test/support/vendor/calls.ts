import { closeSync, openSync, writeSync } from 'node:fs';
import type { Prompt, VendorName } from './dialect.ts';
import type { JsonObject } from './json.ts';

/** One request for a reply, as it arrived and as it ended. The last five fields change while it runs. */
export interface Call extends Prompt {
  index: number;
  vendor: VendorName;
  path: string;
  key: string | null;
  /** For logs and assertions that should not show a key. */
  keyHash: string | null;
  group: string;
  /** The `x-workflow` header. */
  workflow: string | null;
  headers: Record<string, string>;
  body: JsonObject;
  /** Wall clock; `atMs` is in the vendor's time since its start. */
  at: number;
  atMs: number;
  status: number | null;
  /** The response was written to its end, as the vendor's format wants it; an error response too. */
  finished: boolean;
  finishedAtMs: number | null;
  /** The caller left before that. */
  aborted: boolean;
  usage: { input: number; output: number } | null;
}

export interface CallLog {
  calls: Call[];
  begin(call: Call): void;
  /** Called once for each call, whichever way it ended. */
  end(call: Call): void;
  waitFor(enough: () => boolean): Promise<void>;
  close(): void;
}

/** A line of the log file: one when a call arrives, one when it ends. */
export type CallLine =
  | ({ event: 'arrived' } & Pick<
      Call,
      'index' | 'vendor' | 'model' | 'keyHash' | 'group' | 'workflow' | 'system' | 'text' | 'streaming' | 'at'
    >)
  | ({ event: 'ended' } & Pick<Call, 'index' | 'status' | 'finished' | 'aborted' | 'usage'>);

export function createCallLog(file: string | undefined): CallLog {
  const calls: Call[] = [];
  const waiters = new Set<{ enough: () => boolean; resolve: () => void; reject: (error: Error) => void }>();
  const descriptor = file === undefined ? null : openSync(file, 'a');
  let open = true;
  const changed = (line: CallLine): void => {
    if (descriptor !== null && open) writeSync(descriptor, `${JSON.stringify(line)}\n`);
    for (const waiter of waiters) {
      if (!waiter.enough()) continue;
      waiters.delete(waiter);
      waiter.resolve();
    }
  };
  return {
    calls,
    begin(call) {
      calls.push(call);
      const { index, vendor, model, keyHash, group, workflow, system, text, streaming, at } = call;
      const line = { index, vendor, model, keyHash, group, workflow, system, text, streaming, at };
      changed({ event: 'arrived', ...line });
    },
    end({ index, status, finished, aborted, usage }) {
      changed({ event: 'ended', index, status, finished, aborted, usage });
    },
    waitFor: (enough) =>
      enough()
        ? Promise.resolve()
        : new Promise((resolve, reject) => {
            if (!open) return reject(new Error('the vendor is closed: what is waited for will not come'));
            waiters.add({ enough, resolve, reject });
          }),
    close() {
      open = false;
      for (const { reject } of waiters) {
        reject(new Error(`the vendor was closed after ${calls.length} calls, while more were waited for`));
      }
      waiters.clear();
      if (descriptor !== null) closeSync(descriptor);
    },
  };
}
