import { createHash, randomUUID } from 'node:crypto';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import type { AnswerSink, Caller } from './caller.ts';
import type { Headers } from './upstream.ts';

/** The longest reply has about 100,000 tokens; as events that is less than this. */
const MAX_RECORDING_BYTES = 32 * 1024 * 1024;

/** Identifies an answer: a relay may only join two pieces of the same one. */
export const ANSWER_HEADER = 'x-agentos-answer';

/** The same step with another body is another question. */
interface Question {
  item: string;
  step: string;
  vendor: VendorName;
  path: string;
  body: Uint8Array;
}

type Recording = ReturnType<typeof createRecording>;

/** An answer that is recorded as it arrives, so that its caller may die and its successor asks again. */
function createRecording({ step, vendor, path, body }: Question) {
  const unwanted = new AbortController();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let head: { status: number; headers: Headers } | null = null;
  let ending: { failure: unknown } | 'complete' | null = null;
  let phase: 'queued' | 'sent' = 'queued';
  let owned = true;
  let callers = 0;
  let news = Promise.withResolvers<void>();

  const wakeReaders = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const giveUpIfUnwanted = (): void => {
    if (callers === 0 && (phase === 'queued' || !owned)) unwanted.abort();
  };

  const deliver = async (caller: Caller): Promise<void> => {
    const left = new Promise<void>((resolve) => caller.gone.addEventListener('abort', () => resolve(), { once: true }));
    let begun = false;
    let at = 0;
    while (!caller.gone.aborted) {
      const chunk = chunks[at];
      if (head !== null && !begun) {
        begun = true;
        caller.head(head.status, head.headers);
      } else if (chunk !== undefined) {
        at += 1;
        await caller.write(chunk);
      } else if (ending !== null) {
        return ending === 'complete' ? caller.end() : caller.fail(ending.failure);
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
      head = { status, headers: { ...headers, [ANSWER_HEADER]: randomUUID() } };
      wakeReaders();
    },
    write(chunk) {
      bytes += chunk.byteLength;
      if (bytes > MAX_RECORDING_BYTES) {
        throw new AgentosError({ code: 'reply-too-large', provider: vendor, limitBytes: MAX_RECORDING_BYTES });
      }
      chunks.push(chunk);
      wakeReaders();
      return undefined;
    },
    end() {
      ending ??= 'complete';
      wakeReaders();
    },
    fail(failure) {
      ending ??= { failure };
      wakeReaders();
    },
  };
  return {
    sink,
    question: createHash('sha256').update(`${step}\0${vendor}\0${path}\0`).update(body).digest('hex'),
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

/**
 * The answer to the last question of each item, until the item forgets it: the successor of a caller that died gets what is already
 * paid for. An item asks for one durable step after the other, so its earlier answers are stored. Failures are not kept.
 */
export function createAnswers() {
  const answers = new Map<string, Recording>();

  const drop = (item: string, recording: Recording | undefined): void => {
    if (answers.get(item) === recording) answers.delete(item);
    recording?.disown();
  };
  return {
    /** Returns the answer that is recorded or in flight. Otherwise calls `ask`, which resolves to whether its answer is worth keeping. */
    join(
      question: Question,
      ask: (sink: AnswerSink, unwanted: AbortSignal) => Promise<boolean>,
    ): { recording: Recording; reused: boolean } {
      const { item } = question;
      const last = answers.get(item);
      const recording = createRecording(question);
      if (last?.question === recording.question && !last.unwanted.aborted) return { recording: last, reused: true };
      drop(item, last);
      answers.set(item, recording);
      void ask(recording.sink, recording.unwanted).then((isWorthKeeping) => {
        if (!isWorthKeeping) drop(item, recording);
      });
      return { recording, reused: false };
    },
    /** Drops the item's answer. A call in flight continues only while a caller waits for it. */
    forget: (item: string): void => drop(item, answers.get(item)),
  };
}
