import type { ChildProcessByStdio } from 'node:child_process';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { systemClock, type Timer } from '../core/clock.ts';

export interface GitObject {
  id: string;
  type: string;
  content: Buffer;
}

interface Question {
  resolve: (object: GitObject | null) => void;
  reject: (error: unknown) => void;
}

interface Batch {
  ask(name: string, question: Question): void;
}

const IDLE_MS = 5_000;
const TIMEOUT_MS = 60_000;
const HEADER = /^([0-9a-f]+) (\w+) (\d+)$/;

/**
 * Reads objects with one `git cat-file --batch`, which answers in the order of the questions. It starts at the first question and
 * ends after a while without any. It does not keep this process alive, and ends with it, because its input is closed then.
 */
export function createObjectReader(
  start: () => ChildProcessByStdio<Writable, Readable, null>,
  failed: (cause: unknown) => Error,
): (name: string) => Promise<GitObject | null> {
  let current: Batch | null = null;
  const forget = (batch: Batch): void => {
    if (current === batch) current = null;
  };
  return (name) =>
    new Promise((resolve, reject) => {
      // Git would read two names.
      if (name.includes('\n')) return resolve(null);
      current ??= openBatch(start(), failed, forget);
      current.ask(name, { resolve, reject });
    });
}

function openBatch(
  child: ChildProcessByStdio<Writable, Readable, null>,
  failed: (cause: unknown) => Error,
  onClosed: (batch: Batch) => void,
): Batch {
  const { stdin, stdout } = child;
  const questions: Question[] = [];
  const output = createPieces();
  let header: { id: string; type: string; bytes: number } | null = null;
  let timeout: Timer | null = null;
  const batch: Batch = {
    ask(name, question) {
      if (questions.push(question) === 1) {
        if (stdout instanceof Socket) stdout.ref();
        timeout = systemClock.timer(TIMEOUT_MS, () => child.kill('SIGKILL'));
      }
      stdin.write(`${name}\n`);
    },
  };
  const close = (): void => {
    onClosed(batch);
    clearTimeout(idle);
    timeout?.stop();
    stdin.end();
  };
  const idle = setTimeout(() => (questions.length === 0 ? close() : idle.refresh()), IDLE_MS).unref();
  const fail = (cause: unknown): void => {
    close();
    for (const { reject } of questions.splice(0)) reject(failed(cause));
  };
  const answer = (object: GitObject | null): void => {
    questions.shift()?.resolve(object);
    idle.refresh();
    timeout?.refresh();
    if (questions.length > 0) return;
    timeout?.stop();
    if (stdout instanceof Socket) stdout.unref();
  };
  stdout.on('data', (chunk: Buffer) => {
    output.add(chunk);
    for (;;) {
      if (header === null) {
        const line = output.takeLine();
        if (line === null) return;
        const [, id = '', type = '', bytes] = HEADER.exec(line) ?? [];
        if (bytes === undefined) answer(null);
        else header = { id, type, bytes: Number(bytes) };
      } else {
        // A line break follows the content.
        const content = output.take(header.bytes + 1);
        if (content === null) return;
        const { id, type, bytes } = header;
        header = null;
        answer({ id, type, content: content.subarray(0, bytes) });
      }
    }
  });
  stdin.on('error', () => undefined);
  child.on('error', fail);
  child.on('close', (code) => fail(`ended with ${code ?? 'a signal'}`));
  child.unref();
  return batch;
}

interface Pieces {
  add(chunk: Buffer): void;
  /** The next bytes; null: they have not all come. */
  take(bytes: number): Buffer | null;
  takeLine(): string | null;
}

/** Joins chunks only when they are needed: an object may come in thousands of them. */
function createPieces(): Pieces {
  let chunks: Buffer[] = [];
  let size = 0;
  const take = (bytes: number): Buffer | null => {
    if (size < bytes) return null;
    const all = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    chunks = all.length === bytes ? [] : [all.subarray(bytes)];
    size -= bytes;
    return all.subarray(0, bytes);
  };
  return {
    add(chunk) {
      chunks.push(chunk);
      size += chunk.length;
    },
    take,
    takeLine() {
      let before = 0;
      for (const chunk of chunks) {
        const at = chunk.indexOf('\n');
        if (at >= 0)
          return (
            take(before + at + 1)
              ?.toString('utf8')
              .slice(0, -1) ?? null
          );
        before += chunk.length;
      }
      return null;
    },
  };
}
