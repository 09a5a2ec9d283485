import { join } from 'node:path';
import type { ItemId } from '../core/ids.ts';
import { parseJson } from '../core/json.ts';
import type { Paths } from '../core/paths.ts';
import { inspectJournal } from '../journal/inspect.ts';
import type { Project } from './project.ts';

/*
 * What was posted for an item, as a journal that stays: the intent is a step that was begun, the answer settles it. A program
 * that finds it begun, or finds no journal at all, looks the post up before it posts.
 */

/** The journal of what was posted under a name. */
export function postsFile({ base }: Pick<Paths, 'base'>, name: string): string {
  return join(base, 'forge', `${name}.db`);
}

/** The last answer that was stored under a name; null: none. Looks, and writes nothing. */
function posted(paths: Paths, name: string, step: string): unknown {
  const found = inspectJournal(postsFile(paths, name))?.finished.findLast((one) => one.name === step);
  return found === undefined ? null : parseJson(found.result);
}

/** The steps of a pull request. */
export const STEPS = {
  pushed: 'push',
  opened: 'pull-request',
  text: 'pull-request-text',
  evidence: 'evidence',
  ready: 'ready',
} as const;

export interface Opened extends Pushed {
  number: number;
  url: string;
}

export interface Pushed {
  branch: string;
  commit: string;
}

/** The pull request that this program opened for an item, or found. */
export function openedFor({ paths }: Pick<Project, 'paths'>, id: ItemId): Opened | null {
  const { number, url, branch = '', commit = '' } = (posted(paths, id, STEPS.opened) ?? {}) as Partial<Opened>;
  return typeof number === 'number' && typeof url === 'string' ? { number, url, branch, commit } : null;
}

/** What this program last pushed for an item; null: nothing. */
export function pushedFor({ paths }: Pick<Project, 'paths'>, id: ItemId): Pushed | null {
  const { branch, commit } = (posted(paths, id, STEPS.pushed) ?? {}) as Partial<Pushed>;
  return typeof branch === 'string' && typeof commit === 'string' ? { branch, commit } : null;
}

/** What is still to be done for the pull request of an implementation: to open it, or to make it ready. */
export type Unposted = 'pull-request' | 'ready';

/** Null: nothing. */
export function unpostedFor(project: Pick<Project, 'paths' | 'config'>, id: ItemId): Unposted | null {
  const { open, ready } = project.config.remote.pr;
  if (!open) return null;
  if (openedFor(project, id) === null) return 'pull-request';
  return ready === 'green' && posted(project.paths, id, STEPS.ready) === null ? 'ready' : null;
}
