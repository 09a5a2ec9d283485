import { createHash, randomUUID } from 'node:crypto';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import type { AnswerSink, Caller } from './caller.ts';
import type { Headers } from './upstream.ts';

/** The longest reply has about 100,000 tokens; as events that is less than this. */
const MAX_RECORDING_BYTES = 32 * 1024 * 1024;

/** Identifies an answer: a relay may only join two pieces of the same one. */
export const ANSWER_HEADER = 'x-agentos-answer';

type Ending = { how: 'end' } | { how: 'whole' } | { how: 'fail'; error: unknown };

type Recording = ReturnType<typeof createRecording>;

/** An answer that is recorded as it arrives, so that its caller may die and its successor asks again. */
function createRecording(vendor: VendorName) {
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

  const wakeReaders = (): void => {
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
    wakeReaders();
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

  const sink: AnswerSink = {
    phase(next) {
      phase = next;
      giveUpIfUnwanted();
    },
    head(status, headers) {
      head = { status, headers: { ...headers, [ANSWER_HEADER]: id } };
      wakeReaders();
    },
    write(chunk) {
      keep(chunk);
      wakeReaders();
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
  return {
    sink,
    bytes: () => bytes,
    /** Aborted when no caller wants it and nothing was paid yet, or nobody may come back for it. */
    unwanted: unwanted.signal,
    /** Sends the caller what is recorded, then what arrives, at its own pace. Resolves when the caller has everything or is gone. */
    async deliverTo(caller: Caller): Promise<void> {
      callers += 1;
      try {
        await deliver(caller);
      } finally {
        callers -= 1;
        giveUpIfUnwanted();
      }
    },
    /** From now on the call continues only while a caller waits for it. */
    disown(): void {
      owned = false;
      giveUpIfUnwanted();
    },
  };
}

export interface AnswerBounds {
  maxAnswers: number;
  maxBytes: number;
}

/** The same step with another body is another question. */
interface Question {
  item: string;
  step: string;
  vendor: VendorName;
  path: string;
  body: Uint8Array;
}

interface KeptAnswer {
  item: string;
  hash: string;
  recording: Recording;
  finished: boolean;
}

/**
 * The answers of durable steps, from the request until their item forgets them: the successor of a caller that died gets what is
 * already paid for. Failures are not kept, and the oldest answers are dropped when there are too many.
 */
export function createAnswers({ maxAnswers, maxBytes }: AnswerBounds) {
  const answers = new Map<string, KeptAnswer>();

  const drop = (key: string, kept: KeptAnswer): void => {
    if (answers.get(key) === kept) answers.delete(key);
    kept.recording.disown();
  };
  const makeRoom = (): void => {
    const finished = [...answers].filter(([, kept]) => kept.finished);
    let bytes = finished.reduce((sum, [, { recording }]) => sum + recording.bytes(), 0);
    let count = finished.length;
    for (const [key, kept] of finished) {
      if (count <= maxAnswers && bytes <= maxBytes) return;
      drop(key, kept);
      count -= 1;
      bytes -= kept.recording.bytes();
    }
  };

  return {
    /** Returns the answer that is recorded or in flight. Otherwise calls `ask`, which resolves to whether its answer is worth keeping. */
    join(
      question: Question,
      ask: (sink: AnswerSink, unwanted: AbortSignal) => Promise<boolean>,
    ): { recording: Recording; reused: boolean } {
      const key = JSON.stringify([question.item, question.step]);
      const hash = hashOf(question);
      const there = answers.get(key);
      if (there?.hash === hash && !there.recording.unwanted.aborted) {
        return { recording: there.recording, reused: true };
      }
      if (there !== undefined) drop(key, there);
      const kept: KeptAnswer = {
        item: question.item,
        hash,
        recording: createRecording(question.vendor),
        finished: false,
      };
      answers.set(key, kept);
      void ask(kept.recording.sink, kept.recording.unwanted).then((worthKeeping) => {
        kept.finished = worthKeeping;
        if (!worthKeeping) drop(key, kept);
        makeRoom();
      });
      return { recording: kept.recording, reused: false };
    },
    /** Drops the answers of an item. Calls in flight continue only while a caller waits for them. */
    forget(item: string): void {
      for (const [key, kept] of answers) if (kept.item === item) drop(key, kept);
    },
  };
}

function hashOf({ vendor, path, body }: Question): string {
  return createHash('sha256').update(`${vendor}\0${path}\0`).update(body).digest('hex');
}
