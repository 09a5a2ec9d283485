import { readFileSync } from 'node:fs';
import type { CallLine } from './calls.ts';

type Arrived = Extract<CallLine, { event: 'arrived' }>;
type Ended = Extract<CallLine, { event: 'ended' }>;

/** A call as the log file tells it; `ended` is null while it runs. */
export type LoggedCall = Omit<Arrived, 'event'> & { ended: Omit<Ended, 'event'> | null };

/** Reads a vendor's log file, also while it is being written: half a line at its end is left out. */
export function readCallFile(file: string): LoggedCall[] {
  const calls = new Map<number, LoggedCall>();
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  for (const text of lines) {
    const line: CallLine = JSON.parse(text);
    if (line.event === 'arrived') {
      const { event: _, ...call } = line;
      calls.set(call.index, { ...call, ended: null });
    } else {
      const { event: _, ...ended } = line;
      const call = calls.get(ended.index);
      if (call !== undefined) call.ended = ended;
    }
  }
  return [...calls.values()];
}
