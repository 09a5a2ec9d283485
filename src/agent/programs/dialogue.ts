import { PassThrough, type Readable } from 'node:stream';
import type { ProgramEnd } from '../../process/program.ts';
import type { EventReader } from './agent.ts';

/** What is said to an agent depends on what it says. */
export interface Dialogue {
  /** Gets all that it says, in place of the agent's own reader. */
  reader: EventReader;
  /** Settles when all is said; the program is ended then. */
  hold(send: (line: string) => void): Promise<void>;
}

/** Runs a program for a dialogue. Its exit says nothing once all is said: then it is ended. */
export async function holdDialogue(
  dialogue: Dialogue,
  signal: AbortSignal,
  run: (stdin: Readable, until: AbortSignal) => Promise<ProgramEnd>,
): Promise<ProgramEnd> {
  const stdin = new PassThrough();
  const over = new AbortController();
  const held = dialogue.hold((line) => void stdin.write(`${line}\n`)).then(() => over.abort(over));
  try {
    const end = await run(stdin, AbortSignal.any([signal, over.signal]));
    // It ended before all was said.
    return end.exitCode === 0 ? { ...end, exitCode: null } : end;
  } catch (error) {
    if (error !== over) throw error;
    await held;
    return { exitCode: 0, signal: null, timedOut: false, missing: false, stdout: '', tail: '', durationMs: 0 };
  }
}
