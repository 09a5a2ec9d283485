import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../core/clock.ts';
import { codeOf, usageError } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import { parseJson } from '../../core/json.ts';
import type { Paths } from '../../core/paths.ts';
import type { Forge } from '../../forge/port.ts';
import type { Git } from '../../git/git.ts';
import { type GitHeader, pushBranch, pushUrl } from '../../git/push.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import type { StepKey } from '../../journal/port.ts';
import { openSqliteJournal } from '../../journal/sqlite.ts';
import { makeFolder } from '../../process/files.ts';
import type { Project } from '../project.ts';

/*
 * What was posted for an item is recorded in a journal that is kept: the step starts before the post and ends with the response.
 * If a step was started and not finished, or there is no journal, the post is looked up before it is sent again.
 */

/** What posting for one item needs. */
export interface Posting {
  project: Project;
  id: ItemId;
  say: (text: string) => void;
  signal: AbortSignal;
}

/** The journal of what was posted under a name. */
function postsFile({ base }: Pick<Paths, 'base'>, name: string): string {
  return join(base, 'forge', `${name}.db`);
}

/** The stored responses of one kind, oldest first. Only we write to the journal. Writes nothing. */
export function postedAs<T>(paths: Paths, name: string, step: string): T[] {
  const finished = inspectJournal(postsFile(paths, name))?.finished ?? [];
  return finished.filter((one) => one.name === step).map(({ result }) => parseJson(result) as T);
}

export interface Pushed {
  branch: string;
  commit: string;
}

export interface Opened extends Pushed {
  number: number;
  url: string;
}

/** The pull request that this program opened for an item, or found. */
export function openedFor({ paths }: Pick<Project, 'paths'>, id: ItemId): Opened | null {
  return postedAs<Opened>(paths, id, 'pull-request').at(-1) ?? null;
}

/** What this program pushed last for an item; null: nothing. */
export function pushedFor({ paths }: Pick<Project, 'paths'>, id: ItemId): Pushed | null {
  return postedAs<Pushed>(paths, id, 'push').at(-1) ?? null;
}

/** What the pull request of an implementation still lacks: it has to be opened, or made ready. */
export type Unposted = 'pull-request' | 'ready';

/** Null: nothing. */
export function unpostedFor(project: Pick<Project, 'paths' | 'config'>, id: ItemId): Unposted | null {
  const { open, ready } = project.config.remote.pr;
  if (!open) return null;
  if (openedFor(project, id) === null) return 'pull-request';
  return ready === 'green' && postedAs(project.paths, id, 'ready').length === 0 ? 'ready' : null;
}

const MOST_TRIES = 3;
const LOOK_AFTER_MS = 500;

/**
 * Posts the same thing once, even if the program is killed in between and asked again. `lookUp` returns an existing post, or null.
 * If a post has no response of its own, its inputs are stored.
 */
export async function postOnce<T extends object>(
  paths: Paths,
  name: string,
  key: StepKey & { inputs: object },
  post: () => Promise<T | void>,
  lookUp: () => Promise<T | null> = async () => null,
): Promise<T> {
  const file = postsFile(paths, name);
  await makeFolder(dirname(file));
  const journal = openSqliteJournal(file, { clock: systemClock });
  const carryOut = async (): Promise<T> => {
    const there = await lookUp();
    if (there !== null) return there;
    for (let tries = 1; ; tries++) {
      try {
        return (await post()) ?? (key.inputs as T);
      } catch (error) {
        // It was refused, perhaps because another process was faster; or its response was lost.
        const isUncertain = codeOf(error) === 'host-uncertain';
        if (!isUncertain && codeOf(error) !== 'host-refused') throw error;
        if (isUncertain) await sleep(LOOK_AFTER_MS * tries);
        const found = await lookUp();
        if (found !== null) return found;
        if (!isUncertain || tries === MOST_TRIES) throw error;
      }
    }
  };
  try {
    return (await journal.step(key, carryOut)).value;
  } finally {
    journal.close();
  }
}

export const REMOTE = 'origin';

/** The token for git, if it speaks HTTP with the token's service; ssh and folders have their own credentials. */
export async function headerFor(git: Git, forge: Forge): Promise<GitHeader | null> {
  const url = await pushUrl(git, REMOTE);
  if (url === null) {
    throw usageError(
      'There is no remote origin to push to.',
      'Add the repository that branches go to: git remote add origin <url>',
    );
  }
  if (!/^https?:/.test(url)) return null;
  const header = await forge.gitHeader();
  return URL.parse(url)?.host === new URL(header.url).host ? header : null;
}

/** `before`: what this program pushed to the branch last; null: nothing. Commits that a person pushed are never overwritten. */
export async function pushOnce(
  { project, signal }: Posting,
  name: string,
  forge: Forge,
  pushed: Pushed,
  before: string | null = null,
): Promise<void> {
  const { paths, git, childEnv: env } = project;
  await postOnce(paths, name, { name: 'push', inputs: pushed }, async () => {
    const header = await headerFor(git, forge);
    await pushBranch(git, { remote: REMOTE, ...pushed, before, header, env, signal });
  });
}
