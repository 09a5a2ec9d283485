import { createHash } from 'node:crypto';
import type { VendorName } from '../core/keys.ts';
import { createRecording, type Recording } from './recording.ts';

export interface AnswerBounds {
  maxAnswers: number;
  maxBytes: number;
}

/** Which answer is meant: the same step with another body is another question. */
export interface Question {
  workflow: string;
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
  /** Its answers were stored or are not wanted any more. What is in flight goes on only while somebody waits for it. */
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
      const key = JSON.stringify([question.workflow, question.item, question.step]);
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
