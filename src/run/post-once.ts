import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../core/clock.ts';
import { codeOf } from '../core/errors.ts';
import type { Paths } from '../core/paths.ts';
import type { StepKey } from '../journal/port.ts';
import { openSqliteJournal } from '../journal/sqlite.ts';
import { makeFolder } from '../process/files.ts';
import { postsFile } from './posts.ts';

interface Post<T> {
  /** What is there already; null: nothing. */
  lookUp: () => Promise<T | null>;
  post: () => Promise<T>;
}

/** The same post once, however often it is asked for and whatever was cut off in between. */
export async function postOnce<T>(paths: Paths, name: string, key: StepKey, post: Post<T>): Promise<T> {
  const file = postsFile(paths, name);
  await makeFolder(dirname(file));
  const journal = openSqliteJournal(file, { clock: systemClock });
  try {
    return (await journal.step(key, () => carriedOut(post))).value;
  } finally {
    journal.close();
  }
}

const MOST_TRIES = 3;
const LOOK_AFTER_MS = 500;

async function carriedOut<T>({ lookUp, post }: Post<T>): Promise<T> {
  const there = await lookUp();
  if (there !== null) return there;
  for (let tries = 1; ; tries++) {
    try {
      return await post();
    } catch (error) {
      // Refused, perhaps because another process was faster; or not answered, and perhaps carried out.
      const isUncertain = codeOf(error) === 'host-uncertain';
      if (!isUncertain && codeOf(error) !== 'host-refused') throw error;
      if (isUncertain) await sleep(LOOK_AFTER_MS * tries);
      const found = await lookUp();
      if (found !== null) return found;
      if (!isUncertain || tries === MOST_TRIES) throw error;
    }
  }
}
