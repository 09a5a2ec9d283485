import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../core/clock.ts';
import { codeOf } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import { parseJson } from '../core/json.ts';
import type { Paths } from '../core/paths.ts';
import { inspectJournal } from '../journal/inspect.ts';
import type { StepKey } from '../journal/port.ts';
import { openSqliteJournal } from '../journal/sqlite.ts';
import { makeFolder } from '../process/files.ts';
import type { Project } from './project.ts';

/*
 * What was posted for an item, as a journal that stays: the intent is a step that was begun, the answer settles it. Whoever finds
 * it begun, or finds no journal at all, looks the post up before it posts.
 */

function fileOf({ base }: Paths, name: string): string {
  return join(base, 'forge', `${name}.db`);
}

interface Post<T> {
  /** What is there already; null: nothing. */
  lookUp: () => Promise<T | null>;
  post: () => Promise<T>;
}

/** The same post once, however often it is asked for and whatever was cut off in between. */
export async function postOnce<T>(paths: Paths, name: string, key: StepKey, post: Post<T>): Promise<T> {
  await makeFolder(join(paths.base, 'forge'));
  const journal = openSqliteJournal(fileOf(paths, name), { clock: systemClock });
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
      if (codeOf(error) !== 'host-uncertain') throw error;
      await sleep(LOOK_AFTER_MS * tries);
      const found = await lookUp();
      if (found !== null) return found;
      if (tries === MOST_TRIES) throw error;
    }
  }
}

/** The last answer that was stored under a name; null: none. Looks, and writes nothing. */
function posted(paths: Paths, name: string, step: string): unknown {
  const found = inspectJournal(fileOf(paths, name))?.finished.findLast((one) => one.name === step);
  return found === undefined ? null : parseJson(found.result);
}

/** The steps of a pull request. */
export const STEPS = { opened: 'pull-request', evidence: 'evidence', ready: 'ready' } as const;

export interface Opened {
  number: number;
  url: string;
  branch: string;
}

/** The pull request that this program opened for an item, or found. */
export function openedFor({ paths }: Pick<Project, 'paths'>, id: ItemId): Opened | null {
  const { number, url, branch = '' } = (posted(paths, id, STEPS.opened) ?? {}) as Partial<Opened>;
  return typeof number === 'number' && typeof url === 'string' ? { number, url, branch } : null;
}

/** Whether there is still something to do for the pull request of an implementation. */
export function isUnposted(project: Pick<Project, 'paths' | 'config'>, id: ItemId): boolean {
  const { open, ready } = project.config.remote.pr;
  if (!open) return false;
  return openedFor(project, id) === null || (ready === 'green' && posted(project.paths, id, STEPS.ready) === null);
}
