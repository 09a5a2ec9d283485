import { createHash, randomUUID } from 'node:crypto';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import type { Caller, Sink } from './caller.ts';
import type { Headers } from './upstream.ts';

/** The longest reply has some 100,000 tokens; in events that is less than this. */
const MAX_RECORDING_BYTES = 32 * 1024 * 1024;

/** Tells one answer to a question from another: a relay may only join two pieces of the same one. */
export const ANSWER_HEADER = 'x-agentos-answer';

type Ending = { how: 'end' } | { how: 'whole' } | { how: 'fail'; error: unknown };

/** An answer that is kept while it comes, so that its caller may die and ask again. */
interface Recording extends Sink {
  readonly bytes: number;
  /** Fires when no caller wants it and nothing was paid yet. */
  readonly unwanted: AbortSignal;
  /** Gives the caller all there is, then what comes, at its own pace. Resolves when it has all or is gone. */
  deliverTo(caller: Caller): Promise<void>;
  /** From now on it continues only while a caller waits for it. */
  disown(): void;
}

function createRecording(vendor: VendorName): Recording {
  const id = randomUUID();
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
      head = { status, headers: { ...headers, [ANSWER_HEADER]: id } };
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

export interface AnswerBounds {
  maxAnswers: number;
  maxBytes: number;
}

/** Which answer is meant: the same step with another body is another question. */
export interface Question {
  item: string;
  step: string;
  vendor: VendorName;
  path: string;
  body: Uint8Array;
}

interface Kept {
  item: string;
  hash: string;
  recording: Recording;
  finished: boolean;
}

/**
 * Answers of durable steps, from the moment they are asked for until their item forgets them: a caller that died comes
 * back for what is already paid. Failures are not kept, and the oldest answers go when there are too many.
 */
export interface Answers {
  /** The answer that is there or on its way; otherwise `ask` is called, and resolves to whether its answer is worth keeping. */
  join(
    question: Question,
    ask: (recording: Recording) => Promise<boolean>,
  ): { recording: Recording; reused: 'no' | 'in-flight' | 'finished' };
  /** Its answers were stored or are not wanted any more. What is in flight continues only while a caller waits for it. */
  forget(item: string): void;
}

export function createAnswers({ maxAnswers, maxBytes }: AnswerBounds): Answers {
  const answers = new Map<string, Kept>();

  const drop = (key: string, kept: Kept): void => {
    if (answers.get(key) === kept) answers.delete(key);
    kept.recording.disown();
  };
  const makeRoom = (): void => {
    const finished = [...answers].filter(([, kept]) => kept.finished);
    let bytes = finished.reduce((sum, [, { recording }]) => sum + recording.bytes, 0);
    let count = finished.length;
    for (const [key, kept] of finished) {
      if (count <= maxAnswers && bytes <= maxBytes) return;
      drop(key, kept);
      count -= 1;
      bytes -= kept.recording.bytes;
    }
  };

  return {
    join(question, ask) {
      const key = JSON.stringify([question.item, question.step]);
      const hash = hashOf(question);
      const there = answers.get(key);
      if (there?.hash === hash && !there.recording.unwanted.aborted) {
        return { recording: there.recording, reused: there.finished ? 'finished' : 'in-flight' };
      }
      if (there !== undefined) drop(key, there);
      const kept: Kept = { item: question.item, hash, recording: createRecording(question.vendor), finished: false };
      answers.set(key, kept);
      void ask(kept.recording).then((worthKeeping) => {
        kept.finished = worthKeeping;
        if (!worthKeeping) drop(key, kept);
        makeRoom();
      });
      return { recording: kept.recording, reused: 'no' };
    },
    forget(item) {
      for (const [key, kept] of answers) if (kept.item === item) drop(key, kept);
    },
  };
}

function hashOf({ vendor, path, body }: Question): string {
  return createHash('sha256').update(`${vendor}\0${path}\0`).update(body).digest('hex');
}
